#include "sim/step/executor.hpp"
#include <algorithm>
#include <limits>
#include <utility>
#include "sim/core/check.hpp"
#include "sim/step/executor_engine.hpp"

namespace twin::step {
namespace {

core::FluidStructure fluid_structure(const System& s) {
  core::FluidStructure f;
  f.capacity = s.capacity;
  f.offset.assign(s.load_start.begin(), s.load_start.end());
  f.link = s.load_link;
  f.weight = s.load_weight;
  f.phi.reserve(s.groups());
  for (const auto kind : s.group_kind) f.phi.push_back(s.kinds[static_cast<std::size_t>(kind)].phi);
  return f;
}

}  // namespace

Engine::Engine(const System& system, const CommCostFn& cost, const ExecOptions& options)
    : s_(system),
      cost_fn_(cost),
      options_(options),
      jitter_(options.jitter && !options.sample),
      persistent_sigma_q20_(static_cast<std::int64_t>(options.persistent_sigma * 1048576.0 + 0.5)),
      tables_(system),
      fluid_(fluid_structure(system)) {
  set_up();
  set_up_groups();
}

void Engine::set_up() {
  ranks_.resize(s_.ranks());
  std::int64_t ops = 0, syncs = 0;
  timeline_.op_offset.reserve(ranks_.size() + 1);
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    auto& x = ranks_[r];
    x.table = &tables_.programs[static_cast<std::size_t>(s_.program[r])];
    x.first_op = ops;
    x.first_sync = syncs;
    x.unfinished = static_cast<std::int32_t>(x.table->ops.size());
    timeline_.op_offset.push_back(ops);
    ops += x.unfinished;
    syncs += x.table->syncs;
  }
  timeline_.op_offset.push_back(ops);
  unfinished_ = ops;
  open_.resize(static_cast<std::size_t>(ops));
  for (const auto& x : ranks_)
    std::copy(x.table->program->in_degree.begin(), x.table->program->in_degree.end(), open_.begin() + x.first_op);
  sync_time_.assign(static_cast<std::size_t>(syncs), 0);
  if (!options_.record) return;
  for (auto* column : {&timeline_.posted, &timeline_.start, &timeline_.finish})
    column->assign(static_cast<std::size_t>(ops), -1);
}

void Engine::set_up_groups() {
  const auto memberships = static_cast<std::size_t>(s_.memberships);
  slot_of_.assign(s_.ranks() * memberships, -1);
  seen_.resize(slot_of_.size());
  first_post_.assign(s_.slots.size(), -1);
  link_bytes_.assign(s_.links(), 0);
  groups_.resize(s_.groups());
  std::vector<std::int32_t> users(s_.links(), 0);
  for (const auto l : s_.load_link) ++users[static_cast<std::size_t>(l)];
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    groups_[g].apart = std::all_of(s_.load_link.begin() + s_.load_start[g], s_.load_link.begin() + s_.load_start[g + 1],
                                   [&](std::int32_t l) { return users[static_cast<std::size_t>(l)] == 1; });
    const auto base = s_.membership_of_kind[static_cast<std::size_t>(s_.group_kind[g])];
    for (auto i = s_.slot_start[g]; i < s_.slot_start[g + 1]; ++i) {
      const auto& slot = s_.slots[static_cast<std::size_t>(i)];
      groups_[g].members += slot.count;
      const auto at = static_cast<std::size_t>(slot.rank) * memberships + static_cast<std::size_t>(base + slot.role);
      if (s_.group_of[at] == static_cast<std::int32_t>(g)) slot_of_[at] = static_cast<std::int32_t>(i);
    }
  }
}

void Engine::handle(const EndQueue::Event& e) {
  const auto id = e.id();
  switch (static_cast<EventType>(e.type())) {
    case EventType::kComputeDone: {
      auto& x = rank(id);
      if (!ends_now(x.done, EventType::kComputeDone, id, x.queued)) return;
      op_finished(id, std::exchange(x.compute, -1));
      break;
    }
    case EventType::kOtherDone:
      op_finished(id, e.op);
      break;
    case EventType::kIssue:
      launch(id, e.op);
      break;
    case EventType::kStart:
      bytes_may_move(id);
      break;
    case EventType::kFlowDone:
      if (!ends_now(fluid_.finish(id).count(), EventType::kFlowDone, id, group(id).queued)) return;
      fluid_.end(id);
      finish_instance(id);
      break;
    case EventType::kApartDone:
      finish_instance(id);
      break;
  }
  ++timeline_.stats.events;
  run_finished();
}

void Engine::drain() {
  while (!error_) {
    while (queue_.next_time() == now_) handle(queue_.pop());
    run_finished();
    retime();
    if (queue_.next_time() == now_) continue;
    if (new_posts_.empty() && complete_.empty()) return;
    settle();
  }
}

void Engine::solve() {
  if (!fluid_.dirty()) return;
  for (const auto g : fluid_.solve(core::Time::ns(now_)))  // a stalled one never ends: not queued
    push_end(fluid_.finish(g).count(), EventType::kFlowDone, g, group(g).queued);
  if (options_.check_max_min) timeline_.stats.max_min_violations += fluid_.verify();
}

core::Result<Timeline> Engine::run() {
  for (std::size_t r = 0; r < ranks_.size(); ++r)
    for (const auto op : ranks_[r].table->sources) op_ready(static_cast<std::int32_t>(r), op);
  while (true) {
    drain();
    if (error_) return *error_;
    solve();
    if (queue_.empty()) break;
    now_ = queue_.next_time();
  }
  if (unfinished_ > 0) return deadlock();
  for (const auto& x : ranks_) {
    timeline_.rank_end.push_back(x.end);
    timeline_.end = std::max(timeline_.end, core::Time::ns(x.end));
    const auto spread = (static_cast<core::Int128>(x.spread) * x.spread) >> 40;
    timeline_.rank_white.push_back(x.variance);
    timeline_.rank_spread.push_back(x.spread);
    timeline_.rank_variance.push_back(static_cast<std::int64_t>(
        std::min<core::Int128>(x.variance + spread, std::numeric_limits<std::int64_t>::max())));
  }
  for (const auto bytes : link_bytes_) timeline_.link_busy_bytes.push_back(static_cast<std::int64_t>(bytes >> 20));
  timeline_.stats.solves = fluid_.solves();
  timeline_.stats.activities_solved = fluid_.touched();
  timeline_.stats.ops = timeline_.op_offset.back();
  return std::move(timeline_);
}

core::Result<Timeline> execute(const System& system, const CommCostFn& cost, const ExecOptions& options) {
  TWIN_CHECK(system.programs != nullptr);
  TWIN_CHECK(system.ranks() < EndQueue::kMostIds && system.groups() < EndQueue::kMostIds);
  const auto one = [](std::int64_t n) { return n == 1; };
  if (options.sample && !std::all_of(system.population.begin(), system.population.end(), one))
    return core::Error{core::ErrorCode::kUsage, "jitter",
                       "sampled jitter needs every rank on its own, found classes of ranks", "turn the fold off"};
  return Engine(system, cost, options).run();
}

}  // namespace twin::step
