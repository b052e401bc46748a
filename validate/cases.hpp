// A case: one measured step with its scenario, prepared once and run under a set of constants as often as wanted. How a
// scenario is simulated is a function that is passed in, so that fit and bookkeeping are tested without the simulator.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>
#include "sim/device/constants.hpp"
#include "sim/step/step.hpp"
#include "validate/normalise.hpp"

namespace twin::validate {

using Run = std::function<core::Result<step::StepResult>(const device::Constants&)>;
using Prepare = std::function<core::Result<Run>(const work::Scenario&)>;
Prepare step_simulator();     // prepare_step, run_step
StackFinder stack_catalog();  // work::find_stack

struct Case {
  Normalised row;
  std::shared_ptr<const Run> run;             // null: skipped; equal scenarios share one
  std::string skipped;                        // reason: from the normaliser, or the simulator's refusal
  std::map<std::string, std::string> strata;  // accelerator, size, strategy, scale, precision
  std::vector<std::string> special;           // "m v / p < 4", "step < 0.3 s", ...
  std::string device;                         // device::accelerator_key of the node's accelerator, for the interval
};

// Step rows only; order as the rows.
std::vector<Case> make_cases(const std::vector<Row>& rows, const Prepare& prepare, const StackFinder& stacks,
                             int threads);

const std::vector<std::string>& special_strata();
void fill_strata(Case& c);
double model_flops(const work::Scenario& s);  // of one step, causal attention, no recompute

}  // namespace twin::validate
