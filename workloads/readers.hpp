// Readers of frameworks' own configuration files. Each turns a file into scenario JSON (scenario_reader.hpp reads that,
// --set and
// --cluster work on it), and says what it assumed and which keys have no bearing on the step. One leaf .cpp each, one
// line in the list of readers.cpp.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>
#include "sim/core/result.hpp"

namespace twin::work {

struct Import {
  nlohmann::json scenario;  // without "cluster"; "assumed" holds one sentence for each value that was filled in
  std::vector<std::string> ignored;  // keys that do not bear on the time of a step
};

struct ReaderEntry {
  const char* name;      // of the option: --megatron
  const char* sentence;  // for help and docs
  core::Result<Import> (*read)(std::string_view text, const std::string& file);
};

const std::vector<ReaderEntry>& readers();
// Error: no such reader (nearest name), no such file, or what the reader says.
core::Result<Import> import_file(const std::string& reader, const std::string& file);

}  // namespace twin::work
