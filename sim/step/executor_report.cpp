// Errors of a run that cannot go on: who is blocked on what, and who is missing.
#include <algorithm>
#include <string>
#include "sim/step/executor_engine.hpp"

namespace twin::step {
namespace {

constexpr int kNamed = 3;  // blocked ranks, or missing members, that a message names

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

std::string Engine::describe(std::int32_t r, std::int32_t op) const {
  const auto& program = *rank(r).table->program;
  const auto& row = program.ops[at(op)];
  const auto name = row.type == OpType::kComm ? program.comms[at(row.body)].name : program.bundles[at(row.body)].name;
  const auto text = at(name) < program.names.size() ? "'" + program.names[at(name)] + "'" : std::string("unnamed");
  return text + " (op " + std::to_string(op) + " of program " + std::to_string(s_.program[at(r)]) + ")";
}

core::Error Engine::no_group(std::int32_t r, std::int32_t op) const {
  const auto& comm = *tables_.comms[at(table_of(r, op).body)].comm;
  return {core::ErrorCode::kInconsistent, "rank " + std::to_string(r),
          "op " + describe(r, op) + " uses communicator kind '" + s_.kinds[comm.kind].name + "', role " +
              std::to_string(comm.role) + ", but the rank is in no such group",
          ""};
}

core::Error Engine::disagreement(std::int32_t g) const {
  const auto first = s_.slot_start[at(g)], end = s_.slot_start[at(g) + 1];
  const auto op_of = [&](std::int64_t i) { return posts_[at(first_post_[at(i)])].op; };
  const auto comm_of = [&](std::int64_t i) -> const CommTable& {
    return tables_.comms[at(table_of(s_.slots[at(i)].rank, op_of(i)).body)];
  };
  auto other = first + 1;
  while (other + 1 < end && comm_of(other).agreement == comm_of(first).agreement) ++other;
  const auto side = [&](std::int64_t i) {
    const auto& comm = *comm_of(i).comm;
    const auto r = s_.slots[at(i)].rank;
    return "rank " + std::to_string(r) + " posted " + describe(r, op_of(i)) + ": " + fabric::name(comm.op) + " of " +
           std::to_string(comm.bytes) + " bytes";
  };
  return {core::ErrorCode::kInconsistent,
          "communicator '" + s_.kinds[at(s_.group_kind[at(g)])].name + "', group " + std::to_string(g) + ", instance " +
              std::to_string(groups_[at(g)].finished),
          side(first) + ", but " + side(other), ""};
}

// What holds back a rank that has unfinished ops; empty if it only waits for other ranks' and its own blocked ops.
std::string Engine::describe_block(std::int32_t r) const {
  for (std::int64_t m = 0; m < s_.memberships; ++m) {
    const auto slot = slot_of_[at(r * std::int64_t{s_.memberships} + m)];
    if (slot < 0 || first_post_[at(slot)] < 0) continue;
    const auto g = s_.group_of[at(r * std::int64_t{s_.memberships} + m)];
    const auto& x = groups_[at(g)];
    std::string text = "rank " + std::to_string(r) + " waits in " + describe(r, posts_[at(first_post_[at(slot)])].op) +
                       " on communicator '" + s_.kinds[at(s_.group_kind[at(g)])].name + "' (group " +
                       std::to_string(g) + ", instance " + std::to_string(x.finished) + ")";
    if (x.busy) {
      for (auto i = s_.load_start[at(g)]; i < s_.load_start[at(g) + 1]; ++i)
        if (s_.capacity[at(s_.load_link[at(i)])] == 0)
          return text + ": its link " + std::to_string(s_.load_link[at(i)]) + " has no capacity";
      return text + ": its rate is 0";
    }
    text += " for";
    int missing = 0;
    for (auto i = s_.slot_start[at(g)]; i < s_.slot_start[at(g) + 1]; ++i) {
      if (first_post_[at(i)] >= 0) continue;
      if (missing < kNamed) text += (missing ? ", rank " : " rank ") + std::to_string(s_.slots[at(i)].rank);
      ++missing;
    }
    return missing > kNamed ? text + " and " + std::to_string(missing - kNamed) + " more" : text;
  }
  return "";
}

core::Error Engine::deadlock() const {
  std::string message;
  int named = 0, blocked = 0;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    if (ranks_[r].unfinished == 0) continue;
    ++blocked;
    if (named == kNamed) continue;
    const auto text = describe_block(static_cast<std::int32_t>(r));
    if (text.empty()) continue;
    message += (named++ ? "; " : "") + text;
  }
  if (named == 0) message = "dependencies of ops form a cycle";
  return {core::ErrorCode::kDeadlock, "step", std::to_string(blocked) + " ranks never finish: " + message,
          "all members of a communicator must post the same operations in the same order"};
}

}  // namespace twin::step
