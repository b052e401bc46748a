// Reading JSON that people write: comments allowed, errors name file, line and field, unknown keys are errors with the
// nearest valid name. A reader takes one object apart; the first problem sticks and finish() returns it.
//
//   auto root = parse_json(text, "a.json");            if (!root) return root.error();
//   JsonReader r(*root, "a.json");                     // where = file; nested readers append ".field"
//   r.required("layers", layers, 1, 1000).optional("vocab", vocab, 1, 1e7);
//   if (auto sub = r.object("batch")) { sub->optional("micro", micro, 1, 1e6); r.absorb(*sub); }
//   if (auto e = r.finish(); !e) return e.error();     // unknown keys found here
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include "sim/core/result.hpp"

namespace twin::core {

// Comments allowed; duplicate keys, trailing garbage, depth over 64 and non-finite numbers are errors. Error.where =
// "file:line".
Result<nlohmann::json> parse_json(std::string_view text, const std::string& file);
Result<std::string> read_file(const std::string& path, std::size_t limit_bytes = std::size_t{1} << 30);

// The candidate closest to `word` by edit distance, if close enough to be a typo (<= 1/3 of its length, at least 2);
// else "".
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

class JsonReader {
 public:
  JsonReader(const nlohmann::json& object, std::string where);
  bool has(std::string_view key) const;  // present and not null
  // required/optional: type and range are checked; optional leaves `out` alone where the key is absent or null.
  JsonReader& required(const std::string& key, std::string& out);
  JsonReader& required(const std::string& key, double& out, double min, double max);
  JsonReader& required(const std::string& key, std::int64_t& out, std::int64_t min, std::int64_t max);
  JsonReader& required(const std::string& key, int& out, int min, int max);
  JsonReader& optional(const std::string& key, std::string& out);
  JsonReader& optional(const std::string& key, double& out, double min, double max);
  JsonReader& optional(const std::string& key, std::int64_t& out, std::int64_t min, std::int64_t max);
  JsonReader& optional(const std::string& key, int& out, int min, int max);
  JsonReader& optional(const std::string& key, bool& out);
  // One of `names`; out becomes its index. Unknown: error lists the names and the nearest.
  JsonReader& choice(const std::string& key, int& out, const std::vector<std::string>& names);
  std::optional<JsonReader> object(const std::string& key);  // nullopt: absent (or wrong type, which is an error)
  const nlohmann::json* any(const std::string& key);         // marks the key as known; nullptr: absent
  std::vector<JsonReader> objects(const std::string& key);   // an array of objects
  JsonReader& absorb(const JsonReader& nested);              // takes over nested's finish() result
  void fail(const std::string& key, std::string message, std::string hint = "");
  Result<void> finish() const;  // first problem, else the first unknown key
  const std::string& where() const { return where_; }
  const nlohmann::json& json() const { return *json_; }

 private:
  const nlohmann::json* find(const std::string& key, bool required);
  const nlohmann::json* json_;
  std::string where_;
  std::vector<std::string> known_;
  std::optional<Error> error_;
};

}  // namespace twin::core
