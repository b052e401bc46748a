#include "workloads/scenario_reader.hpp"

#include <fmt/format.h>
#include <algorithm>
#include "sim/core/embedded.hpp"
#include "workloads/catalog.hpp"
#include "workloads/tables.hpp"

namespace twin::work {

namespace {

using core::Error;
using core::ErrorCode;
using core::Result;
using nlohmann::json;

// Sections that take keys of their own, below or beside the table's.
bool is_open(const std::string& section) { return section == "model" || section == "software" || section == "cluster"; }

// "did you mean" over the full names, or over the keys of the section that was meant.
Error unknown_key(const std::string& key, const std::string& assignment) {
  std::vector<std::string> names, in_section;
  const std::string section = detail::section_of(key);
  for (const auto& f : detail::scenario_fields()) {
    names.push_back(f.name);
    if (!section.empty() && detail::section_of(f.name) == section) in_section.push_back(f.name);
    if (section.empty() && detail::key_of(f.name) == key)
      return {ErrorCode::kUsage, "--set " + assignment, "expected a scenario field, found \"" + key + "\"",
              "did you mean \"" + f.name + "\"?"};
  }
  std::string close = core::nearest(key, names);
  std::string hint = close.empty() ? "" : "did you mean \"" + close + "\"?";
  if (hint.empty())
    for (const auto& n : in_section.empty() ? names : in_section) hint += (hint.empty() ? "known: " : ", ") + n;
  return {ErrorCode::kUsage, "--set " + assignment, "expected a scenario field, found \"" + key + "\"", hint};
}

bool is_known(const std::string& key) {
  if (const auto section = detail::section_of(key); is_open(section)) return true;
  if (key == "recompute.granularity" || key == "recompute.method" || key == "recompute.layers") return true;
  const auto& fields = detail::scenario_fields();
  return std::any_of(fields.begin(), fields.end(),
                     [&](const auto& f) { return f.name == key || detail::section_of(f.name) == key; });
}

json parse_value(std::string_view text) {
  json value = json::parse(text, nullptr, false);
  return value.is_discarded() ? json(std::string(text)) : value;
}

// The object that `section` names in the scenario; a name there becomes the base of an object.
json& open_section(json& scenario, const std::string& section) {
  json& inside = scenario[section];
  if (inside.is_string() && section == "recompute")
    inside = {{"granularity", inside}};
  else if (inside.is_string())
    inside = {{"base", inside}};
  else if (!inside.is_object())
    inside = json::object();
  return inside;
}

std::string schema_type(const json& schema) {
  if (schema.contains("type")) return schema["type"].get<std::string>();
  if (schema.contains("const")) return schema["const"].dump();
  std::string text;
  for (const auto& item : schema.value("enum", schema.value("anyOf", json::array())))
    text += (text.empty() ? "" : " or ") + (item.is_object() ? schema_type(item) : item.get<std::string>());
  return text;
}

}  // namespace

Result<json> load_scenario_json(const std::string& file_or_name) {
  if (file_or_name.empty()) return load_scenario_json("default");
  const std::string embedded = "workloads/catalog/scenarios/" + file_or_name + ".json";
  if (const auto text = core::embedded(embedded); !text.empty() && file_or_name.find('/') == std::string::npos)
    return core::parse_json(text, embedded);
  auto text = core::read_file(file_or_name, std::size_t{1} << 26);
  if (!text) {
    const std::string close = core::nearest(file_or_name, catalog_names("scenarios"));
    if (close.empty()) return text.error();
    return Error{text.error().code, text.error().where, text.error().message, "did you mean \"" + close + "\"?"};
  }
  return core::parse_json(*text, file_or_name);
}

Result<Scenario> scenario_from_json(const json& object, const std::string& file) {
  Scenario scenario;
  scenario.file = file;
  if (auto usual = find_stack(scenario.stack.name)) scenario.stack = std::move(*usual);
  core::JsonReader reader(object, "");
  if (object.is_object()) detail::read_fields(detail::scenario_fields(), scenario, reader);
  if (auto e = reader.finish(); !e) {
    Error error = e.error();
    error.where = error.where.empty() ? file : file + ": " + error.where;
    return error;
  }
  if (scenario.batch.seq == 0) scenario.batch.seq = scenario.model.max_positions;
  scenario.cluster.where = file + ": cluster";
  return scenario;
}

Result<Scenario> read_scenario(std::string_view text, const std::string& file) {
  auto object = core::parse_json(text, file);
  if (!object) return object.error();
  return scenario_from_json(*object, file);
}

Result<void> apply_set(json& scenario, std::string_view assignment) {
  const std::string whole(assignment);
  const auto equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return Error{ErrorCode::kUsage, "--set " + whole, "expected key=value, found no \"=\" after a key",
                 "for example --set parallel.tp=4"};
  const std::string key(assignment.substr(0, equals));
  if (!scenario.is_object())
    return Error{ErrorCode::kType, "--set " + whole, "expected a scenario object to set it in, found none", ""};
  if (!is_known(key)) return unknown_key(key, whole);
  json value = parse_value(assignment.substr(equals + 1));
  const std::string section = detail::section_of(key);
  if (section.empty()) {
    scenario[key] = std::move(value);
    return {};
  }
  json& inside = open_section(scenario, section);
  const std::string rest = detail::key_of(key);
  if (section == "cluster" && rest.starts_with("override.")) {  // names of constants have dots of their own
    json& overrides = inside["override"];
    if (!overrides.is_object()) overrides = json::object();
    overrides[rest.substr(9)] = std::move(value);
  } else {
    inside[rest] = std::move(value);
  }
  return {};
}

json scenario_to_json(const Scenario& scenario) { return detail::write_fields(detail::scenario_fields(), scenario); }

json scenario_schema() {
  json schema = detail::schema_of(detail::scenario_fields());
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = "traintwin scenario";
  return schema;
}

std::string scenario_field_docs() {
  const Scenario defaults;
  std::string text = "| field | type | default | range | meaning |\n|---|---|---|---|---|\n";
  for (const auto& f : detail::scenario_fields()) {
    const json low = f.schema.value("minimum", json()), high = f.schema.value("maximum", json());
    const std::string range = low.is_null() ? "" : fmt::format("{:g}..{:g}", low.get<double>(), high.get<double>());
    text += fmt::format("| `{}` | {} | {} | {} | {}{} |\n", f.name, schema_type(f.schema),
                        f.required ? "required" : "`" + f.write(defaults).dump() + "`", range, f.help,
                        f.unit.empty() ? "" : " (" + f.unit + ")");
  }
  return text;
}

}  // namespace twin::work
