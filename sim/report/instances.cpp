// Which ops of which classes are one communication; see the header.
#include "sim/report/instances.hpp"
#include <algorithm>
#include "sim/core/check.hpp"

namespace twin::report {
namespace {

// Communication ops of one class in order of posting; ties in issue order.
std::vector<std::int32_t> comm_ops_as_posted(const step::Program& program, const std::int64_t* posted) {
  std::vector<std::int32_t> ops;
  for (std::size_t i = 0; i < program.ops.size(); ++i)
    if (program.ops[i].type == step::OpType::kComm) ops.push_back(static_cast<std::int32_t>(i));
  std::stable_sort(ops.begin(), ops.end(), [&](std::int32_t a, std::int32_t b) { return posted[a] < posted[b]; });
  return ops;
}

}  // namespace

Instances::Instances(const step::StepResult& result) : offset_(result.timeline->op_offset) {
  const step::System& system = *result.system;
  const auto& programs = *result.programs;
  instance_.assign(result.timeline->posted.size(), -1);
  std::unordered_map<std::int64_t, std::int32_t>
      by_key;  // group << 32 | sequence -> instance; looked up, never iterated
  std::vector<std::int64_t> sequence(static_cast<std::size_t>(system.memberships));
  for (std::size_t rank = 0; rank < system.ranks(); ++rank) {
    const step::Program& program = programs[static_cast<std::size_t>(system.program[rank])];
    const auto first = static_cast<std::size_t>(offset_[rank]);
    std::fill(sequence.begin(), sequence.end(), 0);
    for (const std::int32_t op : comm_ops_as_posted(program, result.timeline->posted.data() + first)) {
      const auto& comm = program.comms[static_cast<std::size_t>(program.ops[static_cast<std::size_t>(op)].body)];
      const int role = system.kinds[comm.kind].p2p ? comm.role : 0;
      const auto membership = static_cast<std::size_t>(system.membership_of_kind[comm.kind] + role);
      const std::int32_t group = system.group_of[rank * static_cast<std::size_t>(system.memberships) + membership];
      if (group < 0) continue;
      const std::int64_t key = (static_cast<std::int64_t>(group) << 32) | sequence[membership]++;
      const auto [it, is_new] = by_key.try_emplace(key, static_cast<std::int32_t>(members_.size()));
      if (is_new) members_.emplace_back();
      instance_[first + static_cast<std::size_t>(op)] = it->second;
      members_[static_cast<std::size_t>(it->second)].push_back({static_cast<std::int32_t>(rank), op});
    }
  }
}

std::int32_t Instances::of(std::int32_t rank, std::int32_t op) const {
  const auto at = static_cast<std::size_t>(offset_[static_cast<std::size_t>(rank)] + op);
  TWIN_CHECK(at < instance_.size());
  return instance_[at];
}

}  // namespace twin::report
