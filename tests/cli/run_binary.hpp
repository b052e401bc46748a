// Runs the binary (or any command) through a shell and keeps what it printed: tests of the command line.
#pragma once
#include <sys/wait.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace twin::cli::test {

struct Transcript {
  int exit = -1;
  std::string out, err;
};

inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Folder {  // a scratch folder of this test program
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("twin-cli-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path file(const std::string& name) const { return path_ / name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name), std::ios::binary) << text;
    return file(name).string();
  }

 private:
  std::filesystem::path path_;
};

inline const Folder& scratch() {
  static const Folder folder;
  return folder;
}

inline Transcript shell(const std::string& command) {
  const auto out = scratch().file("out"), err = scratch().file("err");
  const int status =
      std::system(("( " + command + " ) </dev/null >'" + out.string() + "' 2>'" + err.string() + "'").c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), slurp(out), slurp(err)};
}

inline Transcript traintwin(const std::string& arguments) {
  return shell("'" TWIN_BINARY_DIR "/traintwin' " + arguments);
}

}  // namespace twin::cli::test
