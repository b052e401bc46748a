// Critical path and hidden communication; see the header.
#include "sim/report/critical_path.hpp"
#include <algorithm>
#include <array>
#include "sim/core/check.hpp"
#include "sim/report/instances.hpp"

namespace twin::report {
namespace {

using Interval = std::pair<std::int64_t, std::int64_t>;

// Predecessors of every op of a program: dependencies and the op before it on its stream.
std::vector<std::vector<std::int32_t>> predecessors(const step::Program& p) {
  std::vector<std::vector<std::int32_t>> before(p.ops.size());
  std::array<std::int32_t, step::kStreams> last{};
  last.fill(-1);
  for (std::size_t i = 0; i < p.ops.size(); ++i) {
    auto& previous = last[static_cast<std::size_t>(p.ops[i].stream)];
    if (previous >= 0) before[i].push_back(previous);
    previous = static_cast<std::int32_t>(i);
  }
  for (std::size_t i = 0; i + 1 < p.successor_start.size(); ++i)
    for (auto e = p.successor_start[i]; e < p.successor_start[i + 1]; ++e)
      before[static_cast<std::size_t>(p.successors[static_cast<std::size_t>(e)])].push_back(
          static_cast<std::int32_t>(i));
  return before;
}

class Walker {
 public:
  explicit Walker(const step::StepResult& result) : r_(result), instances_(result), before_(result.programs->size()) {}
  std::vector<PathSegment> walk();

 private:
  std::size_t at(std::int32_t rank, std::int32_t op) const {
    return static_cast<std::size_t>(r_.timeline->op_offset[static_cast<std::size_t>(rank)] + op);
  }
  const step::Program& program(std::int32_t rank) const { return (*r_.programs)[index(rank)]; }
  std::size_t index(std::int32_t rank) const {
    return static_cast<std::size_t>(r_.system->program[static_cast<std::size_t>(rank)]);
  }
  std::int32_t last_op(std::int32_t rank) const;
  Member last_to_post(std::int32_t rank, std::int32_t op) const;
  std::int32_t last_predecessor(std::int32_t rank, std::int32_t op);

  const step::StepResult& r_;
  Instances instances_;
  std::vector<std::vector<std::vector<std::int32_t>>> before_;  // per program, filled when first needed
};

std::int32_t Walker::last_op(std::int32_t rank) const {
  std::int32_t best = -1;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(program(rank).ops.size()); ++i)
    if (best < 0 || r_.timeline->finish[at(rank, i)] > r_.timeline->finish[at(rank, best)]) best = i;
  return best;
}

// The member of a communication that posted last, itself when nobody was later.
Member Walker::last_to_post(std::int32_t rank, std::int32_t op) const {
  Member last{rank, op};
  const std::int32_t instance = instances_.of(rank, op);
  if (instance < 0) return last;
  for (const Member& m : instances_.members(instance))
    if (r_.timeline->posted[at(m.rank, m.op)] > r_.timeline->posted[at(last.rank, last.op)]) last = m;
  return last;
}

std::int32_t Walker::last_predecessor(std::int32_t rank, std::int32_t op) {
  auto& before = before_[index(rank)];
  if (before.empty()) before = predecessors(program(rank));
  std::int32_t best = -1;
  for (const std::int32_t p : before[static_cast<std::size_t>(op)])
    if (best < 0 || r_.timeline->finish[at(rank, p)] > r_.timeline->finish[at(rank, best)]) best = p;
  return best;
}

std::vector<PathSegment> Walker::walk() {
  std::vector<PathSegment> path;
  std::int32_t rank = r_.critical_class, op = last_op(rank);
  std::int64_t until = op < 0 ? 0 : r_.timeline->finish[at(rank, op)];
  // Every step goes to an op that finished no later than this one began, so the walk ends; the bound guards broken
  // input.
  for (std::size_t steps = 0; op >= 0 && steps <= 2 * r_.timeline->finish.size(); ++steps) {
    if (program(rank).ops[static_cast<std::size_t>(op)].type == step::OpType::kComm) {
      const Member last = last_to_post(rank, op);
      rank = last.rank;
      op = last.op;
    }
    const auto& begins = program(rank).ops[static_cast<std::size_t>(op)].type == step::OpType::kComm
                             ? r_.timeline->posted
                             : r_.timeline->start;
    const std::int64_t begin = std::min(begins[at(rank, op)], until);
    path.push_back({rank, op, begin, until});
    const std::int32_t previous = last_predecessor(rank, op);
    const std::int64_t ready = previous < 0 ? 0 : std::min(begin, r_.timeline->finish[at(rank, previous)]);
    if (ready < begin) path.push_back({rank, -1, ready, begin});
    until = ready;
    op = previous;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

std::vector<Interval> merged(std::vector<Interval> in) {
  std::sort(in.begin(), in.end());
  std::vector<Interval> out;
  for (const auto& i : in) {
    if (i.second <= i.first) continue;
    if (!out.empty() && i.first <= out.back().second)
      out.back().second = std::max(out.back().second, i.second);
    else
      out.push_back(i);
  }
  return out;
}

std::int64_t length(const std::vector<Interval>& intervals) {
  std::int64_t sum = 0;
  for (const auto& [begin, end] : intervals) sum += end - begin;
  return sum;
}

std::int64_t overlap(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  std::int64_t sum = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    sum += std::max<std::int64_t>(0, std::min(a[i].second, b[j].second) - std::max(a[i].first, b[j].first));
    a[i].second < b[j].second ? ++i : ++j;
  }
  return sum;
}

}  // namespace

std::vector<PathSegment> critical_path(const step::StepResult& result) {
  TWIN_CHECK(result.system && result.programs && result.timeline);
  return Walker(result).walk();
}

std::vector<Exposure> exposures(const step::StepResult& result, std::int32_t rank) {
  TWIN_CHECK(result.system && result.programs && result.timeline);
  const auto& t = *result.timeline;
  const auto& p = (*result.programs)[static_cast<std::size_t>(result.system->program[static_cast<std::size_t>(rank)])];
  const auto first = static_cast<std::size_t>(t.op_offset[static_cast<std::size_t>(rank)]);
  constexpr auto kCount = static_cast<std::size_t>(step::Category::kCount);
  std::vector<Interval> compute, comm[kCount], waiting[kCount];
  std::int64_t ops[kCount] = {};
  for (std::size_t i = 0; i < p.ops.size(); ++i) {
    const auto c = static_cast<std::size_t>(p.ops[i].category);
    if (p.ops[i].type == step::OpType::kCompute) {
      if (p.ops[i].stream != step::Stream::kHost) compute.emplace_back(t.start[first + i], t.finish[first + i]);
      continue;
    }
    ++ops[c];
    comm[c].emplace_back(t.posted[first + i], t.finish[first + i]);
    waiting[c].emplace_back(t.posted[first + i], std::min(t.start[first + i], t.finish[first + i]));
  }
  compute = merged(std::move(compute));
  std::vector<Exposure> out;
  for (std::size_t c = 0; c < kCount; ++c) {
    if (!ops[c]) continue;
    const auto busy = merged(comm[c]);
    out.push_back({.category = static_cast<step::Category>(c),
                   .ops = ops[c],
                   .busy = length(busy),
                   .hidden = overlap(busy, compute),
                   .waiting = length(merged(waiting[c]))});
  }
  return out;
}

}  // namespace twin::report
