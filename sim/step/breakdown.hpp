// Where the time of the critical class went. The critical class is the one whose last op ends last (lowest id on ties).
// At each instant the first that holds: compute or optimizer runs; else the next compute op waits: for a collective
// that moves (exposed_*), for late peers of a collective (straggler), for a message not yet sent (bubble); else data,
// other. The parts sum to the step time by construction.
#pragma once
#include "sim/step/executor.hpp"
#include "sim/step/step.hpp"

namespace twin::step {

int critical_class(const Timeline& timeline);
Breakdown break_down(const System& system, const Timeline& timeline, int rank_class);

}  // namespace twin::step
