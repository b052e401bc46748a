// GPipe: Huang et al. 2019, all forward then all backward. 1F1B: Narayanan et al. 2021 (PipeDream-flush), warm-up of
// pp - stage - 1. Interleaved 1F1B: same paper, warm-up of 2 (pp - stage - 1) + (vpp - 1) group, micro batches in
// groups of pp; validate_scenario refuses others, as Megatron does (a smaller last group can deadlock).
#include "sim/step/schedule.hpp"
#include <algorithm>

namespace twin::step {
namespace {

std::vector<Pass> gpipe(const ScheduleShape& shape) {
  std::vector<Pass> out;
  const auto m = static_cast<std::int32_t>(shape.micro_batches);
  for (int v = 0; v < shape.vpp; ++v)
    for (std::int32_t i = 0; i < m; ++i) out.push_back({true, v, i});
  for (int v = shape.vpp - 1; v >= 0; --v)
    for (std::int32_t i = 0; i < m; ++i) out.push_back({false, v, i});
  return out;
}

std::vector<Pass> one_f_one_b(const ScheduleShape& shape, int stage) {
  std::vector<Pass> out;
  const auto m = static_cast<std::int32_t>(shape.micro_batches);
  const std::int32_t warmup = std::min<std::int32_t>(shape.pp - stage - 1, m);
  std::int32_t f = 0, b = 0;
  for (; f < warmup; ++f) out.push_back({true, 0, f});
  for (; f < m; ++f, ++b) {
    out.push_back({true, 0, f});
    out.push_back({false, 0, b});
  }
  for (; b < m; ++b) out.push_back({false, 0, b});
  return out;
}

// The order in which virtual micro batches visit (virtual stage, micro batch): groups of pp micro batches, all virtual
// stages of a group before the next group.
std::vector<Pass> interleaved_order(const ScheduleShape& shape, bool forward) {
  std::vector<Pass> out;
  for (std::int64_t first = 0; first < shape.micro_batches; first += shape.pp) {
    for (int v = 0; v < shape.vpp; ++v)
      for (std::int64_t i = 0; i < shape.pp; ++i)
        out.push_back({forward, forward ? v : shape.vpp - 1 - v, static_cast<std::int32_t>(first + i)});
  }
  return out;
}

std::vector<Pass> interleaved(const ScheduleShape& shape, int stage) {
  const auto forward = interleaved_order(shape, true);
  const auto backward = interleaved_order(shape, false);
  const std::size_t total = forward.size();
  const auto wanted = static_cast<std::size_t>((shape.pp - stage - 1) * 2 + (shape.vpp - 1) * shape.pp);
  const std::size_t warmup = std::min(wanted, total);
  std::vector<Pass> out(forward.begin(), forward.begin() + static_cast<std::ptrdiff_t>(warmup));
  std::size_t b = 0;
  for (std::size_t f = warmup; f < total; ++f) {
    out.push_back(forward[f]);
    out.push_back(backward[b++]);
  }
  out.insert(out.end(), backward.begin() + static_cast<std::ptrdiff_t>(b), backward.end());
  return out;
}

}  // namespace

std::vector<Pass> make_schedule(work::Schedule schedule, const ScheduleShape& shape, int stage) {
  switch (schedule) {
    case work::Schedule::kGpipe:
      return gpipe(shape);
    case work::Schedule::kInterleaved1f1b:
      return shape.vpp > 1 ? interleaved(shape, stage) : one_f_one_b(shape, stage);
    case work::Schedule::k1f1b:
      return one_f_one_b(shape, stage);
    case work::Schedule::kNone:
      break;
  }
  return one_f_one_b({.pp = 1, .vpp = 1, .micro_batches = shape.micro_batches}, 0);
}

InFlight peak_in_flight(const std::vector<Pass>& passes, const std::vector<double>& weight) {
  std::vector<std::int64_t> alive(weight.size(), 0);
  InFlight peak{.total = 0, .per_virtual_stage = alive};
  double now = 0, best = -1;
  for (const auto& pass : passes) {
    const auto v = static_cast<std::size_t>(pass.virtual_stage);
    alive[v] += pass.forward ? 1 : -1;
    now += pass.forward ? weight[v] : -weight[v];
    if (pass.forward && now > best) {
      best = now;
      peak.per_virtual_stage = alive;
    }
  }
  for (auto n : peak.per_virtual_stage) peak.total += n;
  return peak;
}

}  // namespace twin::step
