// Where the numbers came from: the constants that a step used, and the kernels of one layer with their times.
#pragma once
#include <string>
#include <utility>
#include <vector>
#include "sim/device/constants.hpp"
#include "sim/step/stage_program.hpp"

namespace twin::step {

std::vector<std::pair<std::string, std::string>> explain_constants(const device::Constants& constants,
                                                                   const work::Scenario& scenario,
                                                                   const device::Spec& spec,
                                                                   const ProgramContext& context);

}  // namespace twin::step
