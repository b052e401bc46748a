#include "workloads/readers.hpp"

#include "sim/core/json_reader.hpp"
#include "workloads/catalog.hpp"
#include "workloads/hf_config.hpp"
#include "workloads/megatron_args.hpp"

namespace twin::work {

namespace {

core::Result<Import> read_hf(std::string_view text, const std::string& file) {
  auto config = core::parse_json(text, file);
  if (!config) return config.error();
  Import import;
  std::vector<std::string> assumed;
  auto model = model_from_hf(*config, file, &assumed);
  if (!model) return model.error();
  import.scenario = {{"model", model_to_json(*model)}, { "assumed", assumed }};
  return import;
}

}  // namespace

const std::vector<ReaderEntry>& readers() {
  static const std::vector<ReaderEntry> list = {
      {"megatron", "Megatron-LM arguments: a launch script, or a plain list", read_megatron_args},
      {"hf", "Hugging Face config.json of a dense decoder: the model alone", read_hf},
  };
  return list;
}

core::Result<Import> import_file(const std::string& reader, const std::string& file) {
  std::vector<std::string> names;
  for (const auto& entry : readers()) {
    names.emplace_back(entry.name);
    if (reader != entry.name) continue;
    auto text = core::read_file(file, std::size_t{1} << 26);
    if (!text) return text.error();
    return entry.read(*text, file);
  }
  std::string known;
  for (const auto& n : names) known += (known.empty() ? "" : ", ") + n;
  const std::string close = core::nearest(reader, names);
  return core::Error{core::ErrorCode::kNotFound, "--" + reader,
                     "expected one of " + known + ", found \"" + reader + "\"",
                     close.empty() ? "" : "did you mean \"" + close + "\"?"};
}

}  // namespace twin::work
