// One row of a configuration table: name, type, unit, range, help, and how to read it from JSON and write it back. A
// table of them drives parsing, the JSON Schema, the effective dump and the documentation; defaults are those of a
// default-made struct.
//
//   integer<Batch>("batch.micro", [](auto& b) -> auto& { return b.micro; }, {1, 1e6}, "sequences", "per micro batch")
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>
#include "sim/core/json_reader.hpp"

namespace twin::work::detail {

template <class T>
struct Field {
  std::string name;  // dotted: "parallel.tp"
  std::string unit;
  std::string help;
  nlohmann::json schema;                                                    // JSON Schema of the value
  std::function<void(T&, core::JsonReader&, const std::string& key)> read;  // reports through the reader
  std::function<nlohmann::json(const T&)> write;
  bool required = false;
};

struct Range {
  double min, max;
};

template <class T, class Access>
Field<T> integer(std::string name, Access access, Range range, std::string unit, std::string help) {
  using V = std::remove_reference_t<decltype(access(std::declval<T&>()))>;
  return {.name = std::move(name),
          .unit = std::move(unit),
          .help = std::move(help),
          .schema = {{"type", "integer"}, {"minimum", range.min}, {"maximum", range.max}},
          .read =
              [=](T& t, core::JsonReader& r, const std::string& key) {
                r.optional(key, access(t), static_cast<V>(range.min), static_cast<V>(range.max));
              },
          .write = [=](const T& t) { return nlohmann::json(access(t)); }};
}

template <class T, class Access>
Field<T> number(std::string name, Access access, Range range, std::string unit, std::string help) {
  return {.name = std::move(name),
          .unit = std::move(unit),
          .help = std::move(help),
          .schema = {{"type", "number"}, {"minimum", range.min}, {"maximum", range.max}},
          .read = [=](T& t, core::JsonReader& r,
                      const std::string& key) { r.optional(key, access(t), range.min, range.max); },
          .write = [=](const T& t) { return nlohmann::json(access(t)); }};
}

template <class T, class Access>
Field<T> boolean(std::string name, Access access, std::string help) {
  return {.name = std::move(name),
          .unit = "",
          .help = std::move(help),
          .schema = {{"type", "boolean"}},
          .read = [=](T& t, core::JsonReader& r, const std::string& key) { r.optional(key, access(t)); },
          .write = [=](const T& t) { return nlohmann::json(access(t)); }};
}

template <class T, class Access>
Field<T> text(std::string name, Access access, std::string help) {
  return {.name = std::move(name),
          .unit = "",
          .help = std::move(help),
          .schema = {{"type", "string"}},
          .read = [=](T& t, core::JsonReader& r, const std::string& key) { r.optional(key, access(t)); },
          .write = [=](const T& t) { return nlohmann::json(access(t)); }};
}

// An enumeration by its names, in the order of the enumerators.
template <class T, class Access>
Field<T> choice(std::string name, Access access, const std::vector<std::string>& names, std::string help) {
  using V = std::remove_reference_t<decltype(access(std::declval<T&>()))>;
  return {.name = std::move(name),
          .unit = "",
          .help = std::move(help),
          .schema = {{"enum", names}},
          .read =
              [=](T& t, core::JsonReader& r, const std::string& key) {
                int index = static_cast<int>(access(t));
                r.choice(key, index, names);
                access(t) = static_cast<V>(index);
              },
          .write = [=](const T& t) { return nlohmann::json(names[static_cast<std::size_t>(access(t))]); }};
}

// Accepts the string `word` beside the field's own type, meaning `value` (which writes as the word again).
template <class T, class Access, class Value>
Field<T> or_word(Field<T> field, Access access, const std::string& word, Value value) {
  const auto read = field.read;
  const auto write = field.write;
  field.schema = {{"anyOf", nlohmann::json::array({field.schema, {{"const", word}}})}};
  field.read = [=](T& t, core::JsonReader& r, const std::string& key) {
    const nlohmann::json* found = r.any(key);
    if (found != nullptr && found->is_string() && found->template get_ref<const std::string&>() == word)
      access(t) = value;
    else
      read(t, r, key);
  };
  field.write = [=](const T& t) { return access(t) == value ? nlohmann::json(word) : write(t); };
  return field;
}

template <class T>
Field<T> required(Field<T> field) {
  field.required = true;
  return field;
}

}  // namespace twin::work::detail
