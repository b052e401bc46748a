// The text of `traintwin step --explain`: what the step spends its critical path on, which communication compute hides,
// what the simulator itself noted (StepResult::explain), and which constants were used, from where.
#pragma once
#include <string>
#include "sim/device/constants.hpp"
#include "sim/step/step.hpp"

namespace twin::report {

std::string explain_critical_path(const step::StepResult& result, std::size_t rows = 16);
std::string explain_exposure(const step::StepResult& result);
// Constants that were read since start_tracking().
std::string explain_constants(const device::Constants& constants);
// All of it under headings; parts that need a timeline are left out where none was recorded.
std::string explain(const step::StepResult& result, const device::Constants& constants);

}  // namespace twin::report
