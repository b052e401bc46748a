// The arguments that name a scenario: a file or nothing (the default scenario), a framework's own files in its stead
// (one option per reader of workloads/readers.hpp), --cluster, --set. Shared by the commands that simulate.
#pragma once
#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>
#include "sim/core/result.hpp"
#include "workloads/scenario.hpp"

namespace twin::cli {

struct ScenarioArgs {
  std::string file, cluster;
  std::map<std::string, std::string> imports;  // reader -> file, "" where not given
  std::vector<std::string> sets;
};

void add_scenario_args(CLI::App& app, ScenarioArgs& args);
// Read, completed by --cluster and --set; not yet checked against the cluster.
core::Result<work::Scenario> read_scenario_args(const ScenarioArgs& args);
// The checks that need the cluster, without simulating.
core::Result<void> check_on_cluster(const work::Scenario& scenario);

}  // namespace twin::cli
