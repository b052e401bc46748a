// Sampled jitter (--jitter sample): the noise that expected maxima stand for, drawn per rank and op instead.
//   work' = max(0, work + persistent_sigma z_rank spread_work + sqrt(variance) z_rank,op)
// with z standard normal from Philox keyed by (seed, op, rank), so that a draw depends on no other. Only for explicit
// systems.
#pragma once
#include <cstdint>
#include "sim/step/executor.hpp"

namespace twin::step {

struct SampledOp {
  std::int32_t rank = 0, op = 0;
  std::int64_t work_ns = 0;         // on this rank, as all that follow
  std::int64_t spread_work_ns = 0;  // that the rank's persistent speed difference applies to
  std::int64_t variance_ns2 = 0;
};
std::int64_t sampled_work(const ExecOptions& options, const SampledOp& op);

}  // namespace twin::step
