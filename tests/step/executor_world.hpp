// Small systems by hand, for the executor's tests with a derivation: ranks with a program each, groups with link loads.
#pragma once
#include <string>
#include <utility>
#include <vector>
#include "sim/step/executor.hpp"

namespace twin::step::test {

constexpr std::int64_t kBytePerNs = std::int64_t{1} << 32;  // capacity unit: 1 GB/s
constexpr std::int64_t kOne = 1 << 20;                      // weight and speed unit

struct World {
  std::vector<Program> programs;
  std::vector<ProgramBuilder> builders;
  System system;

  explicit World(std::size_t ranks) : programs(ranks) {
    for (auto& p : programs) builders.emplace_back(p);
    for (std::size_t r = 0; r < ranks; ++r) {
      system.program.push_back(static_cast<std::int32_t>(r));
      system.speed.push_back(kOne);
      system.population.push_back(1);
    }
    system.load_start.push_back(0);
    system.slot_start.push_back(0);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void kind(const std::string& name, bool p2p, std::int64_t phi = 1) {
    CommKind k;
    k.name = name;
    k.p2p = p2p;
    k.phi = phi;
    system.kinds.push_back(k);
    system.membership_of_kind.push_back(system.memberships);
    system.memberships += p2p ? 2 : 1;
  }
  std::int32_t link(std::int64_t gb_per_s) {
    system.capacity.push_back(gb_per_s * kBytePerNs);
    return static_cast<std::int32_t>(system.capacity.size()) - 1;
  }
  // After all kinds. Members of a p2p kind: sender, receiver.
  void group(int kind_index, const std::vector<std::int32_t>& members,
             const std::vector<std::pair<std::int32_t, std::int64_t>>& loads) {
    const auto memberships = static_cast<std::size_t>(system.memberships);
    system.group_of.resize(system.ranks() * memberships, -1);
    const auto k = static_cast<std::size_t>(kind_index);
    for (std::size_t i = 0; i < members.size(); ++i) {
      const std::size_t role = system.kinds[k].p2p ? i : 0;
      const auto membership = static_cast<std::size_t>(system.membership_of_kind[k]) + role;
      system.group_of[static_cast<std::size_t>(members[i]) * memberships + membership] =
          static_cast<std::int32_t>(system.groups());
      system.slots.push_back({.rank = members[i], .role = static_cast<std::uint8_t>(role), .count = 1});
    }
    for (const auto& [l, weight] : loads) {
      system.load_link.push_back(l);
      system.load_weight.push_back(weight);
    }
    fabric::Geometry g;
    g.ranks = static_cast<std::int32_t>(members.size());
    system.group_kind.push_back(kind_index);
    system.group_geometry.push_back(static_cast<std::int32_t>(system.geometries.size()));
    system.geometries.push_back(g);
    system.load_start.push_back(static_cast<std::int64_t>(system.load_link.size()));
    system.slot_start.push_back(static_cast<std::int64_t>(system.slots.size()));
  }
  struct Work {
    std::int64_t ns = 0;
    Stream stream = Stream::kCompute;
    std::int64_t host_issue_ns = 0;
    std::int32_t host_sync = -1;
    std::int64_t variance_ns2 = 0;
    std::vector<std::int64_t> rates = {};  // percent of full speed by level; the last repeats
  };
  std::int32_t compute(std::size_t rank, const Work& w, const std::vector<std::int32_t>& after = {}) {
    Bundle b;
    b.work_ns = w.ns;
    b.variance_ns2 = w.variance_ns2;
    for (std::size_t i = 0; i < kMaxBundleLevels; ++i)
      b.rate[i] = w.rates.empty() ? kOne : kOne * w.rates[std::min(i, w.rates.size() - 1)] / 100;
    b.name = builders[rank].name("compute");
    programs[rank].bundles.push_back(b);
    Op op;
    op.stream = w.stream;
    op.body = static_cast<std::int32_t>(programs[rank].bundles.size()) - 1;
    op.host_issue_ns = w.host_issue_ns;
    op.host_sync = w.host_sync;
    return builders[rank].add(op, after);
  }
  struct Message {
    int kind = 0, role = 0;
    std::int64_t bytes = 0;
    Stream stream = Stream::kTp;
    std::uint8_t hold = 0;
  };
  std::int32_t comm(std::size_t rank, const Message& m, const std::vector<std::int32_t>& after = {}) {
    CommTemplate t;
    t.kind = static_cast<std::uint8_t>(m.kind);
    t.role = static_cast<std::uint8_t>(m.role);
    t.op = system.kinds[static_cast<std::size_t>(m.kind)].p2p ? fabric::CollectiveOp::kSendRecv
                                                              : fabric::CollectiveOp::kAllReduce;
    t.bytes = m.bytes;
    t.hold = m.hold;
    t.name = builders[rank].name("comm of " + std::to_string(m.bytes));
    programs[rank].comms.push_back(t);
    Op op;
    op.type = OpType::kComm;
    op.stream = m.stream;
    op.body = static_cast<std::int32_t>(programs[rank].comms.size()) - 1;
    return builders[rank].add(op, after);
  }
  // Cost: the template's bytes on the busiest link after `latency`; no cap.
  core::Result<Timeline> run(std::int64_t latency_ns = 0, const ExecOptions& options = {}) {
    for (auto& b : builders) b.finish();
    system.group_of.resize(system.ranks() * static_cast<std::size_t>(system.memberships), -1);
    system.programs = &programs;
    return execute(
        system,
        [&](std::int32_t program, std::int32_t comm_index, std::int32_t) {
          const auto& t = programs[static_cast<std::size_t>(program)].comms[static_cast<std::size_t>(comm_index)];
          return CommCost{.bytes = t.bytes, .latency_ns = latency_ns, .rate_cap = std::int64_t{1} << 50};
        },
        options);
  }
};

inline std::int64_t finish(const Timeline& t, std::size_t rank, std::int32_t op) {
  return t.finish[static_cast<std::size_t>(t.op_offset[rank] + op)];
}
inline std::int64_t start(const Timeline& t, std::size_t rank, std::int32_t op) {
  return t.start[static_cast<std::size_t>(t.op_offset[rank] + op)];
}
inline std::int64_t posted(const Timeline& t, std::size_t rank, std::int32_t op) {
  return t.posted[static_cast<std::size_t>(t.op_offset[rank] + op)];
}

}  // namespace twin::step::test
