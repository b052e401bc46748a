// Row -> scenario. Every inference is one sentence in scenario.assumed; a row that we cannot express yet has a skip
// reason (a short phrase that is counted). Contradictions inside a row are skips too: one bad row never stops a
// validation. The measured step time is step_time_s, else block_step_time_s, else from tokens/s, else from the model
// TFLOP/s by the source's own convention.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>
#include "validate/row.hpp"
#include "workloads/scenario.hpp"

namespace twin::validate {

using StackFinder = std::function<core::Result<work::Stack>(const std::string& name)>;

struct Normalised {
  std::string id, file, group;
  std::optional<work::Scenario> scenario;
  std::string skipped;  // reason, when there is no scenario
  std::optional<double> measured_s;
  std::string measured_from;  // "step_time_s", "tokens_per_s", ...
  std::optional<double> measured_peak_gib;
  std::string accelerator;  // accelerator_key()
  int world = 0;
  double noise = 0.03;  // relative spread of a repeated measurement
  bool apart = false;   // reported by file, outside the totals (vtrain_single_node)
};

Normalised normalise(const Row& row, const StackFinder& stacks);

// Published memory budgets (kind memory and memory_relative) become several cases each: what to simulate and which
// category to compare.
struct MemoryCase {
  std::string id, file, metric;  // "params_optimizer", "activations", "activations_percent"
  std::string unit;              // "GiB" or "%"
  double measured = 0;
  std::optional<work::Scenario> scenario;  // baseline too for activations_percent
  std::optional<work::Scenario> baseline;
  std::string skipped;
};
// `rows`: the whole file, as relative rows name a model that another row describes.
std::vector<MemoryCase> memory_cases(const Row& row, const std::vector<Row>& rows, const StackFinder& stacks);

}  // namespace twin::validate
