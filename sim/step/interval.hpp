// The 90 % interval of a step time: half-widths of |log error| found on measured rows by cross-validation, by how far
// the scenario lies from them (validate/calibration.json, written by `traintwin validate --cross-validate`):
//   seen         the accelerator and the software stack are both among the calibrated rows   (leave-group-out
//   residuals) accelerator  only the accelerator is                                                     (leave-file-out
//   residuals) new          neither (leave-file-out, widened)
#pragma once
#include "sim/device/spec.hpp"
#include "sim/step/executor.hpp"
#include "sim/step/step.hpp"

namespace twin::step {

void fill_interval(const work::Scenario& scenario, const device::Spec& spec, const Timeline& timeline,
                   StepResult& result);

}  // namespace twin::step
