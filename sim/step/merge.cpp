#include "sim/step/merge.hpp"
#include <algorithm>

namespace twin::step {
namespace {

std::int32_t group_of(const System& s, std::size_t rank, int kind, int role) {
  const auto membership = static_cast<std::size_t>(s.membership_of_kind[static_cast<std::size_t>(kind)] + role);
  return s.group_of[rank * static_cast<std::size_t>(s.memberships) + membership];
}

// One group's view of its links: what decides the time of an exchange that runs alone.
struct Footprint {
  std::int32_t geometry = -1;
  std::vector<std::pair<std::int64_t, std::int64_t>> loads;  // weight, capacity; sorted
  friend bool operator==(const Footprint&, const Footprint&) = default;
};

Footprint footprint(const System& s, std::int32_t group) {
  const auto g = static_cast<std::size_t>(group);
  Footprint f;
  f.geometry = s.group_geometry[g];
  for (auto i = s.load_start[g]; i < s.load_start[g + 1]; ++i) {
    const auto k = static_cast<std::size_t>(i);
    f.loads.emplace_back(s.load_weight[k], s.capacity[static_cast<std::size_t>(s.load_link[k])]);
  }
  std::sort(f.loads.begin(), f.loads.end());
  return f;
}

// All classes of the stage see the same private tensor-parallel group, and their messages leave the scale-up domain.
bool separable(const System& s, const Kinds& kinds, const Plan& plan, int stage, bool messages_apart, Footprint& tp) {
  for (std::size_t r = 0; r < s.ranks(); ++r) {
    if (s.program[r] != stage) continue;
    if (s.speed[r] != 1 << 20)
      return false;  // a slower rank stretches each op, not its exchanges, and rounds each by itself
    if (plan.tp == 1) continue;
    const auto g = group_of(s, r, kinds.tp, 0);
    const auto gi = static_cast<std::size_t>(g);
    if (s.slot_start[gi + 1] - s.slot_start[gi] != 1) return false;
    const Footprint f = footprint(s, g);
    if (s.geometries[static_cast<std::size_t>(f.geometry)].domains != 1) return false;
    if (tp.geometry >= 0 && !(tp == f)) return false;
    tp = f;
    if (!messages_apart) continue;
    for (const int kind : {kinds.forward, kinds.backward})
      for (int role = 0; kind >= 0 && role < 2; ++role) {
        const auto m = group_of(s, r, kind, role);
        if (m >= 0 && s.geometries[static_cast<std::size_t>(s.group_geometry[static_cast<std::size_t>(m)])].domains < 2)
          return false;
      }
  }
  return true;
}

// One class of tp ranks with its own links.
System lonely(const System& s, const Kinds& kinds, const Plan& plan, const Footprint& tp,
              const std::vector<Program>& programs) {
  System out;
  out.program = {0};
  out.speed = {1 << 20};
  out.population = {plan.tp};
  out.memberships = s.memberships;
  out.kinds = s.kinds;
  out.membership_of_kind = s.membership_of_kind;
  out.group_of.assign(static_cast<std::size_t>(s.memberships), -1);
  out.load_start = {0};
  out.slot_start = {0};
  out.geometries = s.geometries;
  out.programs = &programs;
  if (plan.tp == 1) return out;
  out.group_of[static_cast<std::size_t>(s.membership_of_kind[static_cast<std::size_t>(kinds.tp)])] = 0;
  out.group_kind = {kinds.tp};
  out.group_geometry = {tp.geometry};
  for (const auto& [weight, capacity] : tp.loads) {
    out.load_link.push_back(static_cast<std::int32_t>(out.capacity.size()));
    out.load_weight.push_back(weight);
    out.capacity.push_back(capacity);
  }
  out.load_start.push_back(static_cast<std::int64_t>(tp.loads.size()));
  out.slots = {{.rank = 0, .role = 0, .count = plan.tp}};
  out.slot_start.push_back(1);
  return out;
}

}  // namespace

MergeFn make_merge(const System& system, const Kinds& kinds, const Plan& plan, int stage, bool messages_apart,
                   const ExecOptions& options,
                   std::function<CommCost(const CommTemplate&, std::int32_t geometry)> cost) {
  Footprint tp;
  if (!separable(system, kinds, plan, stage, messages_apart, tp)) return {};
  ExecOptions alone = options;
  alone.record = true;
  return [&system, kinds, &plan, tp, alone, cost](const Program& pass) -> std::optional<MergedPass> {
    std::vector<Program> programs(1, pass);
    for (auto& op : programs[0].ops) op.host_issue_ns = 0;
    const System s = lonely(system, kinds, plan, tp, programs);
    const auto run = execute(
        s,
        [&](std::int32_t, std::int32_t c, std::int32_t g) { return cost(pass.comms[static_cast<std::size_t>(c)], g); },
        alone);
    if (!run || pass.ops.empty()) return std::nullopt;
    MergedPass m;
    m.ns = run->end.count();
    for (std::size_t i = 0; i < pass.ops.size(); ++i)
      m.host_lead_ns =
          std::max(m.host_lead_ns, pass.ops[i].host_issue_ns - pass.ops.front().host_issue_ns - run->posted[i]);
    m.variance_ns2 = run->rank_white.front();
    m.spread_q20 = run->rank_spread.front();
    m.joins_kind = kinds.tp;
    return m;
  };
}

}  // namespace twin::step
