// Replays a corpus through a fuzz target, and each file again cut short, with bytes flipped and parts doubled by a
// fixed generator, so that CI fuzzes a little without a fuzzer:  fuzz_TARGET FOLDER [VARIANTS per file]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>
#include "tests/fuzz/target.hpp"

namespace {

std::uint64_t next(std::uint64_t& state) {  // splitmix64
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

std::string mutated(std::string text, std::uint64_t& state) {
  static const std::vector<std::string> kTokens = {
      "-1", "1e999", "9223372036854775808", "null", "[]", "{}", "\"\"", "0", ",", "\\u0000", "\xff", "$(", "${"};
  const std::uint64_t edits = 1 + next(state) % 4;
  for (std::uint64_t e = 0; e < edits && !text.empty(); ++e) {
    const std::size_t at = next(state) % text.size();
    switch (next(state) % 5) {
      case 0:
        text.resize(at);
        break;
      case 1:
        text[at] = static_cast<char>(next(state));
        break;
      case 2:
        text.insert(at, kTokens[next(state) % kTokens.size()]);
        break;
      case 3:
        text.erase(at, 1 + next(state) % 16);
        break;
      default:
        text.insert(at, text.substr(next(state) % text.size(), next(state) % 64));
        break;
    }
  }
  return text;
}

void feed(const std::string& text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: %s FOLDER [VARIANTS]\n", argv[0]), 2;
  const long variants = argc > 2 ? std::strtol(argv[2], nullptr, 10) : 200;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::uint64_t state = 1;
  long inputs = 0;
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    feed(text);
    for (long i = 0; i < variants; ++i) feed(mutated(text, state));
    inputs += 1 + variants;
  }
  std::printf("%ld inputs of %zu files, no finding\n", inputs, files.size());
  return files.empty() ? 1 : 0;
}
