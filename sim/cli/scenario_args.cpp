// The arguments that name a scenario; see the header.
#include "sim/cli/scenario_args.hpp"
#include "sim/cli/usage.hpp"
#include "topologies/cluster.hpp"
#include "workloads/readers.hpp"
#include "workloads/scenario_reader.hpp"

namespace twin::cli {
namespace {

using core::Error;
using core::ErrorCode;
using core::Result;

// A file that brings more than the model takes the scenario's place; one that brings only the model goes into it.
struct Base {
  nlohmann::json scenario;
  std::string file;
  std::vector<std::string> notes;
};

Result<Base> read_base(const ScenarioArgs& a) {
  Base base;
  nlohmann::json model;
  std::string whole;  // the option that stands for the scenario
  for (const auto& [reader, file] : a.imports) {
    if (file.empty()) continue;
    auto import = work::import_file(reader, file);
    if (!import) return import.error();
    if (!import->ignored.empty())
      base.notes.push_back("ignored in " + file + ", without bearing on the step: " + joined(import->ignored));
    const bool only_model = !import->scenario.contains("parallel") && !import->scenario.contains("batch");
    if (only_model) {
      model = import->scenario["model"];
      for (const auto& note : import->scenario.value("assumed", std::vector<std::string>{})) base.notes.push_back(note);
      continue;
    }
    if (!whole.empty() || !a.file.empty())
      return Error{ErrorCode::kUsage, "--" + reader,
                   "expected one scenario, found also '" + (whole.empty() ? a.file : whole) + "'", ""};
    if (a.cluster.empty())
      return Error{ErrorCode::kUsage, "--" + reader, "expected --cluster beside it, found none",
                   "such as --cluster dgx-h100x16"};
    whole = "--" + reader;
    base.file = file;
    base.scenario = std::move(import->scenario);
  }
  if (whole.empty()) {
    auto json = work::load_scenario_json(a.file);
    if (!json) return json.error();
    base.scenario = std::move(*json);
    base.file = a.file.empty() ? "default scenario" : a.file;
  }
  if (!model.is_null()) base.scenario["model"] = std::move(model);
  return base;
}

}  // namespace

void add_scenario_args(CLI::App& app, ScenarioArgs& args) {
  app.add_option("SCENARIO", args.file, "scenario file (JSON) or catalog name; default: Llama-3 405B on 16,384 H100")
      ->check(not_empty);
  app.add_option("--set", args.sets, "change a field: parallel.tp=4 (repeat as needed)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("--cluster", args.cluster, "catalog name (dgx-h100x64) or file")
      ->type_name("NAME|FILE")
      ->check(not_empty);
  for (const auto& reader : work::readers())
    app.add_option(std::string("--") + reader.name, args.imports[reader.name], reader.sentence)
        ->type_name("FILE")
        ->check(not_empty);
}

Result<work::Scenario> read_scenario_args(const ScenarioArgs& a) {
  auto base = read_base(a);
  if (!base) return base.error();
  if (!base->scenario.is_object())
    return Error{ErrorCode::kType, base->file, std::string("expected an object, found ") + base->scenario.type_name(),
                 ""};
  if (!a.cluster.empty()) base->scenario["cluster"] = a.cluster;
  for (const auto& assignment : a.sets)
    if (auto set = work::apply_set(base->scenario, assignment); !set) return set.error();
  auto scenario = work::scenario_from_json(base->scenario, base->file);
  if (!scenario) return scenario.error();
  scenario->assumed.insert(scenario->assumed.end(), base->notes.begin(), base->notes.end());
  return scenario;
}

Result<void> check_on_cluster(const work::Scenario& scenario) {
  const auto cluster = topo::build_cluster(scenario.cluster);
  if (!cluster) return cluster.error();
  return work::validate_scenario(scenario, (*cluster)->devices());
}

}  // namespace twin::cli
