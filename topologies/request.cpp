#include "topologies/request.hpp"
#include <fmt/format.h>
#include <algorithm>
#include "sim/core/json_reader.hpp"
#include "topologies/catalog.hpp"
#include "topologies/cluster.hpp"

namespace twin::topo {
namespace {

using core::Error;
using core::ErrorCode;
using core::JsonReader;
using core::Result;

constexpr std::int64_t kMaxNodes = 200000;

void read_overrides(JsonReader& r, Overrides& out) {
  const auto* all = r.any("override");
  if (all == nullptr) return;
  if (!all->is_object()) return r.fail("override", "expected an object of constants, found " + all->dump());
  for (const auto& [key, value] : all->items()) {
    if (value.is_string())
      out[key] = value.get<std::string>();
    else if (value.is_number() || value.is_boolean())
      out[key] = value.dump();
    else
      return r.fail("override", "expected a number or a text for \"" + key + "\", found " + value.dump());
  }
}

Result<Request> read_object(const nlohmann::json& object, const std::string& where) {
  JsonReader r(object, where);
  Request q;
  q.where = where;
  GroupRequest one;
  one.where = where;
  for (const char* key : {"aliases", "help", "source", "note"}) r.any(key);
  r.optional("name", q.name);
  if (const auto* node = r.any("node")) one.node = *node;
  r.optional("nodes", one.nodes, 1, kMaxNodes);
  if (const auto* fabric = r.any("fabric")) q.fabric = *fabric;
  if (const auto* graph = r.any("graph")) q.graph = *graph;
  read_overrides(r, q.overrides);
  int routing = -1;
  r.choice("routing", routing, {"even", "ecmp"});
  if (routing >= 0) q.ecmp = routing == 1;
  bool flag = false;
  if (r.has("keep_unbindable")) r.optional("keep_unbindable", flag), q.keep_unbindable = flag;
  flag = false;
  if (r.has("sharp")) r.optional("sharp", flag), q.sharp = flag;
  for (const char* key : {"keep_unbindable", "sharp"}) r.any(key);
  for (auto& g : r.objects("groups")) {
    GroupRequest group;
    group.where = g.where();
    if (const auto* node = g.any("node")) group.node = *node;
    g.required("nodes", group.nodes, 1, kMaxNodes);
    read_overrides(g, group.overrides);
    r.absorb(g);
    q.groups.push_back(std::move(group));
  }
  if (auto done = r.finish(); !done) return done.error();
  if (!q.groups.empty() && (!one.node.is_null() || one.nodes > 0))
    return Error{ErrorCode::kInconsistent, where, "expected \"groups\" or \"node\" with \"nodes\", found both", ""};
  if (q.groups.empty() && q.graph.is_null()) q.groups.push_back(std::move(one));
  return q;
}

Request simple(nlohmann::json node, std::int64_t nodes, bool units, const std::string& where) {
  Request q;
  q.where = where;
  q.groups.push_back({std::move(node), nodes, units, {}, where});
  return q;
}

// "dgx-h100x64" -> "dgx-h100", "64"; no count: the whole name, "".
std::pair<std::string, std::string> split_count(const std::string& name) {
  const auto x = name.find_last_of("xX");
  const std::string count = x == std::string::npos ? "" : name.substr(x + 1);
  const bool digits = std::all_of(count.begin(), count.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (count.empty() || !digits) return {name, ""};
  return {name.substr(0, x), count};
}

Error unknown(const std::string& name, const std::string& stem, const std::string& count, const std::string& where) {
  std::vector<std::string> names = catalog_names("clusters");
  for (auto& node : catalog_names("nodes")) names.push_back(count.empty() ? node : node + "x" + count);
  std::string close = core::nearest(name, names);
  std::string hint = close.empty() ? "NODExCOUNT, e.g. dgx-h100x64; nodes and clusters: traintwin catalog"
                                   : "did you mean \"" + close + "\"?";
  return {ErrorCode::kNotFound, where,
          "expected a cluster, NODExCOUNT or a file, found \"" + name + "\"" +
              (count.empty() ? "" : " (no node \"" + stem + "\")"),
          hint};
}

Result<Request> read_counted(const std::string& node, const std::string& count, const std::string& where) {
  const std::int64_t n = count.empty() ? 1 : count.size() > 9 ? kMaxNodes + 1 : std::stoll(count);
  if (n < 1 || n > kMaxNodes)
    return Error{ErrorCode::kRange, where,
                 fmt::format("expected 1..{} nodes, found {} in \"{}x{}\"", kMaxNodes, count, node, count), ""};
  return simple(node, n, true, where);
}

Result<Request> read_cluster(const nlohmann::json& reference, const std::string& where) {
  auto entry = resolve("clusters", reference, where);
  if (!entry) return entry.error();
  auto q = read_object(entry->json, entry->file);
  if (q && q->name.empty()) q->name = entry->name;
  return q;
}

// A file, a catalog cluster, a node kind (one unit of it), or NODExCOUNT. Own names before aliases: those need every
// file.
Result<Request> read_name(const std::string& name, const std::string& where) {
  if (is_path(name) || has_entry("clusters", name)) return read_cluster(name, where);
  const auto [stem, count] = split_count(name);
  if (has_entry("nodes", name)) return read_counted(name, "", where);
  if (has_entry("nodes", stem)) return read_counted(stem, count, where);
  if (auto alias = find_entry("clusters", name, where); alias || alias.error().code != ErrorCode::kNotFound)
    return alias ? read_cluster(alias->name, where) : alias.error();
  for (const auto& [node, n] : {std::pair(name, std::string()), std::pair(stem, count)})
    if (auto alias = find_entry("nodes", node, where); alias || alias.error().code != ErrorCode::kNotFound)
      return alias ? read_counted(alias->name, n, where) : alias.error();
  return unknown(name, stem, count, where);
}

Result<Request> read_inline(const ClusterRef& ref) {
  auto json = core::parse_json(ref.inline_json, ref.where);
  if (!json) return json.error();
  if (json->is_string()) return read_name(json->get<std::string>(), ref.where);
  auto entry = resolve("clusters", *json, ref.where);
  if (!entry) return entry.error();
  return read_object(entry->json, ref.where);
}

}  // namespace

Result<Request> read_request(const ClusterRef& ref) {
  auto q = !ref.inline_json.empty() ? read_inline(ref)
           : !ref.name.empty()      ? read_name(ref.name, ref.where)
                                    : Result<Request>(simple(nullptr, 0, false, ref.where));
  if (!q) return q.error();
  if (q->groups.size() == 1) {  // what the object itself says comes first
    auto& g = q->groups.front();
    if (g.node.is_null() && !ref.node.empty()) g.node = ref.node;
    if (ref.nodes > 0 && (g.nodes == 0 || ref.inline_json.empty())) {
      g.nodes = ref.nodes;
      g.units = false;
      q->name.clear();
    }
  }
  if (!ref.fabric.empty() && (q->fabric.is_null() || ref.inline_json.empty())) q->fabric = ref.fabric;
  for (const auto& [key, value] : ref.overrides) q->overrides[key] = value;
  for (const auto& g : q->groups) {
    const std::string where = g.where.empty() ? "cluster" : g.where;
    if (g.node.is_null())
      return Error{ErrorCode::kNotFound, where + ".node",
                   "expected the name of a node, a file or an object, found none", ""};
    if (g.nodes < 1)
      return Error{ErrorCode::kRange, where + ".nodes", fmt::format("expected 1..{}, found none", kMaxNodes), ""};
    if (g.nodes > kMaxNodes)
      return Error{ErrorCode::kRange, where + ".nodes", fmt::format("expected 1..{}, found {}", kMaxNodes, g.nodes),
                   ""};
  }
  return q;
}

}  // namespace twin::topo
