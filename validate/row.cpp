#include "validate/row.hpp"
#include <fmt/format.h>
#include <cmath>
#include <set>
#include "sim/core/embedded.hpp"
#include "sim/core/json_reader.hpp"

namespace twin::validate {
namespace {

using nlohmann::json;

std::string shown(const json& value) {
  std::string text = value.dump();
  return text.size() > 40 ? text.substr(0, 37) + "..." : text;
}

// Takes one object of a row apart; the first problem sticks in *error.
class Fields {
 public:
  Fields(const json& row, std::string section, std::string where, std::optional<core::Error>* error)
      : section_(std::move(section)), where_(std::move(where)), error_(error) {
    const json* object = &row;
    if (!section_.empty()) {
      const auto it = row.find(section_);
      if (it == row.end() || it->is_null()) return;
      object = &*it;
    }
    if (object->is_object()) {
      object_ = object;
    } else {
      fail("", "an object", *object);
    }
  }
  const json* find(const char* key) const {
    if (object_ == nullptr) return nullptr;
    const auto it = object_->find(key);
    return it == object_->end() || it->is_null() ? nullptr : &*it;
  }
  void text(const char* key, std::string& out) const {
    const json* value = find(key);
    if (value == nullptr) return;
    if (!value->is_string()) return fail(key, "a string", *value);
    out = value->get<std::string>();
  }
  void flag(const char* key, std::optional<bool>& out) const {
    const json* value = find(key);
    if (value == nullptr) return;
    if (value->is_boolean()) {
      out = value->get<bool>();
    } else if (value
                   ->is_string()) {  // MLPerf prints environment values; a reference to another variable states nothing
      const std::string word = value->get<std::string>();
      if (word == "True" || word == "true" || word == "1") out = true;
      if (word == "False" || word == "false" || word == "0") out = false;
    } else {
      fail(key, "true or false", *value);
    }
  }
  void count(const char* key, std::optional<std::int64_t>& out, std::int64_t min, std::int64_t max) const {
    const json* value = find(key);
    if (value == nullptr) return;
    const bool whole = value->is_number() && std::floor(value->get<double>()) == value->get<double>() &&
                       std::abs(value->get<double>()) < 9e15;
    if (!whole || value->get<double>() < static_cast<double>(min) || value->get<double>() > static_cast<double>(max))
      return fail(key, fmt::format("a whole number in {}..{}", min, max), *value);
    out = static_cast<std::int64_t>(value->get<double>());
  }
  void positive(const char* key, std::optional<double>& out) const {
    const json* value = find(key);
    if (value == nullptr) return;
    if (!value->is_number() || !(value->get<double>() > 0) || !std::isfinite(value->get<double>()))
      return fail(key, "a number > 0", *value);
    out = value->get<double>();
  }
  void fail(const char* key, const std::string& expected, const json& found) const {
    if (*error_) return;
    std::string field = section_;
    if (*key != 0) field += (field.empty() ? "" : ".") + std::string(key);
    *error_ = core::Error{core::ErrorCode::kType, where_,
                          fmt::format("field {}: expected {}, found {}", field, expected, shown(found)), ""};
  }

 private:
  const json* object_ = nullptr;
  std::string section_, where_;
  std::optional<core::Error>* error_;
};

constexpr std::int64_t kBig = 1'000'000'000;

void read_model(const json& j, const std::string& where, std::optional<core::Error>* error, Row& row) {
  const Fields f(j, "model", where, error);
  f.text("name", row.model.name);
  f.text("attention", row.model.attention);
  f.text("positional", row.model.positional);
  f.positive("params_b", row.model.params_b);
  f.count("layers", row.model.layers, 1, 100'000);
  f.count("hidden", row.model.hidden, 1, kBig);
  f.count("heads", row.model.heads, 1, 100'000);
  f.count("kv_heads", row.model.kv_heads, 1, 100'000);
  f.count("head_dim", row.model.head_dim, 1, 100'000);
  f.count("ffn", row.model.ffn, 1, kBig);
  f.count("vocab", row.model.vocab, 1, kBig);
  f.count("seq_len", row.model.seq_len, 1, kBig);
  f.count("experts", row.model.experts, 0, kBig);
  f.flag("gated_mlp", row.model.gated_mlp);
  f.flag("tied_embeddings", row.model.tied_embeddings);
}

void read_hardware(const json& j, const std::string& where, std::optional<core::Error>* error, Row& row) {
  const Fields f(j, "hardware", where, error);
  f.text("accelerator", row.hardware.accelerator);
  f.text("scaleout", row.hardware.scaleout);
  f.text("scaleup", row.hardware.scaleup);
  f.count("per_node", row.hardware.per_node, 1, kBig);
  f.count("nodes", row.hardware.nodes, 1, kBig);
  f.count("total", row.hardware.total, 1, kBig);
  f.count("scaleup_domain", row.hardware.scaleup_domain, 1, kBig);
}

void read_plan(const json& j, const std::string& where, std::optional<core::Error>* error, Row& row) {
  const Fields p(j, "parallelism", where, error);
  p.count("tp", row.parallel.tp, 1, kBig);
  p.count("pp", row.parallel.pp, 1, kBig);
  p.count("vpp", row.parallel.vpp, 1, kBig);
  p.count("cp", row.parallel.cp, 1, kBig);
  p.count("ep", row.parallel.ep, 1, kBig);
  p.count("dp", row.parallel.dp, 1, kBig);
  p.count("fsdp", row.parallel.fsdp, 0, kBig);
  p.text("zero", row.parallel.zero);
  p.text("schedule", row.parallel.schedule);
  p.flag("sequence_parallel", row.parallel.sequence_parallel);
  const Fields b(j, "batch", where, error);
  b.count("micro", row.batch.micro, 1, kBig);
  b.count("global_", row.batch.global, 1, kBig);
  b.count("num_microbatches", row.batch.accumulation, 1, kBig);
}

std::string flat(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.is_null() ? "" : value.dump();
}

void read_software(const json& j, const std::string& where, std::optional<core::Error>* error, Row& row) {
  const Fields top(j, "", where, error);
  top.text("precision", row.precision);
  if (const json* value = top.find("recompute")) {
    if (value->is_object()) {
      const Fields f(j, "recompute", where, error);
      if (const json* granularity = f.find("granularity")) row.recompute = flat(*granularity);
      if (row.recompute == "null" || row.recompute.empty()) row.recompute = "none";
      if (const json* layers = f.find("layers")) {  // MLPerf prints numbers as text
        const std::string digits = flat(*layers);
        if (!digits.empty() && digits.find_first_not_of("0123456789") == std::string::npos && digits.size() < 7)
          row.recompute_layers = std::stoll(digits);
        else if (digits != "null")
          f.fail("layers", "a whole number", *layers);
      }
    } else if (value->is_string()) {
      row.recompute = value->get<std::string>();
    } else {
      top.fail("recompute", "a string or an object", *value);
    }
  }
  if (const json* value = top.find("overlap")) {
    if (!value->is_object()) return top.fail("overlap", "an object", *value);
    for (const auto& [key, item] : value->items()) row.overlap[key] = flat(item);
  }
  const Fields s(j, "software", where, error);
  s.text("framework", row.framework);
  s.text("mp_mode", row.mp_mode);
}

void read_measured(const json& j, const std::string& where, std::optional<core::Error>* error, Row& row) {
  const Fields f(j, "measured", where, error);
  auto& m = row.measured;
  f.positive("step_time_s", m.step_time_s);
  f.positive("block_step_time_s", m.block_step_time_s);
  f.positive("tokens_per_s_per_gpu", m.tokens_per_s_per_gpu);
  f.positive("tokens_per_s", m.tokens_per_s);
  f.positive("model_tflops_per_gpu", m.model_tflops_per_gpu);
  f.positive("hw_tflops_per_gpu", m.hw_tflops_per_gpu);
  f.positive("mfu", m.mfu);
  f.positive("hfu", m.hfu);
  f.positive("peak_mem_gib", m.peak_mem_gib);
  f.positive("max_memory_gb", m.max_memory_gb);
  f.positive("step_p05", m.step_p05);
  f.positive("step_p95", m.step_p95);
  f.text("mfu_definition", m.mfu_definition);
  const Fields memory(j, "memory", where, error);
  memory.positive("params_optimizer_gib", row.memory.params_optimizer_gib);
  memory.positive("activations_gib", row.memory.activations_gib);
  const Fields top(j, "", where, error);
  if (const json* percent = top.find("percent")) {
    if (!percent->is_object()) return top.fail("percent", "an object", *percent);
    for (const auto& [key, item] : percent->items()) {
      if (!item.is_number()) return top.fail("percent", "numbers", item);
      row.memory.percent[key] = item.get<double>();
    }
  }
}

std::string stem(const std::string& file) {
  const auto slash = file.find_last_of('/');
  const std::string name = slash == std::string::npos ? file : file.substr(slash + 1);
  const auto dot = name.find_last_of('.');
  return dot == std::string::npos ? name : name.substr(0, dot);
}

core::Result<Row> read_row(const json& j, const std::string& file, std::size_t index) {
  std::string where = fmt::format("{}: row {}", file, index + 1);
  if (!j.is_object()) return core::Error{core::ErrorCode::kType, where, "expected an object, found " + shown(j), ""};
  const auto id = j.find("id");
  if (id == j.end() || !id->is_string() || id->get<std::string>().empty())
    return core::Error{core::ErrorCode::kType, where,
                       "field id: expected a string, found " + (id == j.end() ? std::string("nothing") : shown(*id)),
                       ""};
  Row row;
  row.file = stem(file);
  row.id = id->get<std::string>();
  where += fmt::format(" '{}'", row.id);
  std::optional<core::Error> error;
  const Fields top(j, "", where, &error);
  top.text("kind", row.kind);
  top.text("training_kind", row.training_kind);
  top.text("completeness", row.completeness);
  top.text("group", row.group);
  top.text("notes", row.notes);
  std::optional<bool> verified;
  top.flag("verified", verified);
  row.verified = verified.value_or(true);
  if (!row.kind.empty() && row.kind != "step" && row.kind != "memory" && row.kind != "memory_relative")
    top.fail("kind", "step, memory or memory_relative", json(row.kind));
  read_model(j, where, &error, row);
  read_hardware(j, where, &error, row);
  read_plan(j, where, &error, row);
  read_software(j, where, &error, row);
  read_measured(j, where, &error, row);
  if (error) return *error;
  return row;
}

}  // namespace

core::Result<std::vector<Row>> parse_rows(std::string_view text, const std::string& file) {
  auto root = core::parse_json(text, file);
  if (!root) return root.error();
  json defaults = json::object();
  const json* list = &*root;
  if (root->is_object()) {
    if (const auto it = root->find("defaults"); it != root->end()) defaults = *it;
    const auto it = root->find("rows");
    if (it == root->end() || !defaults.is_object())
      return core::Error{core::ErrorCode::kType, file,
                         "expected an array of rows, or an object with \"rows\" (and \"defaults\", an object)", ""};
    list = &*it;
  }
  if (!list->is_array())
    return core::Error{core::ErrorCode::kType, file, "expected an array of rows, found " + shown(*list), ""};
  std::vector<Row> rows;
  std::set<std::string> ids;
  for (std::size_t i = 0; i < list->size(); ++i) {
    json merged = (*list)[i];
    if (merged.is_object() && !defaults.empty()) {
      merged = defaults;
      merged.merge_patch((*list)[i]);
    }
    auto row = read_row(merged, file, i);
    if (!row) return row.error();
    if (!ids.insert(row->id).second)
      return core::Error{core::ErrorCode::kInconsistent, fmt::format("{}: row {}", file, i + 1),
                         fmt::format("field id: '{}' occurs twice; ids are unique in a file", row->id), ""};
    rows.push_back(std::move(*row));
  }
  return rows;
}

core::Result<std::vector<Row>> read_rows(const std::string& path) {
  auto text = core::read_file(path);
  if (!text) return text.error();
  return parse_rows(*text, path);
}

core::Result<std::vector<Row>> embedded_rows() {
  std::vector<Row> rows;
  for (const auto& [path, content] : core::embedded_files()) {
    if (!path.starts_with("validate/published/runs/") && !path.starts_with("validate/published/memory/")) continue;
    auto part = parse_rows(content, std::string(path));
    if (!part) return part.error();
    rows.insert(rows.end(), part->begin(), part->end());
  }
  return rows;
}

}  // namespace twin::validate
