// Our side of the SimGrid module: finds and loads it (beside the executable, or one folder up), and runs problems and
// expanded collectives through its call-backs.
#include <dlfcn.h>
#include <algorithm>
#include <filesystem>
#include "sim/fabric/lanes.hpp"
#include "sim/fabric/referee.hpp"
#include "sim/fabric/simgrid/api.hpp"
#include "sim/fabric/view.hpp"

namespace twin::fabric {
namespace {

using core::Time;

TwinSimgridRun load_module() {
  static const TwinSimgridRun run = []() -> TwinSimgridRun {
    std::error_code ignored;
    const auto here = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
    for (const auto& folder : {here, here.parent_path()}) {
      void* module = dlopen((folder / "libtwin_simgrid.so").c_str(), RTLD_NOW | RTLD_LOCAL);
      if (module) return reinterpret_cast<TwinSimgridRun>(dlsym(module, TWIN_SIMGRID_SYMBOL));
    }
    return nullptr;
  }();
  return run;
}

core::Error no_module() {
  return {core::ErrorCode::kUnsupported, "--network", "the SimGrid module libtwin_simgrid.so is not there",
          "it is built where pkg-config finds simgrid (apt install libsimgrid-dev)"};
}

// What both clients share: capacities in bytes/s, the calls, and the run.
class Client {
 public:
  virtual ~Client() = default;
  virtual void ready(double now) = 0;
  virtual void ended(int flow, double now, double remaining, bool failed) = 0;
  virtual void timer(int token, double now) = 0;
  core::Result<void> run(const std::vector<std::int64_t>& capacity) {
    const TwinSimgridRun module = load_module();
    if (!module) return no_module();
    std::vector<double> rates;
    for (const std::int64_t c : capacity) rates.push_back(from_rate(c));
    const TwinSimgridClient client = {
        this, [](void* u, double now) { static_cast<Client*>(u)->ready(now); },
        [](void* u, int f, double now, double left, int failed) {
          static_cast<Client*>(u)->ended(f, now, left, failed != 0);
        },
        [](void* u, int token, double now) { static_cast<Client*>(u)->timer(token, now); }};
    if (const char* message = module(rates.data(), static_cast<int>(rates.size()), &client, &calls_))
      return core::Error{core::ErrorCode::kInconsistent, "--network simgrid", message, ""};
    return {};
  }

 protected:
  void start(int flow, const std::vector<std::int32_t>& links, double bytes) {
    calls_.start(calls_.engine, flow, links.data(), static_cast<int>(links.size()), bytes);
  }
  void set_timer(double at, int token) { calls_.timer(calls_.engine, at, token); }
  void set_capacity(int link, std::int64_t c) { calls_.set_capacity(calls_.engine, link, from_rate(c)); }

 private:
  TwinSimgridCalls calls_{};
};

// A cap as one more link that only this flow crosses.
std::vector<std::int32_t> capped(std::vector<std::int32_t> links, std::int64_t cap,
                                 std::vector<std::int64_t>& capacity) {
  if (cap <= 0) return links;
  links.push_back(static_cast<std::int32_t>(capacity.size()));
  capacity.push_back(cap);
  return links;
}

// Timer tokens: flows first, then changes.
class ProblemClient : public Client {
 public:
  explicit ProblemClient(const FlowProblem& p) : p_(p), capacity_(p.capacity), ends_(p.flows.size()) {
    for (const auto& f : p.flows) routes_.push_back(capped(f.links, f.cap, capacity_));
  }
  const std::vector<std::int64_t>& capacity() const { return capacity_; }
  void ready(double) override {
    for (std::size_t i = 0; i < p_.changes.size(); ++i)
      set_timer(p_.changes[i].time.seconds(), static_cast<int>(p_.flows.size() + i));
    for (std::size_t i = 0; i < p_.flows.size(); ++i)
      if (p_.flows[i].after < 0) set_timer(p_.flows[i].start.seconds(), static_cast<int>(i));
  }
  void ended(int flow, double now, double remaining, bool failed) override {
    ends_[static_cast<std::size_t>(flow)] = {now, failed, remaining};
    if (failed) return;
    for (std::size_t i = 0; i < p_.flows.size(); ++i) {
      if (p_.flows[i].after != flow) continue;
      if (p_.flows[i].start == Time::zero())
        begin(static_cast<int>(i));
      else
        set_timer(now + p_.flows[i].start.seconds(), static_cast<int>(i));
    }
  }
  void timer(int token, double) override {
    const auto i = static_cast<std::size_t>(token);
    if (i < p_.flows.size()) return begin(token);
    const auto& c = p_.changes[i - p_.flows.size()];
    set_capacity(c.link, c.capacity);
  }
  std::vector<FlowEnd> take() { return std::move(ends_); }

 private:
  void begin(int flow) {
    const auto& f = p_.flows[static_cast<std::size_t>(flow)];
    start(flow, routes_[static_cast<std::size_t>(flow)], static_cast<double>(f.bytes));
  }
  const FlowProblem& p_;
  std::vector<std::int64_t> capacity_;
  std::vector<std::vector<std::int32_t>> routes_;
  std::vector<FlowEnd> ends_;
};

// The lanes of an expanded collective; a flow is a lane's current message, a timer its delivery.
class LaneClient : public Client {
 public:
  LaneClient(const LaneGraph& g, std::vector<std::vector<std::int32_t>> routes, std::vector<char> inside,
             const FlowOptions& o)
      : g_(g),
        routes_(std::move(routes)),
        inside_(std::move(inside)),
        o_(o),
        state_(g.lanes.size()),
        feeders_(g.lanes.size()) {
    for (std::size_t i = 0; i < g.lanes.size(); ++i)
      for (std::int32_t k = g.feed_begin[i]; k < g.feed_begin[i + 1]; ++k)
        feeders_[static_cast<std::size_t>(g.feeds[static_cast<std::size_t>(k)])].push_back(i);
  }
  void ready(double) override {
    for (std::size_t i = 0; i < state_.size(); ++i) try_start(i);
  }
  void ended(int flow, double now, double, bool failed) override {
    const auto i = static_cast<std::size_t>(flow);
    State& s = state_[i];
    s.busy = false;
    if (failed) return;
    ++s.sent;
    ++run_.messages;
    run_.time = Time::from_seconds(now);
    const Time latency = inside_[i] ? o_.latency_inside : o_.latency_between;
    if (latency > Time::zero())
      set_timer(now + latency.seconds(), flow);
    else
      deliver(i);
    try_start(i);
  }
  void timer(int token, double now) override {
    run_.time = Time::from_seconds(now);
    deliver(static_cast<std::size_t>(token));
  }
  core::Result<FlowRun> finish() const {
    for (std::size_t i = 0; i < state_.size(); ++i)
      if (state_[i].delivered < g_.lanes[i].messages)
        return core::Error{core::ErrorCode::kDeadlock, "--network simgrid",
                           "a message from device " + std::to_string(g_.lanes[i].from.value) + " to device " +
                               std::to_string(g_.lanes[i].to.value) + " never ends",
                           "a link on its path is down"};
    FlowRun run = run_;
    run.time = o_.base + run.time;
    return run;
  }

 private:
  struct State {
    std::int32_t sent = 0, delivered = 0;
    bool busy = false;
  };
  void deliver(std::size_t i) {
    ++state_[i].delivered;
    for (std::int32_t k = g_.feed_begin[i]; k < g_.feed_begin[i + 1]; ++k)
      try_start(static_cast<std::size_t>(g_.feeds[static_cast<std::size_t>(k)]));
  }
  void try_start(std::size_t i) {
    State& s = state_[i];
    const Lane& lane = g_.lanes[i];
    if (s.busy || s.sent >= lane.messages) return;
    for (const std::size_t f : feeders_[i])
      if (state_[f].delivered < s.sent + lane.lead) return;
    s.busy = true;
    const double share = inside_[i] ? o_.efficiency_inside : o_.efficiency_between;
    start(static_cast<int>(i), routes_[i], std::max(1.0, static_cast<double>(lane.bytes) / share));
  }
  const LaneGraph& g_;
  std::vector<std::vector<std::int32_t>> routes_;
  std::vector<char> inside_;
  FlowOptions o_;
  std::vector<State> state_;
  std::vector<std::vector<std::size_t>> feeders_;
  FlowRun run_;
};

core::Result<std::vector<std::int32_t>> single_path(const View& view, const Lane& lane) {
  std::vector<LinkLoad> route;
  const bool ok = lane.via.valid()
                      ? view.route(lane.from, lane.via, kUnit, route) && view.route(lane.via, lane.to, kUnit, route)
                      : view.route(lane.from, lane.to, kUnit, route);
  if (!ok)
    return core::Error{
        core::ErrorCode::kInconsistent, "fabric",
        "no path from device " + std::to_string(lane.from.value) + " to device " + std::to_string(lane.to.value), ""};
  std::vector<std::int32_t> links;
  for (const LinkLoad& l : route) {
    if (l.units != kUnit)
      return core::Error{core::ErrorCode::kUnsupported, "--network",
                         "simgrid needs one path per message, " + view.link_name(l.link) + " carries a share of it",
                         "use \"routing\": \"ecmp\", or --network flows"};
    links.push_back(l.link.value);
  }
  return links;
}

}  // namespace

bool simgrid_available() { return load_module() != nullptr; }

core::Result<std::vector<FlowEnd>> solve_simgrid(const FlowProblem& problem) {
  ProblemClient client(problem);
  if (auto e = client.run(client.capacity()); !e) return e.error();
  return client.take();
}

core::Result<FlowRun> run_flows_simgrid(const View& view, CollectiveOp op, std::int64_t bytes,
                                        std::span<const core::DeviceId> members, const Choice& choice,
                                        const FlowOptions& options) {
  auto graph = expand(view, op, bytes, members, choice, options);
  if (!graph) return graph.error();
  if (graph->lanes.empty() || bytes <= 0) return FlowRun{};
  std::vector<std::vector<std::int32_t>> routes;
  std::vector<char> inside;
  std::vector<std::int64_t> capacity;
  for (int l = 0; l < view.links(); ++l) capacity.push_back(view.capacity(core::LinkId{l}));
  for (const Lane& lane : graph->lanes) {
    auto path = single_path(view, lane);
    if (!path) return path.error();
    routes.push_back(capped(*std::move(path), options.rate_cap, capacity));
    inside.push_back(view.scaleup_domain_of(lane.from) == view.scaleup_domain_of(lane.to));
  }
  LaneClient client(*graph, std::move(routes), std::move(inside), options);
  if (auto e = client.run(capacity); !e) return e.error();
  return client.finish();
}

}  // namespace twin::fabric
