#include "sim/fabric/referee.hpp"
#include <algorithm>
#include <map>
#include "sim/core/fluid.hpp"

namespace twin::fabric {
namespace {

using core::Time;

class FluidRun {
 public:
  explicit FluidRun(const FlowProblem& p)
      : p_(p), fluid_(structure(p)), ends_(p.flows.size()), waiters_(p.flows.size()) {
    for (std::size_t i = 0; i < p.flows.size(); ++i) {
      if (p.flows[i].after < 0)
        at_[p.flows[i].start].starts.push_back(static_cast<std::int32_t>(i));
      else
        waiters_[static_cast<std::size_t>(p.flows[i].after)].push_back(static_cast<std::int32_t>(i));
    }
    for (std::size_t i = 0; i < p.changes.size(); ++i) at_[p.changes[i].time].changes.push_back(i);
  }

  std::vector<FlowEnd> run() {
    while (!at_.empty()) {
      now_ = at_.begin()->first;
      const Stamp stamp = std::move(at_.begin()->second);
      at_.erase(at_.begin());
      for (const auto& [flow, version] : stamp.ends)
        if (fluid_.active(flow) && fluid_.version(flow) == version) finish(flow);
      for (const std::size_t c : stamp.changes) change(p_.changes[c]);
      for (const std::int32_t flow : stamp.starts) start(flow);
      if (!fluid_.dirty()) continue;
      for (const std::int32_t flow : fluid_.solve(now_))
        if (!fluid_.finish(flow).is_never()) at_[fluid_.finish(flow)].ends.emplace_back(flow, fluid_.version(flow));
    }
    return std::move(ends_);
  }

 private:
  struct Stamp {
    std::vector<std::pair<std::int32_t, std::uint32_t>> ends;
    std::vector<std::size_t> changes;
    std::vector<std::int32_t> starts;
  };
  static core::FluidStructure structure(const FlowProblem& p) {
    core::FluidStructure s;
    s.capacity = p.capacity;
    for (const auto& f : p.flows) {
      std::vector<std::pair<std::int32_t, std::int64_t>> uses;
      for (const std::int32_t l : f.links) uses.emplace_back(l, core::kWeightOne);
      s.add(1, uses);
    }
    return s;
  }
  const FlowProblem::Flow& flow(std::int32_t i) const { return p_.flows[static_cast<std::size_t>(i)]; }
  void start(std::int32_t i) {
    for (const std::int32_t l : flow(i).links)
      if (fluid_.capacity(l) == 0) {
        ends_[static_cast<std::size_t>(i)] = {now_.seconds(), true, static_cast<double>(flow(i).bytes)};
        return;
      }
    fluid_.start(i, now_, flow(i).bytes, flow(i).cap > 0 ? flow(i).cap : core::kUncapped);
  }
  void finish(std::int32_t i) {
    fluid_.end(i);
    ends_[static_cast<std::size_t>(i)] = {now_.seconds(), false, 0};
    for (const std::int32_t w : waiters_[static_cast<std::size_t>(i)]) {
      if (flow(w).start == Time::zero())
        start(w);
      else
        at_[now_ + flow(w).start].starts.push_back(w);
    }
  }
  void change(const FlowProblem::Change& c) {
    fluid_.set_capacity(c.link, c.capacity);
    if (c.capacity > 0) return;
    for (std::size_t i = 0; i < p_.flows.size(); ++i) {
      const auto id = static_cast<std::int32_t>(i);
      const auto& links = p_.flows[i].links;
      if (!fluid_.active(id) || std::find(links.begin(), links.end(), c.link) == links.end()) continue;
      ends_[i] = {now_.seconds(), true, static_cast<double>(fluid_.remaining(id, now_)) / 4294967296.0};
      fluid_.end(id);
    }
  }

  const FlowProblem& p_;
  core::Fluid fluid_;
  std::vector<FlowEnd> ends_;
  std::vector<std::vector<std::int32_t>> waiters_;
  std::map<Time, Stamp> at_;
  Time now_;
};

}  // namespace

std::vector<FlowEnd> solve_fluid(const FlowProblem& problem) { return FluidRun(problem).run(); }

}  // namespace twin::fabric
