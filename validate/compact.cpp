#include "validate/compact.hpp"
#include <map>
#include <nlohmann/json.hpp>
#include "sim/core/json_reader.hpp"

namespace twin::validate {
namespace {

using json = nlohmann::ordered_json;

const std::vector<std::pair<std::string, std::vector<std::string>>>& kept_fields() {
  static const std::vector<std::pair<std::string, std::vector<std::string>>> fields = {
      {"id", {}},
      {"kind", {}},
      {"verified", {}},
      {"training_kind", {}},
      {"completeness", {}},
      {"group", {}},
      {"notes", {}},
      {"source", {"title", "table", "url", "repo", "path", "config_path"}},
      {"model",
       {"name", "params_b", "layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "gated_mlp", "vocab", "seq_len",
        "tied_embeddings", "positional"}},
      {"hardware", {"accelerator", "per_node", "nodes", "total", "scaleout", "scaleup_domain"}},
      {"parallelism", {"tp", "pp", "vpp", "cp", "ep", "dp", "fsdp", "zero", "sequence_parallel", "schedule"}},
      {"batch", {"micro", "global_", "num_microbatches"}},
      {"precision", {}},
      {"recompute", {}},
      {"overlap", {}},
      {"software", {"framework", "mp_mode"}},
      {"measured",
       {"step_time_s", "block_step_time_s", "step_p05", "step_p95", "tokens_per_s_per_gpu", "tokens_per_s",
        "model_tflops_per_gpu", "hw_tflops_per_gpu", "mfu", "hfu", "mfu_definition", "peak_mem_gib", "max_memory_gb"}},
      {"memory", {}},
      {"percent", {}},
  };
  return fields;
}

json select(const json& row) {
  json out;
  for (const auto& [key, members] : kept_fields()) {
    const auto it = row.find(key);
    if (it == row.end() || it->is_null()) continue;
    if (members.empty() || !it->is_object()) {
      out[key] = *it;
      continue;
    }
    json section;
    for (const std::string& member : members)
      if (const auto value = it->find(member); value != it->end() && !value->is_null()) section[member] = *value;
    if (!section.is_null()) out[key] = section;
  }
  return out;
}

// What every row has alike; sections are compared member by member.
json common_part(const std::vector<json>& rows) {
  json out = json::object();
  for (const auto& [key, first] : rows.front().items()) {
    if (key == "id") continue;
    const bool section = first.is_object() && key != "overlap" && key != "recompute";
    bool everywhere = true;
    for (const json& row : rows)
      everywhere = everywhere && row.contains(key) && row[key].is_object() == first.is_object();
    if (!everywhere) continue;
    if (!section) {
      bool equal = true;
      for (const json& row : rows) equal = equal && row[key] == first;
      if (equal) out[key] = first;
      continue;
    }
    for (const auto& [member, value] : first.items()) {
      bool equal = true;
      for (const json& row : rows) equal = equal && row[key].contains(member) && row[key][member] == value;
      if (equal) out[key][member] = value;
    }
  }
  return out;
}

json without(const json& row, const json& defaults) {
  json out;
  for (const auto& [key, value] : row.items()) {
    if (!defaults.contains(key)) {
      out[key] = value;
    } else if (value.is_object() && value != defaults[key]) {
      for (const auto& [member, item] : value.items())
        if (!defaults[key].contains(member)) out[key][member] = item;
    }
  }
  return out;
}

}  // namespace

core::Result<std::string> compact_rows(std::string_view text, const std::string& file, const StackFinder& stacks) {
  auto parsed = parse_rows(text, file);
  if (!parsed) return parsed.error();
  auto valid = core::parse_json(text, file);
  if (!valid) return valid.error();
  const json root = json::parse(text, nullptr, true, true);
  if (!root.is_array())
    return core::Error{core::ErrorCode::kType, file, "expected an array of rows; this file is compact already", ""};
  std::vector<json> rows;
  for (std::size_t i = 0; i < parsed->size(); ++i) {
    const Row& row = (*parsed)[i];
    const bool memory = row.kind == "memory" || row.kind == "memory_relative";
    if (memory || normalise(row, stacks).scenario) rows.push_back(select(root[i]));
  }
  if (rows.empty()) return std::string();
  const json defaults = common_part(rows);
  std::string out = "{\"defaults\": " + defaults.dump() + ",\n\"rows\": [\n";
  for (std::size_t i = 0; i < rows.size(); ++i)
    out += " " + without(rows[i], defaults).dump() + (i + 1 < rows.size() ? ",\n" : "\n");
  return out + "]}\n";
}

}  // namespace twin::validate
