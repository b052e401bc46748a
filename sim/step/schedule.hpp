// Pipeline schedules: in which order a stage runs forward and backward passes of (virtual stage, micro batch).
// A schedule is an executed order, not a formula: bubbles come out of the simulation.
#pragma once
#include <cstdint>
#include <string>
#include <vector>
#include "workloads/scenario.hpp"

namespace twin::step {

struct Pass {
  bool forward = true;
  int virtual_stage = 0;  // chunk = stage + pp * virtual_stage
  std::int32_t micro_batch = 0;
};

struct ScheduleShape {
  int pp = 1, vpp = 1;
  std::int64_t micro_batches = 1;
};

// Passes of one stage in execution order; every (virtual stage, micro batch) appears once forward and once backward.
std::vector<Pass> make_schedule(work::Schedule schedule, const ScheduleShape& shape, int stage);

// Largest number of (virtual stage, micro batch) activations alive at once on the stage, and per virtual stage at that
// moment.
struct InFlight {
  std::int64_t total = 0;
  std::vector<std::int64_t> per_virtual_stage;
};
// `weight`: relative size of one micro batch's activations of each virtual stage; the peak is of the weighted sum.
InFlight peak_in_flight(const std::vector<Pass>& passes, const std::vector<double>& weight);

}  // namespace twin::step
