// Merging a pass into one op, exactly. A pass (the forward or backward of one chunk and micro batch) may become one op
// when nothing outside it can be seen from inside: its tensor-parallel group is one class with private links, no
// data-parallel kernel of the stage is in flight (stage_program.cpp finds that window), messages use other links, the
// host is ahead. Its duration is found by executing the pass alone on that class. The lateness that its exchanges leave
// behind is carried over; the tail behind the last exchange is charged none, so that the next pass's first exchange
// starts from zero both ways. The host: an op inside the pass could not start before it was issued; the pass may start
// when its first op is issued and the host leads by as much as the pass alone would outrun it (end = max(start, issue +
// lead) + duration, as for the chain).
#pragma once
#include "sim/step/executor.hpp"
#include "sim/step/plan.hpp"
#include "sim/step/stage_program.hpp"
#include "sim/step/structure.hpp"

namespace twin::step {

// messages_apart: messages that share links with the exchanges forbid merging (exact); else their contention is left
// out. `system`: the quotient. Empty function where the stage's passes must stay whole.
MergeFn make_merge(const System& system, const Kinds& kinds, const Plan& plan, int stage, bool messages_apart,
                   const ExecOptions& options,
                   std::function<CommCost(const CommTemplate&, std::int32_t geometry)> cost);

}  // namespace twin::step
