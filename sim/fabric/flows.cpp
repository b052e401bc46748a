// Event loop of the expanded collective: ends of messages and deliveries; all of one time stamp are handled, then rates
// are solved once. Ends are kept in buckets by time (symmetric lanes end together), deliveries in one queue per latency
// (each is filled in order of time).
#include "sim/fabric/flows.hpp"
#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include "sim/core/check.hpp"
#include "sim/core/fluid.hpp"
#include "sim/fabric/lanes.hpp"

namespace twin::fabric {
namespace {

using core::Time;

class Runner {
 public:
  Runner(const View& view, LaneGraph graph, const FlowOptions& options)
      : view_(view), graph_(std::move(graph)), options_(options), state_(graph_.lanes.size()) {}

  core::Result<FlowRun> run() {
    if (auto e = build(); !e) return e.error();
    core::Fluid fluid(structure_);
    fluid_ = &fluid;
    for (std::size_t i = 0; i < graph_.lanes.size(); ++i) try_start(static_cast<std::int32_t>(i));
    while (true) {
      if (fluid.dirty()) solve();
      const Time next = earliest();
      if (next.is_never()) break;
      now_ = next;
      handle_deliveries();
      handle_ends();
    }
    for (std::size_t i = 0; i < state_.size(); ++i)
      if (state_[i].delivered < graph_.lanes[i].messages) return stalled(i);
    result_.time = options_.base + now_;
    result_.chunk_bytes = graph_.chunk_bytes;
    result_.depth = graph_.depth;
    return result_;
  }

 private:
  struct State {
    std::int32_t sent = 0, delivered = 0, feeders = 0;
    std::int32_t waiting = 0;  // feeders that have not delivered enough for message `sent`
    bool busy = false;
    std::uint8_t latency = 0;  // index of its queue
    std::int64_t bytes = 0;
  };
  struct End {
    std::int32_t lane;
    std::uint32_t version;
  };

  core::Result<void> build() {
    std::vector<LinkLoad> route;
    std::vector<std::pair<std::int32_t, std::int64_t>> uses;
    for (int l = 0; l < view_.links(); ++l) structure_.capacity.push_back(view_.capacity(core::LinkId{l}));
    for (std::size_t i = 0; i < graph_.lanes.size(); ++i) {
      const Lane& lane = graph_.lanes[i];
      route.clear();
      const bool ok = lane.via.valid() ? view_.route(lane.from, lane.via, kUnit, route) &&
                                             view_.route(lane.via, lane.to, kUnit, route)
                                       : view_.route(lane.from, lane.to, kUnit, route);
      if (!ok)
        return core::Error{
            core::ErrorCode::kInconsistent, "fabric",
            "no path from device " + std::to_string(lane.from.value) + " to device " + std::to_string(lane.to.value),
            "a link on every path is down"};
      uses.clear();
      for (const LinkLoad& l : route) uses.emplace_back(l.link.value, l.units);
      structure_.add(1, uses);
      const bool inside = view_.scaleup_domain_of(lane.from) == view_.scaleup_domain_of(lane.to);
      state_[i].latency = inside ? 0 : 1;
      const double share = inside ? options_.efficiency_inside : options_.efficiency_between;
      state_[i].bytes =
          std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(lane.bytes) / share + 0.5));
    }
    for (const std::int32_t fed : graph_.feeds) ++state_[static_cast<std::size_t>(fed)].feeders;
    for (std::size_t i = 0; i < state_.size(); ++i)
      if (graph_.lanes[i].lead > 0) state_[i].waiting = state_[i].feeders;
    for (std::size_t i = 0; i < state_.size(); ++i) TWIN_CHECK(graph_.lanes[i].lead == 0 || state_[i].feeders > 0);
    return {};
  }

  void try_start(std::int32_t lane) {
    State& s = state_[static_cast<std::size_t>(lane)];
    if (s.busy || s.waiting > 0 || s.sent >= graph_.lanes[static_cast<std::size_t>(lane)].messages) return;
    s.busy = true;
    fluid_->start(lane, now_, s.bytes, options_.rate_cap > 0 ? options_.rate_cap : core::kUncapped);
  }

  // Message number sent - 1 has ended: the next one waits for feeders that have delivered fewer than sent + lead.
  void end(std::int32_t lane) {
    State& s = state_[static_cast<std::size_t>(lane)];
    fluid_->end(lane);
    s.busy = false;
    ++s.sent;
    ++result_.messages;
    count_waiting(lane);
    const Time latency = s.latency == 0 ? options_.latency_inside : options_.latency_between;
    if (latency == Time::zero())
      deliver(lane);
    else
      queue_[s.latency].emplace_back(now_ + latency, lane);
    try_start(lane);
  }

  void count_waiting(std::int32_t lane) {
    State& s = state_[static_cast<std::size_t>(lane)];
    s.waiting = 0;
    if (s.feeders == 0) return;
    const std::int32_t need = s.sent + graph_.lanes[static_cast<std::size_t>(lane)].lead;
    for (std::int32_t k = back_begin_[static_cast<std::size_t>(lane)];
         k < back_begin_[static_cast<std::size_t>(lane) + 1]; ++k)
      s.waiting += state_[static_cast<std::size_t>(back_[static_cast<std::size_t>(k)])].delivered < need;
  }

  void deliver(std::int32_t lane) {
    State& s = state_[static_cast<std::size_t>(lane)];
    ++s.delivered;
    for (std::int32_t k = graph_.feed_begin[static_cast<std::size_t>(lane)];
         k < graph_.feed_begin[static_cast<std::size_t>(lane) + 1]; ++k) {
      const std::int32_t fed = graph_.feeds[static_cast<std::size_t>(k)];
      State& f = state_[static_cast<std::size_t>(fed)];
      if (s.delivered == f.sent + graph_.lanes[static_cast<std::size_t>(fed)].lead && --f.waiting == 0) try_start(fed);
    }
  }

  void solve() {
    ++result_.solves;
    for (const std::int32_t lane : fluid_->solve(now_)) {
      const Time at = fluid_->finish(lane);
      if (!at.is_never()) ends_[at].push_back({lane, fluid_->version(lane)});
    }
  }

  Time earliest() const {
    Time t = ends_.empty() ? Time::never() : ends_.begin()->first;
    for (const auto& q : queue_)
      if (!q.empty()) t = std::min(t, q.front().first);
    return t;
  }
  void handle_deliveries() {
    for (auto& q : queue_)
      while (!q.empty() && q.front().first == now_) {
        const std::int32_t lane = q.front().second;
        q.pop_front();
        deliver(lane);
      }
  }
  void handle_ends() {
    if (ends_.empty() || ends_.begin()->first != now_) return;
    bucket_.swap(ends_.begin()->second);
    ends_.erase(ends_.begin());
    for (const End& e : bucket_)
      if (fluid_->active(e.lane) && fluid_->version(e.lane) == e.version) end(e.lane);
    bucket_.clear();
  }

  core::Error stalled(std::size_t lane) const {
    const Lane& l = graph_.lanes[lane];
    return {core::ErrorCode::kDeadlock, "--network flows",
            "message " + std::to_string(state_[lane].delivered) + " from device " + std::to_string(l.from.value) +
                " to device " + std::to_string(l.to.value) + " never ends",
            "a link on its path is down"};
  }

 public:
  void index_feeders() {
    const std::size_t n = graph_.lanes.size();
    back_begin_.assign(n + 1, 0);
    for (const std::int32_t f : graph_.feeds) ++back_begin_[static_cast<std::size_t>(f) + 1];
    for (std::size_t i = 0; i < n; ++i) back_begin_[i + 1] += back_begin_[i];
    back_.resize(graph_.feeds.size());
    auto at = back_begin_;
    for (std::size_t i = 0; i < n; ++i)
      for (std::int32_t k = graph_.feed_begin[i]; k < graph_.feed_begin[i + 1]; ++k)
        back_[static_cast<std::size_t>(at[static_cast<std::size_t>(graph_.feeds[static_cast<std::size_t>(k)])]++)] =
            static_cast<std::int32_t>(i);
  }

 private:
  const View& view_;
  LaneGraph graph_;
  FlowOptions options_;
  std::vector<State> state_;
  std::vector<std::int32_t> back_begin_, back_;  // lanes that feed lane i
  core::FluidStructure structure_;
  core::Fluid* fluid_ = nullptr;
  Time now_ = Time::zero();
  std::map<Time, std::vector<End>> ends_;
  std::vector<End> bucket_;
  std::array<std::deque<std::pair<Time, std::int32_t>>, 2> queue_;
  FlowRun result_;
};

}  // namespace

core::Result<FlowRun> run_flows(const View& view, CollectiveOp op, std::int64_t bytes,
                                std::span<const core::DeviceId> members, const Choice& choice,
                                const FlowOptions& options) {
  auto graph = expand(view, op, bytes, members, choice, options);
  if (!graph) return graph.error();
  if (graph->lanes.empty() || bytes <= 0) return FlowRun{};
  Runner runner(view, *std::move(graph), options);
  runner.index_feeders();
  return runner.run();
}

}  // namespace twin::fabric
