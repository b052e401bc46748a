// The arguments that name a scenario: a file or nothing (the default scenario), a framework's own files in its stead,
// --cluster, --set. Shared by the commands that simulate.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>
#include "sim/core/result.hpp"
#include "workloads/scenario.hpp"

namespace twin::cli {

struct ScenarioArgs {
  std::string file, cluster, megatron, hf;
  std::vector<std::string> sets;
};

void add_scenario_args(CLI::App& app, ScenarioArgs& args);
// Read, completed by --cluster, --set, checked.
core::Result<work::Scenario> read_scenario_args(const ScenarioArgs& args);

}  // namespace twin::cli
