#include "sim/step/executor_tables.hpp"
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>
#include "sim/core/check.hpp"

namespace twin::step {
namespace {

using Agreements = std::map<std::pair<fabric::CollectiveOp, std::int64_t>, std::int32_t>;

ProgramTable compact(const Program& p, std::int32_t first_comm) {
  ProgramTable t;
  t.program = &p;
  t.ops.resize(p.ops.size());
  std::unordered_map<std::int32_t, std::int16_t> syncs;
  const auto sync_of = [&](std::int32_t op) {
    TWIN_CHECK(syncs.size() < static_cast<std::size_t>(std::numeric_limits<std::int16_t>::max()));
    return syncs.emplace(op, static_cast<std::int16_t>(syncs.size())).first->second;
  };
  for (std::size_t i = 0; i < p.ops.size(); ++i) {
    const auto& op = p.ops[i];
    auto& row = t.ops[i];
    row.type = op.type;
    row.stream = op.stream;
    row.body = op.type == OpType::kComm ? first_comm + op.body : op.body;
    row.host_issue_ns = op.host_issue_ns;
    if (op.host_sync >= 0) {
      TWIN_CHECK(op.host_sync < static_cast<std::int32_t>(i));
      row.waits = sync_of(op.host_sync);
      t.ops[static_cast<std::size_t>(op.host_sync)].restarts = row.waits;
    }
    if (p.in_degree[i] == 0) t.sources.push_back(static_cast<std::int32_t>(i));
  }
  t.syncs = static_cast<std::int32_t>(syncs.size());
  for (const auto& bundle : p.bundles)
    for (const auto rate : bundle.rate) TWIN_CHECK(rate > 0);
  return t;
}

std::vector<std::int32_t> geometry_of_groups(const System& s) {
  std::vector<std::int32_t> first(s.geometries.size());
  using Key = std::pair<std::pair<std::int32_t, std::int32_t>, std::pair<std::int64_t, std::int64_t>>;
  std::map<std::pair<Key, std::int64_t>, std::int32_t> seen;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto& g = s.geometries[i];
    const Key key{{g.ranks, g.domains}, {g.max_per_domain, g.min_per_domain}};
    const auto reach = static_cast<std::int64_t>(g.reach);
    first[i] = seen.emplace(std::pair{key, g.scale * 16 + reach}, static_cast<std::int32_t>(i)).first->second;
  }
  std::vector<std::int32_t> of_group(s.groups());
  for (std::size_t g = 0; g < of_group.size(); ++g) of_group[g] = first[static_cast<std::size_t>(s.group_geometry[g])];
  return of_group;
}

}  // namespace

Tables::Tables(const System& s) : geometry(geometry_of_groups(s)) {
  Agreements agreements;
  for (std::size_t i = 0; i < s.programs->size(); ++i) {
    const auto& p = (*s.programs)[i];
    programs.push_back(compact(p, static_cast<std::int32_t>(comms.size())));
    for (std::size_t c = 0; c < p.comms.size(); ++c) {
      const auto& comm = p.comms[c];
      TWIN_CHECK(comm.kind < s.kinds.size());
      CommTable row{.comm = &comm, .program = static_cast<std::int32_t>(i), .index = static_cast<std::int32_t>(c)};
      row.membership = s.membership_of_kind[comm.kind] + comm.role;
      row.agreement = agreements.emplace(std::pair{comm.op, comm.bytes}, static_cast<std::int32_t>(agreements.size()))
                          .first->second;
      comms.push_back(row);
    }
  }
}

}  // namespace twin::step
