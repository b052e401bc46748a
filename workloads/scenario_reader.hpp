// Scenarios as JSON: reading, --set, checking, the effective dump and the JSON Schema, all from one table of fields
// (scenario_fields.cpp). A framework's file becomes the same JSON first (readers.hpp), so that everything here works on
// it.
//
//   auto json = load_scenario_json("run.json");            // "" = the embedded default scenario
//   for (const auto& s : sets) if (auto e = apply_set(*json, s); !e) return e.error();
//   auto scenario = scenario_from_json(*json, "run.json");
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>
#include "sim/core/result.hpp"
#include "workloads/scenario.hpp"

namespace twin::work {

// The JSON of a scenario file (comments allowed) or of the embedded catalog entry of that name; "": the default
// scenario.
core::Result<nlohmann::json> load_scenario_json(const std::string& file_or_name);

// Fills a scenario; names of models and stacks are resolved, batch.seq = 0 becomes the model's. Consistency that needs
// no cluster is checked by validate_scenario.
core::Result<Scenario> scenario_from_json(const nlohmann::json& json, const std::string& file);
core::Result<Scenario> read_scenario(std::string_view text, const std::string& file);

// "parallel.tp=4": the value is read as JSON, else as a string. "model.layers=4" on a named model changes that field of
// it.
core::Result<void> apply_set(nlohmann::json& scenario, std::string_view assignment);

// The effective scenario; scenario_from_json gives the same scenario back.
nlohmann::json scenario_to_json(const Scenario& scenario);

nlohmann::json scenario_schema();   // JSON Schema, draft 2020-12
std::string scenario_field_docs();  // a Markdown table: field, type, default, range, meaning

// Sizes that must divide, sums, limits. world: devices of the cluster; 0 where it is not known (checks without
// replicas).
core::Result<void> validate_scenario(const Scenario& scenario, int world);

// Layers per chunk: even where it divides; else embedding and head count as a layer each and the rest is spread evenly.
// 1 <= chunks <= layers + 2.
std::vector<int> auto_layout(int layers, int chunks);

}  // namespace twin::work
