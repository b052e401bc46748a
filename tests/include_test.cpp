// Reads the sources as text: includes never point up the layers, files follow the house rules that a machine can check,
// and nothing committed names a machine's own path or a package registry. The order is DESIGN.md's:
// core < device < fabric < topologies < workloads < step < run, traces < report < validate < sweep < cli.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

const fs::path kRoot = TWIN_SOURCE_DIR;
const std::vector<std::string> kFolders = {"sim", "topologies", "workloads", "traces", "validate"};

struct Layer {
  std::string name;
  int height = -1;  // two layers of one height may not use each other
};

Layer layer_of(const std::string& path) {
  static const std::map<std::string, int> heights = {
      {"sim/core", 0},  {"sim/device", 1}, {"sim/fabric", 2}, {"topologies", 3}, {"workloads", 4},
      {"sim/step", 5},  {"sim/run", 6},    {"traces", 6},     {"sim/report", 7}, {"validate", 8},
      {"sim/sweep", 9}, {"sim/cli", 10},   {"sim/python", 10}};
  for (const auto& [prefix, height] : heights)
    if (path.rfind(prefix + "/", 0) == 0) return {prefix, height};
  return {};
}

// Empty when `file` may include `included`, else why not.
std::string violation(const std::string& file, const std::string& included) {
  const Layer from = layer_of(file), to = layer_of(included);
  if (from.height < 0) return file + " lies in no known layer";
  if (to.height < 0) return file + " includes \"" + included + "\", which is not a path from the root into a layer";
  if (to.name != from.name && to.height >= from.height)
    return file + " (" + from.name + ") includes " + included + " (" + to.name + "), which is not below it";
  return {};
}

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> quoted_includes(const std::string& text) {
  static const std::regex pattern(R"re((?:^|\n)[ \t]*#[ \t]*include[ \t]*"([^"]+)")re");
  std::vector<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) found.push_back((*it)[1]);
  return found;
}

std::vector<std::string> sources() {
  std::vector<std::string> paths;
  for (const auto& folder : kFolders) {
    if (!fs::exists(kRoot / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension == ".cpp" || extension == ".hpp") paths.push_back(fs::relative(entry.path(), kRoot).string());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// What git tracks, or all below the known folders where there is no git.
std::vector<std::string> committed_files() {
  std::vector<std::string> paths;
  const std::string command = "git -C '" + kRoot.string() + "' ls-files 2>/dev/null";
  if (FILE* pipe = popen(command.c_str(), "r")) {
    char line[4096];
    while (std::fgets(line, sizeof line, pipe))
      paths.push_back(std::string(line).substr(0, std::string(line).size() - 1));
    pclose(pipe);
  }
  return paths.empty() ? sources() : paths;
}

}  // namespace

TEST_CASE("the include rule itself tells up from down", "[fast]") {
  CHECK(violation("sim/step/a.cpp", "sim/core/time.hpp").empty());
  CHECK(violation("sim/step/a.cpp", "sim/step/b.hpp").empty());
  CHECK(violation("workloads/a.cpp", "topologies/b.hpp").empty());
  CHECK_FALSE(violation("topologies/a.cpp", "workloads/b.hpp").empty());
  CHECK_FALSE(violation("sim/core/a.cpp", "sim/device/b.hpp").empty());
  CHECK_FALSE(violation("sim/run/a.cpp", "traces/b.hpp").empty());
  CHECK_FALSE(violation("sim/step/a.cpp", "program.hpp").empty());
  CHECK(quoted_includes("#include <x>\n#include \"a/b.hpp\"\n  #  include \"c\"\n").size() == 2);
}

TEST_CASE("no include points up the layers, and each names a file", "[fast]") {
  const auto files = sources();
  REQUIRE(files.size() > 20);
  for (const auto& file : files)
    for (const auto& included : quoted_includes(read(kRoot / file))) {
      CHECK(violation(file, included) == "");
      if (!fs::exists(kRoot / included)) FAIL_CHECK(file << " includes " << included << ", which does not exist");
    }
}

TEST_CASE("each file says what it is, headers guard themselves, a .cpp includes its own header first", "[fast]") {
  for (const auto& file : sources()) {
    const std::string text = read(kRoot / file);
    INFO(file);
    const std::string header = file.substr(0, file.size() - 3) + "hpp";
    const std::string own = "#include \"" + header + "\"";
    const bool comment = text.rfind("//", 0) == 0;
    if (file.ends_with(".hpp")) {
      CHECK(comment);
      CHECK(text.find("#pragma once") != std::string::npos);
    } else if (fs::exists(kRoot / header)) {  // the header's comment speaks for both
      CHECK((comment || text.rfind(own, 0) == 0));
      const auto first = text.find("#include");
      REQUIRE(first != std::string::npos);
      CHECK(text.compare(first, own.size(), own) == 0);
    } else {
      CHECK(comment);
    }
  }
}

TEST_CASE("nothing committed names a machine's own path or a package registry", "[fast]") {
  const std::string slash = "/", dot = ".";  // joined here, so that this file does not find itself
  const std::vector<std::string> forbidden = {slash + "work/",
                                              slash + "home/",
                                              slash + "root/",
                                              slash + "tmp/",
                                              "pypi" + slash + "simple",
                                              "deb.debian" + dot + "org",
                                              "registry.npmjs" + dot + "org",
                                              "pythonhosted" + dot + "org",
                                              "crates" + dot + "io"};
  for (const auto& file : committed_files()) {
    const std::string text = read(kRoot / file);
    for (const auto& word : forbidden)
      if (const auto at = text.find(word); at != std::string::npos) {
        const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
        FAIL_CHECK(file << ":" << line << " contains " << word);
      }
  }
}
