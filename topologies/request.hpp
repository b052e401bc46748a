// What a ClusterRef asks for, with names taken apart: groups of nodes, fabric, overrides, or a graph file.
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>
#include "sim/core/result.hpp"
#include "topologies/cluster_ref.hpp"

namespace twin::topo {

using Overrides = std::map<std::string, std::string>;

struct GroupRequest {
  nlohmann::json node;
  std::int64_t nodes = 0;  // 0: not stated
  bool units = false;      // nodes counts units of the node kind (racks), as in "gb200-nvl72x8"
  Overrides overrides;
  std::string where;
};

struct Request {
  std::string name;  // empty: made from the node
  std::vector<GroupRequest> groups;
  nlohmann::json fabric;  // null: the usual one
  Overrides overrides;
  std::optional<bool> ecmp, keep_unbindable, sharp;
  nlohmann::json graph;  // an arbitrary graph: file or object; then there are no groups
  std::string where;
};

core::Result<Request> read_request(const ClusterRef& ref);

}  // namespace twin::topo
