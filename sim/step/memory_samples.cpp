// Memory over time per class: saved activations live from the first forward op to the last backward op of a (chunk,
// micro batch) on the compute stream; all else is constant.
#include <algorithm>
#include <map>
#include "sim/step/memory.hpp"

namespace twin::step {
namespace {

struct Span {
  std::int64_t from = 0, to = 0;
};

// (chunk, micro batch) -> first start and last end of its ops on the compute stream.
std::map<std::pair<int, int>, Span> lifetimes(const Program& program, const Timeline& t, std::size_t offset) {
  std::map<std::pair<int, int>, Span> spans;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    if (op.stream != Stream::kCompute || op.micro_batch < 0) continue;
    const std::int64_t start = t.start[offset + i], finish = t.finish[offset + i];
    const auto [it, fresh] = spans.try_emplace({op.chunk, op.micro_batch}, Span{start, finish});
    if (!fresh) it->second = {std::min(it->second.from, start), std::max(it->second.to, finish)};
  }
  return spans;
}

}  // namespace

std::vector<std::vector<std::pair<std::int64_t, double>>> memory_samples(const work::Scenario& s, const Plan& plan,
                                                                         const work::Block& block,
                                                                         const work::Ends& ends, const System& system,
                                                                         const Timeline& timeline) {
  std::vector<std::vector<std::pair<std::int64_t, double>>> out;
  for (std::size_t r = 0; r < system.ranks(); ++r) {
    const int stage = system.program[r];
    const StageMemory m = stage_memory(s, plan, block, ends, stage);
    std::map<std::int64_t, double> change;
    for (const auto& [key, span] : lifetimes((*system.programs)[static_cast<std::size_t>(stage)], timeline,
                                             static_cast<std::size_t>(timeline.op_offset[r]))) {
      const double bytes = saved_bytes(s, plan, block, ends, key.first);
      change[span.from] += bytes;
      change[span.to] -= bytes;
    }
    double now = m.total() - m.activations - m.ends - m.working;
    std::vector<std::pair<std::int64_t, double>> samples{{0, now}};
    for (const auto& [time, bytes] : change) samples.emplace_back(time, now += bytes);
    out.push_back(std::move(samples));
  }
  return out;
}

}  // namespace twin::step
