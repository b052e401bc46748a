#include "workloads/catalog.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <type_traits>
#include "sim/core/embedded.hpp"
#include "workloads/hf_config.hpp"
#include "workloads/tables.hpp"

namespace twin::work {

namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using core::Result;
using nlohmann::json;

struct Source {
  std::string file;
  std::string_view text;  // empty: on disk
};

struct Entry {
  std::string name, file;
  json content;
};

std::string canonical(std::string_view name) {
  std::string s(name);
  for (char& c : s) c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

std::map<std::string, Source> sources(const std::string& kind) {
  std::map<std::string, Source> found;
  const std::string prefix = "workloads/catalog/" + kind + "/";
  for (const auto& [path, text] : core::embedded_files())
    if (path.starts_with(prefix)) found[canonical(fs::path(path).stem().string())] = {std::string(path), text};
  const char* folder = std::getenv("TRAINTWIN_CATALOG");
  std::error_code none;
  if (folder == nullptr || *folder == '\0') return found;
  for (const auto& item : fs::directory_iterator(fs::path(folder) / kind, none))
    if (item.path().extension() == ".json") found[canonical(item.path().stem().string())] = {item.path().string(), {}};
  return found;
}

Result<std::string> text_of(const Source& source) {
  if (!source.text.empty()) return std::string(source.text);
  return core::read_file(source.file, std::size_t{1} << 24);
}

Result<Entry> parse(const std::string& name, const std::string& file, const std::string& text) {
  auto content = core::parse_json(text, file);
  if (!content) return content.error();
  if (!content->is_object())
    return Error{ErrorCode::kType, file, std::string("expected an object, found ") + content->type_name(), ""};
  return Entry{name, file, std::move(*content)};
}

std::vector<std::string> aliases(const json& entry) {
  std::vector<std::string> names;
  const auto it = entry.find("aliases");
  if (it != entry.end() && it->is_array())
    for (const auto& a : *it)
      if (a.is_string()) names.push_back(canonical(a.get_ref<const std::string&>()));
  return names;
}

bool mixture_or_latent(const std::string& wanted) {
  for (const char* word : {"mixtral", "deepseek", "moe", "dbrx", "llama4", "gpt-oss", "qwen3-", "kimi", "glm"})
    if (wanted.find(word) != std::string::npos) return true;
  return false;
}

Error unknown(const std::string& kind, const std::string& name, const std::string& where,
              const std::vector<std::string>& names) {
  const std::string close = core::nearest(canonical(name), names);
  std::string hint = close.empty() ? "" : "did you mean \"" + close + "\"?";
  if (kind == "models" && mixture_or_latent(canonical(name)))
    hint = "mixture of experts and latent attention come later";
  if (hint.empty())
    for (const auto& n : names) hint += (hint.empty() ? "known: " : ", ") + n;
  return {ErrorCode::kNotFound, where,
          "expected the name of a " + kind.substr(0, kind.size() - 1) + " or a file, found \"" + name + "\"", hint};
}

Result<Entry> find_entry(const std::string& kind, const std::string& name, const std::string& where) {
  const auto known = sources(kind);
  const std::string wanted = canonical(name);
  const auto load = [](const std::string& n, const Source& s) -> Result<Entry> {
    auto text = text_of(s);
    if (!text) return text.error();
    return parse(n, s.file, *text);
  };
  if (auto exact = known.find(wanted); exact != known.end()) return load(exact->first, exact->second);
  std::vector<std::string> names;
  for (const auto& [candidate, source] : known) {
    auto entry = load(candidate, source);
    if (!entry) return entry;
    const auto others = aliases(entry->content);
    if (std::find(others.begin(), others.end(), wanted) != others.end()) return entry;
    names.push_back(candidate);
    names.insert(names.end(), others.begin(), others.end());
  }
  return unknown(kind, name, where, names);
}

bool is_path(const std::string& name) { return name.find('/') != std::string::npos || name.ends_with(".json"); }

// A name, a file or an object (with an optional "base") to one object of fields, and where it stood.
Result<Entry> resolve(const std::string& kind, const json& reference, const std::string& where, int depth = 0) {
  if (depth > 8)
    return Error{ErrorCode::kInconsistent, where, "expected a base at last, found a chain of more than 8", ""};
  if (reference.is_string()) {
    const auto& name = reference.get_ref<const std::string&>();
    auto entry = is_path(name) ? [&]() -> Result<Entry> {
      auto text = core::read_file(name, std::size_t{1} << 26);
      if (!text) return text.error();
      return parse(fs::path(name).stem().string(), name, *text);
    }()
        : find_entry(kind, name, where);
    if (!entry || !entry->content.contains("base")) return entry;
    return resolve(kind, entry->content, entry->file, depth + 1);
  }
  if (!reference.is_object())
    return Error{ErrorCode::kType, where,
                 "expected the name of a " + kind.substr(0, kind.size() - 1) + ", a file or an object, found " +
                     reference.dump(-1, ' ', false, json::error_handler_t::replace),
                 ""};
  const auto base = reference.find("base");
  if (base == reference.end()) return Entry{"", where, reference};
  auto entry = resolve(kind, *base, where + ".base", depth + 1);
  if (!entry) return entry;
  json merged = std::move(entry->content);
  for (const auto& [key, value] : reference.items())
    if (key != "base") merged[key] = value;
  return Entry{entry->name, where, std::move(merged)};
}

template <class T>
Result<T> read_entry(const std::vector<detail::Field<T>>& fields, const Entry& entry) {
  T out{};
  core::JsonReader reader(entry.content, entry.file);
  reader.any("aliases");
  if constexpr (std::is_same_v<T, Stack>) reader.any("source");
  detail::read_fields(fields, out, reader);
  if (auto e = reader.finish(); !e) return e.error();
  if (!entry.content.contains("name")) out.name = entry.name.empty() ? "custom" : entry.name;
  return out;
}

Result<Model> complete(Model model, const std::string& where) {
  if (model.kv_heads == 0) model.kv_heads = model.heads;
  if (model.head_dim == 0) {
    if (model.hidden % model.heads != 0)
      return Error{ErrorCode::kInconsistent, where + ".heads",
                   "expected a divisor of hidden = " + std::to_string(model.hidden) +
                       " where head_dim is not given, found " + std::to_string(model.heads),
                   ""};
    model.head_dim = model.hidden / model.heads;
  }
  if (model.heads % model.kv_heads != 0)
    return Error{
        ErrorCode::kInconsistent, where + ".kv_heads",
        "expected a divisor of heads = " + std::to_string(model.heads) + ", found " + std::to_string(model.kv_heads),
        ""};
  return model;
}

}  // namespace

Result<Model> model_from_json(const json& reference, const std::string& where) {
  auto entry = resolve("models", reference, where);
  if (!entry) return entry.error();
  if (is_hf_config(entry->content)) return model_from_hf(entry->content, entry->file);
  auto model = read_entry(detail::model_fields(), *entry);
  if (!model) return model;
  return complete(std::move(*model), entry->file);
}

Result<Stack> stack_from_json(const json& reference, const std::string& where) {
  auto entry = resolve("stacks", reference, where);
  if (!entry) return entry.error();
  auto stack = read_entry(detail::stack_fields(), *entry);
  if (stack && stack->calibration.empty()) stack->calibration = stack->name;
  return stack;
}

Result<Model> find_model(const std::string& name) { return model_from_json(json(name), "model"); }
Result<Stack> find_stack(const std::string& name) { return stack_from_json(json(name), "software"); }

json model_to_json(const Model& model) {
  json object = detail::write_fields(detail::model_fields(), model);
  const auto names = catalog_names("models");
  if (std::find(names.begin(), names.end(), model.name) == names.end()) return object;
  const auto known = find_model(model.name);
  return known && detail::write_fields(detail::model_fields(), *known) == object ? json(model.name) : object;
}

json stack_to_json(const Stack& stack) {
  json object = detail::write_fields(detail::stack_fields(), stack);
  if (stack.calibration.empty()) object["calibration"] = stack.name;
  const auto names = catalog_names("stacks");
  if (std::find(names.begin(), names.end(), stack.name) == names.end()) return object;
  const auto known = find_stack(stack.name);
  return known && detail::write_fields(detail::stack_fields(), *known) == object ? json(stack.name) : object;
}

json model_schema() { return detail::schema_of(detail::model_fields()); }
json stack_schema() { return detail::schema_of(detail::stack_fields()); }

std::vector<std::string> catalog_names(const std::string& kind) {
  std::vector<std::string> names;
  for (const auto& [name, source] : sources(kind)) names.push_back(name);
  return names;
}

Result<std::string> catalog_json(const std::string& kind, const std::string& name) {
  auto entry = find_entry(kind, name, kind);
  if (!entry) return entry.error();
  return entry->content.dump(2);
}

}  // namespace twin::work
