#include "topologies/catalog.hpp"
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include "sim/core/embedded.hpp"
#include "sim/core/json_reader.hpp"
#include "topologies/cluster.hpp"

namespace twin::topo {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using core::Result;

struct Source {
  std::string file;
  std::string_view text;  // empty: still on disk
};

std::string canonical(std::string_view name) {
  std::string s(name);
  for (char& c : s) c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

std::string stem(std::string_view path) { return fs::path(path).stem().string(); }

// Canonical name -> where its text is. The user's entries replace the embedded ones of the same name.
std::map<std::string, Source> sources(const std::string& kind) {
  std::map<std::string, Source> found;
  const std::string prefix = "topologies/catalog/" + kind + "/";
  for (const auto& [path, text] : core::embedded_files())
    if (path.starts_with(prefix)) found[canonical(stem(path))] = {std::string(path), text};
  const char* folder = std::getenv("TRAINTWIN_CATALOG");
  std::error_code none;
  if (folder == nullptr || *folder == '\0') return found;
  for (const auto& item : fs::directory_iterator(fs::path(folder) / kind, none))
    if (item.path().extension() == ".json") found[canonical(stem(item.path().string()))] = {item.path().string(), {}};
  return found;
}

Result<std::string> text_of(const Source& source) {
  if (!source.text.empty()) return std::string(source.text);
  return core::read_file(source.file, std::size_t{1} << 24);
}

Result<Entry> parse(const std::string& name, const Source& source) {
  auto text = text_of(source);
  if (!text) return text.error();
  auto json = core::parse_json(*text, source.file);
  if (!json) return json.error();
  if (!json->is_object())
    return Error{ErrorCode::kType, source.file, std::string("expected an object, found ") + json->type_name(), ""};
  return Entry{name, source.file, std::move(*json)};
}

bool has_alias(const nlohmann::json& entry, const std::string& wanted) {
  auto aliases = entry.find("aliases");
  if (aliases == entry.end() || !aliases->is_array()) return false;
  return std::any_of(aliases->begin(), aliases->end(), [&](const nlohmann::json& a) {
    return a.is_string() && canonical(a.get_ref<const std::string&>()) == wanted;
  });
}

std::string singular(const std::string& kind) { return kind.substr(0, kind.size() - 1); }

Error unknown(const std::string& kind, const std::string& name, const std::string& where,
              const std::vector<std::string>& names) {
  const std::string close = core::nearest(canonical(name), names);
  std::string hint;
  if (!close.empty()) {
    hint = "did you mean \"" + close + "\"?";
  } else {
    for (const auto& n : names) hint += (hint.empty() ? "known: " : ", ") + n;
  }
  return {ErrorCode::kNotFound, where,
          "expected the name of a " + singular(kind) + " or a file, found \"" + name + "\"", hint};
}

}  // namespace

bool is_path(const std::string& name) { return name.find('/') != std::string::npos || name.ends_with(".json"); }

bool has_entry(const std::string& kind, const std::string& name) { return sources(kind).count(canonical(name)) > 0; }

Result<Entry> find_entry(const std::string& kind, const std::string& name, const std::string& where) {
  const auto known = sources(kind);
  const std::string wanted = canonical(name);
  if (auto exact = known.find(wanted); exact != known.end()) return parse(exact->first, exact->second);
  std::vector<std::string> names;
  for (const auto& [candidate, source] : known) {
    auto entry = parse(candidate, source);
    if (!entry) return entry.error();
    if (has_alias(entry->json, wanted)) return entry;
    names.push_back(candidate);
    if (auto a = entry->json.find("aliases"); a != entry->json.end() && a->is_array())
      for (const auto& alias : *a)
        if (alias.is_string()) names.push_back(canonical(alias.get_ref<const std::string&>()));
  }
  return unknown(kind, name, where, names);
}

Result<Entry> resolve(const std::string& kind, const nlohmann::json& reference, const std::string& where) {
  if (reference.is_string()) {
    const auto& name = reference.get_ref<const std::string&>();
    if (!is_path(name)) return find_entry(kind, name, where);
    auto text = core::read_file(name);
    if (!text) return Error{text.error().code, where, text.error().text(), text.error().hint};
    auto json = core::parse_json(*text, name);
    if (!json) return json.error();
    if (json->is_object()) return resolve(kind, *json, name);
    return Error{ErrorCode::kType, name, std::string("expected an object, found ") + json->type_name(), ""};
  }
  if (!reference.is_object())
    return Error{ErrorCode::kType, where,
                 "expected the name of a " + singular(kind) + ", a file or an object, found " + reference.dump(), ""};
  auto base = reference.find("base");
  if (base == reference.end()) return Entry{reference.value("name", std::string("custom")), where, reference};
  auto entry = resolve(kind, *base, where + ".base");
  if (!entry) return entry;
  nlohmann::json changes = reference;
  changes.erase("base");
  entry->json.merge_patch(changes);
  entry->file = where;
  return entry;
}

std::vector<std::string> catalog_names(const std::string& kind) {
  std::vector<std::string> names;
  for (const auto& [name, source] : sources(kind)) names.push_back(name);
  return names;
}

Result<std::string> catalog_json(const std::string& kind, const std::string& name) {
  auto entry = find_entry(kind, name, kind);
  if (!entry) return entry.error();
  return entry->json.dump(2);
}

}  // namespace twin::topo
