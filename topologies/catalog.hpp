// Finding catalog entries: the user's folder ($TRAINTWIN_CATALOG/<kind>/NAME.json) first, then the files in the binary.
// Lookup ignores case, takes "_" for "-", and knows the "aliases" that an entry lists.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include "sim/core/result.hpp"

namespace twin::topo {

struct Entry {
  std::string name;  // canonical
  std::string file;  // for messages
  nlohmann::json json;
};

core::Result<Entry> find_entry(const std::string& kind, const std::string& name, const std::string& where);
// A reference as a scenario has it: catalog name, path of a file, or an object, perhaps with "base".
core::Result<Entry> resolve(const std::string& kind, const nlohmann::json& reference, const std::string& where);
bool has_entry(const std::string& kind, const std::string& name);  // by its own name, not an alias; reads no file
bool is_path(const std::string& name);

}  // namespace twin::topo
