// The JSON object of `traintwin step --json` (fields: DESIGN.md, Outputs). Order of fields is fixed; numbers that are
// not finite become null. schema_version counts incompatible changes of any field.
#pragma once
#include <nlohmann/json.hpp>
#include "sim/step/step.hpp"

namespace twin::report {

inline constexpr int kSchemaVersion = 1;

struct RunCost {  // of the simulating process
  double wall_s = 0;
  std::int64_t peak_rss_bytes = 0;
};

nlohmann::ordered_json plan_json(const step::EffectivePlan& plan);
nlohmann::ordered_json step_json(const step::StepResult& result, const RunCost& cost);

}  // namespace twin::report
