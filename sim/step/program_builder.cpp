// ProgramBuilder: ops in issue order; stream order and host syncs become dependencies, duplicates are dropped.
#include <algorithm>
#include <limits>
#include "sim/core/check.hpp"
#include "sim/step/program.hpp"

namespace twin::step {

std::int32_t ProgramBuilder::name(const std::string& s) {
  const auto at = std::lower_bound(interned_.begin(), interned_.end(), s,
                                   [](const auto& entry, const std::string& wanted) { return entry.first < wanted; });
  if (at != interned_.end() && at->first == s) return at->second;
  const auto id = static_cast<std::int32_t>(p_.names.size());
  p_.names.push_back(s);
  interned_.insert(at, {s, id});
  return id;
}

std::int32_t ProgramBuilder::add(Op op, std::initializer_list<std::int32_t> dependencies) {
  return add(op, std::vector<std::int32_t>(dependencies));
}

std::int32_t ProgramBuilder::add(Op op, const std::vector<std::int32_t>& dependencies) {
  TWIN_CHECK(p_.ops.size() < static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()));
  const auto id = static_cast<std::int32_t>(p_.ops.size());
  const auto depend = [&](std::int32_t from) {
    TWIN_CHECK(from < id);
    if (from >= 0) edges_.push_back(std::int64_t{from} << 32 | id);
  };
  auto& last = last_[static_cast<std::size_t>(op.stream)];
  depend(last);
  depend(op.host_sync);
  for (const auto d : dependencies) depend(d);
  last = id;
  p_.ops.push_back(op);
  return id;
}

void ProgramBuilder::finish() {
  std::sort(edges_.begin(), edges_.end());
  edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
  const auto n = p_.ops.size();
  p_.in_degree.assign(n, 0);
  p_.successor_start.assign(n + 1, 0);
  p_.successors.clear();
  p_.successors.reserve(edges_.size());
  for (const auto edge : edges_) {
    const auto from = static_cast<std::size_t>(edge >> 32);
    const auto to = static_cast<std::int32_t>(edge & 0xffffffff);
    ++p_.successor_start[from + 1];
    p_.successors.push_back(to);
    TWIN_CHECK(p_.in_degree[static_cast<std::size_t>(to)] < std::numeric_limits<std::uint16_t>::max());
    ++p_.in_degree[static_cast<std::size_t>(to)];
  }
  for (std::size_t i = 0; i < n; ++i) p_.successor_start[i + 1] += p_.successor_start[i];
}

}  // namespace twin::step
