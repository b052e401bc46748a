// The arguments that name a scenario; see the header.
#include "sim/cli/scenario_args.hpp"
#include "topologies/cluster.hpp"
#include "workloads/scenario_reader.hpp"

namespace twin::cli {
namespace {

using core::Error;
using core::ErrorCode;
using core::Result;

Result<nlohmann::json> base_json(const ScenarioArgs& a) {
  if (!a.megatron.empty() && !a.file.empty())
    return Error{ErrorCode::kUsage, "step",
                 "expected a scenario or --megatron, found both ('" + a.file + "' and '" + a.megatron + "')", ""};
  return work::load_scenario_json(a.file);
}

}  // namespace

void add_scenario_args(CLI::App& app, ScenarioArgs& args) {
  app.add_option("SCENARIO", args.file, "scenario file (JSON) or catalog name; default: Llama-3 405B on 16,384 H100");
  app.add_option("--set", args.sets, "change a field: parallel.tp=4 (repeat as needed)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("--cluster", args.cluster, "catalog name (dgx-h100x64) or file")->type_name("NAME|FILE");
  app.add_option("--megatron", args.megatron, "Megatron-LM arguments in the scenario's stead: script or list")
      ->type_name("ARGS");
  app.add_option("--hf", args.hf, "model from a Hugging Face config.json")->type_name("FILE");
}

core::Result<work::Scenario> read_scenario_args(const ScenarioArgs& a) {
  auto json = base_json(a);
  if (!json) return json.error();
  if (!a.hf.empty()) (*json)["model"] = a.hf;
  if (!a.cluster.empty()) (*json)["cluster"] = a.cluster;
  for (const auto& assignment : a.sets)
    if (auto set = work::apply_set(*json, assignment); !set) return set.error();
  return work::scenario_from_json(*json, a.file.empty() ? "default scenario" : a.file);
}

}  // namespace twin::cli
