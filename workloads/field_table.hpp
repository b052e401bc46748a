// What a table of fields does for its struct: read, write, describe. Names hold at most one dot: "section.key".
#pragma once
#include <algorithm>
#include <optional>
#include "workloads/field.hpp"

namespace twin::work::detail {

inline std::string section_of(const std::string& name) {
  const auto dot = name.find('.');
  return dot == std::string::npos ? "" : name.substr(0, dot);
}

inline std::string key_of(const std::string& name) { return name.substr(name.find('.') + 1); }

template <class T>
void read_field(const Field<T>& field, T& out, core::JsonReader& reader) {
  const std::string key = key_of(field.name);
  if (field.required && !reader.has(key)) {
    reader.any(key);
    reader.fail(key, "expected this field, found none", field.help);
    return;
  }
  field.read(out, reader, key);
}

// Reads every field that `reader`'s object has; unknown keys are left to finish().
template <class T>
void read_fields(const std::vector<Field<T>>& fields, T& out, core::JsonReader& reader) {
  std::vector<std::string> done;
  for (const auto& field : fields) {
    const std::string section = section_of(field.name);
    if (section.empty()) {
      read_field(field, out, reader);
      continue;
    }
    if (std::find(done.begin(), done.end(), section) != done.end()) continue;
    done.push_back(section);
    static const nlohmann::json kNothing = nlohmann::json::object();
    auto nested = reader.object(section);
    if (!nested) continue;
    for (const auto& other : fields)
      if (section_of(other.name) == section) read_field(other, out, *nested);
    reader.absorb(*nested);
  }
}

template <class T>
nlohmann::json write_fields(const std::vector<Field<T>>& fields, const T& value) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& field : fields) {
    const std::string section = section_of(field.name);
    (section.empty() ? json : json[section])[key_of(field.name)] = field.write(value);
  }
  return json;
}

template <class T>
nlohmann::json schema_of(const std::vector<Field<T>>& fields) {
  const T defaults{};
  nlohmann::json schema = {
      {"type", "object"}, {"additionalProperties", false}, {"properties", nlohmann::json::object()}};
  for (const auto& field : fields) {
    nlohmann::json* object = &schema;
    if (const auto section = section_of(field.name); !section.empty()) {
      object = &schema["properties"][section];
      if (object->is_null()) *object = {{"type", "object"}, {"additionalProperties", false}};
    }
    nlohmann::json property = field.schema;
    property["description"] = field.unit.empty() ? field.help : field.help + " (" + field.unit + ")";
    if (!field.required) property["default"] = field.write(defaults);
    (*object)["properties"][key_of(field.name)] = std::move(property);
    if (field.required) (*object)["required"].push_back(key_of(field.name));
  }
  return schema;
}

}  // namespace twin::work::detail
