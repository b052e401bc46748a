// nlohmann's SAX parser drives a builder of our own, because its DOM parser takes the last of duplicate keys silently,
// has no limit of depth, and gives no line for what is well-formed but wrong. Messages are "expected ..., found ...".
#include "sim/core/json_reader.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <system_error>

namespace twin::core {
namespace {

using Json = nlohmann::json;
constexpr std::size_t kMaxDepth = 64;

// Hands the text to the lexer and remembers how far it has read, so that a problem the lexer cannot see (a duplicate
// key) still has a line.
struct Cursor {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  const char* at = nullptr;
  const char** read = nullptr;
  reference operator*() const { return *at; }
  Cursor& operator++() {
    *read = ++at;
    return *this;
  }
  Cursor operator++(int) {
    Cursor old = *this;
    ++*this;
    return old;
  }
  bool operator==(const Cursor& other) const { return at == other.at; }
  bool operator!=(const Cursor& other) const { return at != other.at; }
};

// Builds the value and stops at the first problem; the functions are nlohmann's SAX interface.
class Builder {
 public:
  Builder(std::string_view text, std::string file) : read(text.data()), text_(text), file_(std::move(file)) {}
  bool null() { return put(nullptr); }
  bool boolean(bool v) { return put(v); }
  bool number_integer(Json::number_integer_t v) { return put(v); }
  bool number_unsigned(Json::number_unsigned_t v) { return put(v); }
  bool number_float(Json::number_float_t v, const std::string&) { return put(v); }
  bool string(std::string& v) { return put(std::move(v)); }
  bool binary(Json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    Json& object = *stack_.back();
    if (object.contains(name)) return stop(offset(), "expected each field once, found \"" + name + "\" again");
    slot_ = &object[name];
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const Json::exception& e) {
    std::string what = e.what();
    if (auto p = what.find("column "); p != std::string::npos && (p = what.find(": ", p)) != std::string::npos)
      what = what.substr(p + 2);
    else if (p = what.find("] "); p != std::string::npos)
      what = what.substr(p + 2);
    return stop(position == 0 ? 0 : std::min(position, offset()) - 1, "expected valid JSON, found a " + what);
  }

  const char* read;
  Json value;
  std::optional<Error> error;

 private:
  std::size_t offset() const { return std::min(static_cast<std::size_t>(read - text_.data()), text_.size()); }
  bool stop(std::size_t position, std::string message) {
    position = std::min(position, text_.size());
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(position), '\n');
    error = Error{ErrorCode::kParse, fmt::format("{}:{}", file_, line), std::move(message), ""};
    return false;
  }
  Json* place(Json v) {
    if (stack_.empty()) return &(value = std::move(v));
    if (stack_.back()->is_array()) {
      stack_.back()->push_back(std::move(v));
      return &stack_.back()->back();
    }
    return &(*slot_ = std::move(v));
  }
  bool put(Json v) {
    place(std::move(v));
    return true;
  }
  bool open(Json v) {
    if (stack_.size() >= kMaxDepth)
      return stop(offset(), fmt::format("expected at most {} nested levels, found more", kMaxDepth));
    stack_.push_back(place(std::move(v)));
    return true;
  }
  bool close() {
    stack_.pop_back();
    return true;
  }

  std::string_view text_;
  std::string file_;
  std::vector<Json*> stack_;  // open objects and arrays: a parent does not grow while a child is open
  Json* slot_ = nullptr;      // where the value of the last key goes
};

std::string describe(const Json& v) {
  if (v.is_null()) return "null";
  if (v.is_object()) return "an object";
  if (v.is_array()) return fmt::format("an array of {}", v.size());
  std::string text = v.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names) {
  const std::string best = nearest(word, names);
  return best.empty() ? "" : "did you mean \"" + best + "\"?";
}

std::string range_text(std::string_view kind, double min, double max, bool whole) {
  const auto number = [&](double v) {
    return whole && std::abs(v) < 1e15 ? fmt::format("{:.0f}", v) : fmt::format("{:g}", v);
  };
  const double limit = whole ? 9.2e18 : std::numeric_limits<double>::max();
  const bool low = min > -limit, high = max < limit;
  if (low && high) return fmt::format("expected {} in {}..{}", kind, number(min), number(max));
  if (low) return fmt::format("expected {} >= {}", kind, number(min));
  if (high) return fmt::format("expected {} <= {}", kind, number(max));
  return fmt::format("expected {}", kind);
}

// The value as a whole number; 1e9 and 16.0 count as whole.
std::optional<std::int64_t> whole(const Json& v) {
  if (v.is_number_unsigned()) {
    const auto u = v.get<std::uint64_t>();
    if (u > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
    return static_cast<std::int64_t>(u);
  }
  if (v.is_number_integer()) return v.get<std::int64_t>();
  if (!v.is_number_float()) return std::nullopt;
  const double d = v.get<double>();
  if (d != std::floor(d) || std::abs(d) > 9007199254740992.0) return std::nullopt;
  return static_cast<std::int64_t>(d);
}

std::optional<Error> read(const Json& v, const std::string& where, std::string& out) {
  if (!v.is_string()) return Error{ErrorCode::kType, where, "expected a string, found " + describe(v), ""};
  out = v.get<std::string>();
  return std::nullopt;
}

std::optional<Error> read(const Json& v, const std::string& where, double& out, double min, double max) {
  const std::string expected = range_text("a number", min, max, false);
  if (!v.is_number()) return Error{ErrorCode::kType, where, expected + ", found " + describe(v), ""};
  const double d = v.get<double>();
  if (!(d >= min && d <= max)) return Error{ErrorCode::kRange, where, expected + ", found " + describe(v), ""};
  out = d;
  return std::nullopt;
}

std::optional<Error> read(const Json& v, const std::string& where, std::int64_t& out, std::int64_t min,
                          std::int64_t max) {
  const auto found = whole(v);
  if (found && *found >= min && *found <= max) {
    out = *found;
    return std::nullopt;
  }
  const std::string expected = range_text("a whole number", static_cast<double>(min), static_cast<double>(max), true);
  return Error{found ? ErrorCode::kRange : ErrorCode::kType, where, expected + ", found " + describe(v), ""};
}

std::optional<Error> read(const Json& v, const std::string& where, int& out, int min, int max) {
  std::int64_t wide = 0;
  if (auto e = read(v, where, wide, std::int64_t{min}, std::int64_t{max})) return e;
  out = static_cast<int>(wide);
  return std::nullopt;
}

std::optional<Error> read(const Json& v, const std::string& where, bool& out) {
  if (!v.is_boolean()) return Error{ErrorCode::kType, where, "expected true or false, found " + describe(v), ""};
  out = v.get<bool>();
  return std::nullopt;
}

// "a.json" + "batch" = "a.json: batch"; "a.json: batch" + "micro" = "a.json: batch.micro"; "batch" + "micro" =
// "batch.micro".
std::string join(const std::string& where, const std::string& key) {
  if (where.empty()) return key;
  const bool field = where.find(": ") != std::string::npos;
  const bool file = !field && (where.find('/') != std::string::npos || where.ends_with(".json"));
  return where + (file ? ": " : ".") + key;
}

}  // namespace

Result<Json> parse_json(std::string_view text, const std::string& file) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return Error{ErrorCode::kParse, file + ":1", "expected a JSON value, found nothing", ""};
  Builder builder(text, file);
  const Cursor begin{text.data(), &builder.read}, end{text.data() + text.size(), &builder.read};
  const bool done = Json::sax_parse(begin, end, &builder, Json::input_format_t::json, true, true);
  if (builder.error) return *builder.error;
  if (!done) return Error{ErrorCode::kParse, file, "expected valid JSON", ""};
  return std::move(builder.value);
}

Result<std::string> read_file(const std::string& path, std::size_t limit_bytes) {
  std::error_code code;
  const auto status = std::filesystem::status(path, code);
  if (!std::filesystem::exists(status)) return Error{ErrorCode::kNotFound, path, "expected a file, found none", ""};
  if (std::filesystem::is_directory(status))
    return Error{ErrorCode::kNotFound, path, "expected a file, found a directory", ""};
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error{ErrorCode::kNotFound, path, "expected a readable file, found one that cannot be opened", ""};
  std::string content, block(std::size_t{1} << 16, '\0');
  while (in.read(block.data(), static_cast<std::streamsize>(block.size())) || in.gcount() > 0) {
    content.append(block, 0, static_cast<std::size_t>(in.gcount()));
    if (content.size() > limit_bytes)
      return Error{ErrorCode::kRange, path, fmt::format("expected at most {} bytes, found more", limit_bytes), ""};
  }
  return content;
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  const std::size_t n = word.size();
  std::size_t best_distance = std::min(std::max<std::size_t>(2, n / 3), n == 0 ? 0 : n - 1) + 1;
  std::string best;
  for (const auto& candidate : candidates) {  // optimal string alignment: a swap of neighbours costs one
    const std::size_t m = candidate.size();
    std::vector<std::size_t> before(m + 1), above(m + 1), row(m + 1);
    for (std::size_t j = 0; j <= m; ++j) row[j] = j;
    for (std::size_t i = 1; i <= n; ++i) {
      before.swap(above);
      above.swap(row);
      row[0] = i;
      for (std::size_t j = 1; j <= m; ++j) {
        const char a = lower(word[i - 1]), b = lower(candidate[j - 1]);
        row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a == b ? 0U : 1U)});
        if (i > 1 && j > 1 && a == lower(candidate[j - 2]) && lower(word[i - 2]) == b)
          row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    if (row[m] < best_distance) {
      best_distance = row[m];
      best = candidate;
    }
  }
  return best;
}

JsonReader::JsonReader(const Json& object, std::string where) : json_(&object), where_(std::move(where)) {
  if (!object.is_object())
    error_ = Error{ErrorCode::kType, where_, "expected an object, found " + describe(object), ""};
}

bool JsonReader::has(std::string_view key) const {
  if (!json_->is_object()) return false;
  const auto it = json_->find(key);
  return it != json_->end() && !it->is_null();
}

const Json* JsonReader::find(const std::string& key, bool required) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.push_back(key);
  if (has(key)) return &*json_->find(key);
  if (required && !error_ && json_->is_object()) {
    std::vector<std::string> present;
    for (const auto& item : json_->items()) present.push_back(item.key());
    const std::string close = nearest(key, present);
    error_ = Error{ErrorCode::kNotFound, join(where_, key), "expected this field, found none",
                   close.empty() ? "" : "there is a \"" + close + "\""};
  }
  return nullptr;
}

JsonReader& JsonReader::required(const std::string& key, std::string& out) {
  if (const Json* v = find(key, true); v && !error_) error_ = read(*v, join(where_, key), out);
  return *this;
}
JsonReader& JsonReader::required(const std::string& key, double& out, double min, double max) {
  if (const Json* v = find(key, true); v && !error_) error_ = read(*v, join(where_, key), out, min, max);
  return *this;
}
JsonReader& JsonReader::required(const std::string& key, std::int64_t& out, std::int64_t min, std::int64_t max) {
  if (const Json* v = find(key, true); v && !error_) error_ = read(*v, join(where_, key), out, min, max);
  return *this;
}
JsonReader& JsonReader::required(const std::string& key, int& out, int min, int max) {
  if (const Json* v = find(key, true); v && !error_) error_ = read(*v, join(where_, key), out, min, max);
  return *this;
}
JsonReader& JsonReader::optional(const std::string& key, std::string& out) {
  if (const Json* v = find(key, false); v && !error_) error_ = read(*v, join(where_, key), out);
  return *this;
}
JsonReader& JsonReader::optional(const std::string& key, double& out, double min, double max) {
  if (const Json* v = find(key, false); v && !error_) error_ = read(*v, join(where_, key), out, min, max);
  return *this;
}
JsonReader& JsonReader::optional(const std::string& key, std::int64_t& out, std::int64_t min, std::int64_t max) {
  if (const Json* v = find(key, false); v && !error_) error_ = read(*v, join(where_, key), out, min, max);
  return *this;
}
JsonReader& JsonReader::optional(const std::string& key, int& out, int min, int max) {
  if (const Json* v = find(key, false); v && !error_) error_ = read(*v, join(where_, key), out, min, max);
  return *this;
}
JsonReader& JsonReader::optional(const std::string& key, bool& out) {
  if (const Json* v = find(key, false); v && !error_) error_ = read(*v, join(where_, key), out);
  return *this;
}

JsonReader& JsonReader::choice(const std::string& key, int& out, const std::vector<std::string>& names) {
  const Json* v = find(key, false);
  if (!v || error_) return *this;
  const std::string text = v->is_string() ? v->get<std::string>() : "";
  const auto it = std::find(names.begin(), names.end(), text);
  if (v->is_string() && it != names.end())
    out = static_cast<int>(it - names.begin());
  else
    error_ = Error{v->is_string() ? ErrorCode::kNotFound : ErrorCode::kType, join(where_, key),
                   "expected one of " + list(names) + ", found " + describe(*v), did_you_mean(text, names)};
  return *this;
}

std::optional<JsonReader> JsonReader::object(const std::string& key) {
  const Json* v = find(key, false);
  if (!v || error_) return std::nullopt;
  if (v->is_object()) return JsonReader(*v, join(where_, key));
  error_ = Error{ErrorCode::kType, join(where_, key), "expected an object, found " + describe(*v), ""};
  return std::nullopt;
}

const Json* JsonReader::any(const std::string& key) { return find(key, false); }

std::vector<JsonReader> JsonReader::objects(const std::string& key) {
  std::vector<JsonReader> readers;
  const Json* v = find(key, false);
  if (!v || error_) return readers;
  if (!v->is_array()) {
    error_ = Error{ErrorCode::kType, join(where_, key), "expected an array of objects, found " + describe(*v), ""};
    return readers;
  }
  readers.reserve(v->size());
  for (std::size_t i = 0; i < v->size(); ++i)
    readers.emplace_back((*v)[i], fmt::format("{}[{}]", join(where_, key), i));
  return readers;
}

JsonReader& JsonReader::absorb(const JsonReader& nested) {
  if (error_) return *this;
  if (auto result = nested.finish(); !result) error_ = result.error();
  return *this;
}

void JsonReader::fail(const std::string& key, std::string message, std::string hint) {
  if (!error_) error_ = Error{ErrorCode::kInconsistent, join(where_, key), std::move(message), std::move(hint)};
}

Result<void> JsonReader::finish() const {
  if (error_) return *error_;
  for (const auto& item : json_->items()) {
    if (std::find(known_.begin(), known_.end(), item.key()) != known_.end()) continue;
    return Error{ErrorCode::kNotFound, join(where_, item.key()),
                 "expected one of " + list(known_) + ", found unknown field \"" + item.key() + "\"",
                 did_you_mean(item.key(), known_)};
  }
  return {};
}

}  // namespace twin::core
