// How a scenario names its cluster; plain data, resolved by cluster.hpp.
#pragma once
#include <map>
#include <string>

namespace twin::topo {

struct ClusterRef {
  std::string name;    // "dgx-h100x64" (node x count on the usual fabric), a catalog cluster or a file; or empty
  std::string node;    // catalog name or file
  std::string fabric;  // empty: the node's usual one
  int nodes = 0;
  std::string inline_json;  // the cluster object as it stood, for fields that only topologies reads
  std::map<std::string, std::string> overrides;  // "nic.bandwidth" -> "x2", or a number with unit
  std::string where = "cluster";                 // file and field, for messages
};

}  // namespace twin::topo
