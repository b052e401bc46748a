// Ops of a rank: readiness, host issue, compute ops and their re-timing.
#include <algorithm>
#include "sim/step/executor_engine.hpp"

namespace twin::step {
namespace {

constexpr std::int64_t kFull = std::int64_t{1} << 20;  // nominal speed

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

void Engine::op_ready(std::int32_t r, std::int32_t op) {
  const auto& row = table_of(r, op);
  record(timeline_.posted, r, op, now_);
  const auto base = row.waits < 0 ? 0 : sync_time_[static_cast<std::size_t>(rank(r).first_sync + row.waits)];
  if (base + row.host_issue_ns <= now_) {
    launch(r, op);
    return;
  }
  if (row.type == OpType::kCompute)
    timeline_.stats.merged_held += rank(r).table->program->bundles[static_cast<std::size_t>(row.body)].merged;
  push(base + row.host_issue_ns, EventType::kIssue, r, op);
}

void Engine::launch(std::int32_t r, std::int32_t op) {
  const auto& row = table_of(r, op);
  if (row.type == OpType::kComm)
    post_comm(r, op, row);
  else
    launch_compute(r, op, row);
}

// On this rank at full speed: work rounded up to a nanosecond, part of it that the rank's speed spread applies to,
// variance.
SampledOp Engine::scaled(std::int32_t r, std::int32_t op, const Bundle& bundle) const {
  const core::Int128 speed = s_.speed[static_cast<std::size_t>(r)];
  const auto spread_work = bundle.spread_work_ns < 0 ? bundle.work_ns : bundle.spread_work_ns;
  return {.rank = r,
          .op = op,
          .work_ns = static_cast<std::int64_t>((speed * bundle.work_ns + kFull - 1) >> 20),
          .spread_work_ns = static_cast<std::int64_t>((speed * spread_work) >> 20),
          .variance_ns2 = static_cast<std::int64_t>(
              std::min<core::Int128>((speed * speed * bundle.variance_ns2) >> 40, kMostVariance))};
}

void Engine::launch_compute(std::int32_t r, std::int32_t op, const OpTable& row) {
  record(timeline_.start, r, op, now_);
  auto& x = rank(r);
  const auto& bundle = x.table->program->bundles[static_cast<std::size_t>(row.body)];
  const auto nominal = scaled(r, op, bundle);
  const auto work = options_.sample ? sampled_work(options_, nominal) : nominal.work_ns;
  if (work <= 0) {
    op_finished(r, op);
  } else if (row.stream != Stream::kCompute) {
    push(now_ + work, EventType::kOtherDone, r, op);
  } else {
    x.compute = op;
    x.remaining = work << 20;
    x.rate = 0;
    x.last = now_;
    mark_dirty(r);
  }
}

void Engine::mark_dirty(std::int32_t r) {
  if (rank(r).dirty) return;
  rank(r).dirty = true;
  dirty_.push_back(r);
}

void Engine::retime() {
  for (const auto r : dirty_) {
    auto& x = rank(r);
    x.dirty = false;
    if (x.compute < 0) continue;
    const auto& bundle = x.table->program->bundles[static_cast<std::size_t>(table_of(r, x.compute).body)];
    const auto rate = bundle.rate[std::min(x.hold, kMaxBundleLevels - 1)];
    if (rate == x.rate) continue;
    x.remaining -= x.rate * (now_ - x.last);
    x.last = now_;
    x.rate = rate;
    x.done = now_ + ceil_div(std::max<std::int64_t>(x.remaining, 0), rate);
    push_end(x.done, EventType::kComputeDone, r, x.queued);
  }
  dirty_.clear();
}

// Only queues: run_finished() follows the successors, so that a chain of empty ops does not recurse.
void Engine::op_finished(std::int32_t r, std::int32_t op) {
  record(timeline_.finish, r, op, now_);
  auto& x = rank(r);
  const auto& row = table_of(r, op);
  x.end = now_;
  --x.unfinished;
  --unfinished_;
  if (row.restarts >= 0) sync_time_[static_cast<std::size_t>(x.first_sync + row.restarts)] = now_;
  if (row.type == OpType::kCompute && jitter_) {
    const auto bundle_of = [&x](const OpTable& o) -> const Bundle& {
      return x.table->program->bundles[static_cast<std::size_t>(o.body)];
    };
    const auto late = scaled(r, op, x.table->program->bundles[static_cast<std::size_t>(row.body)]);
    x.variance = std::min(x.variance + late.variance_ns2, kMostVariance);
    x.spread += persistent_sigma_q20_ * late.spread_work_ns + bundle_of(row).spread_q20;
    if (const auto kind = bundle_of(row).joins_kind; kind >= 0)
      seen_[static_cast<std::size_t>(std::int64_t{r} * s_.memberships +
                                     s_.membership_of_kind[static_cast<std::size_t>(kind)])] = {x.variance, x.spread};
  }
  finished_.push_back({r, op});
}

void Engine::run_finished() {
  while (!finished_.empty()) {
    const auto [r, op] = finished_.back();
    finished_.pop_back();
    const auto& program = *rank(r).table->program;
    const auto* successors = program.successors.data();
    auto* open = open_.data() + rank(r).first_op;
    const auto at = static_cast<std::size_t>(op);
    for (auto i = program.successor_start[at]; i < program.successor_start[at + 1]; ++i)
      if (--open[successors[i]] == 0) op_ready(r, successors[i]);
  }
}

}  // namespace twin::step
