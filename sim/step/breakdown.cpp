#include "sim/step/breakdown.hpp"
#include <algorithm>

namespace twin::step {
namespace {

struct View {
  const Program& program;
  const std::int64_t* posted;
  const std::int64_t* start;
  const std::int64_t* finish;
  bool p2p(std::size_t op, const System& s) const {
    return program.ops[op].type == OpType::kComm &&
           s.kinds[program.comms[static_cast<std::size_t>(program.ops[op].body)].kind].p2p;
  }
};

double& slot(Breakdown& b, Category c) {
  switch (c) {
    case Category::kCompute:
      return b.compute;
    case Category::kOptimizer:
      return b.optimizer;
    case Category::kTp:
      return b.exposed_tp;
    case Category::kCp:
      return b.exposed_cp;
    case Category::kEp:
      return b.exposed_ep;
    case Category::kPp:
      return b.exposed_pp;
    case Category::kDp:
      return b.exposed_dp;
    case Category::kData:
      return b.data;
    default:
      return b.other;
  }
}

// The gap [from, to) before an op, charged to the communication among its predecessors that ended last, then to that
// communication's own predecessors for the time before it was posted.
void charge_gap(const View& v, const System& s, const std::vector<std::vector<std::int32_t>>& before, std::size_t op,
                std::int64_t from, std::int64_t to, Breakdown& b) {
  const auto seconds = [](std::int64_t ns) { return static_cast<double>(ns) * 1e-9; };
  while (from < to) {
    std::int32_t blocker = -1;
    for (const auto p : before[op]) {
      const auto i = static_cast<std::size_t>(p);
      if (v.program.ops[i].type == OpType::kComm && v.finish[i] > from &&
          (blocker < 0 || v.finish[i] > v.finish[static_cast<std::size_t>(blocker)]))
        blocker = p;
    }
    if (blocker < 0) break;
    const auto i = static_cast<std::size_t>(blocker);
    const std::int64_t end = std::min(to, v.finish[i]);
    b.other += seconds(to - end);
    to = end;
    const std::int64_t moving = std::clamp(v.start[i], from, to);
    slot(b, v.program.ops[i].category) += seconds(to - moving);
    const std::int64_t waiting = std::clamp(v.posted[i], from, moving);
    (v.p2p(i, s) ? b.bubble : b.straggler) += seconds(moving - waiting);
    to = waiting;
    op = i;
  }
  b.other += seconds(std::max<std::int64_t>(0, to - from));
}

}  // namespace

int critical_class(const Timeline& t) {
  return static_cast<int>(std::max_element(t.rank_end.begin(), t.rank_end.end()) - t.rank_end.begin());
}

Breakdown break_down(const System& system, const Timeline& t, int rank_class) {
  const auto r = static_cast<std::size_t>(rank_class);
  const Program& program = (*system.programs)[static_cast<std::size_t>(system.program[r])];
  const auto offset = static_cast<std::size_t>(t.op_offset[r]);
  const View v{program, t.posted.data() + offset, t.start.data() + offset, t.finish.data() + offset};
  std::vector<std::vector<std::int32_t>> before(program.ops.size());
  for (std::size_t i = 0; i < program.ops.size(); ++i)
    for (auto k = program.successor_start[i]; k < program.successor_start[i + 1]; ++k)
      before[static_cast<std::size_t>(program.successors[static_cast<std::size_t>(k)])].push_back(
          static_cast<std::int32_t>(i));
  Breakdown b;
  std::int64_t now = 0;
  std::size_t last_comm = program.ops.size();
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    if (op.stream != Stream::kCompute) {
      if (last_comm == program.ops.size() || v.finish[i] > v.finish[last_comm]) last_comm = i;
      continue;
    }
    charge_gap(v, system, before, i, now, v.start[i], b);
    slot(b, op.category) += static_cast<double>(v.finish[i] - std::max(now, v.start[i])) * 1e-9;
    now = std::max(now, v.finish[i]);
  }
  // Communication after the last compute op.
  if (last_comm < program.ops.size() && v.finish[last_comm] > now) {
    before.push_back({static_cast<std::int32_t>(last_comm)});
    charge_gap(v, system, before, before.size() - 1, now, v.finish[last_comm], b);
  }
  return b;
}

}  // namespace twin::step
