// Override of any constant of a cluster: "nic.bandwidth": "x2" | "400Gb/s" | number. One table (name, unit, range,
// help) drives the parsing, the messages and the documentation.
#pragma once
#include <map>
#include <string>
#include <vector>
#include "sim/core/result.hpp"
#include "topologies/parts.hpp"

namespace twin::topo {

struct OverrideHelp {
  std::string name, unit, help;
  double min, max;
};
std::vector<OverrideHelp> override_table();

// Applies them in the table's order (so the order in the file never matters). where: the field that holds them.
core::Result<void> apply_overrides(const std::map<std::string, std::string>& overrides, const std::string& where,
                                   NodeKind& node, Fabric& fabric);

}  // namespace twin::topo
