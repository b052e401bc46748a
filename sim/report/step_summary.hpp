// What `traintwin step` prints for people: one screen with the step time, where it goes, and whether it fits in memory.
#pragma once
#include <string>
#include "sim/step/step.hpp"
#include "workloads/scenario.hpp"

namespace twin::report {

std::string step_summary(const step::StepResult& result, const work::Scenario& scenario);

}  // namespace twin::report
