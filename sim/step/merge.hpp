// Merging a pass into one op, exactly. A pass (the forward or backward of one chunk and micro batch) may become one op when
// nothing outside it can be seen from inside: its tensor-parallel group is one class with private links, no data-parallel
// kernel of the stage is in flight (stage_program.cpp finds that window), messages use other links, the host is ahead.
// Its duration is found by executing the pass alone on that class; the jitter of a pass with tensor parallelism is spent at
// its exchanges, and the tail behind the last exchange is charged none, so nothing is carried over the border.
#pragma once
#include "sim/step/executor.hpp"
#include "sim/step/plan.hpp"
#include "sim/step/stage_program.hpp"
#include "sim/step/structure.hpp"

namespace twin::step {

// `system`: the quotient. Empty function where the stage's passes must stay whole.
MergeFn make_merge(const System& system, const Kinds& kinds, const Plan& plan, int stage, const ExecOptions& options,
                   std::function<CommCost(const CommTemplate&, std::int32_t geometry)> cost);

}  // namespace twin::step
