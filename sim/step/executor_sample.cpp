#include "sim/step/executor_sample.hpp"
#include <cmath>
#include "sim/core/distributions.hpp"

namespace twin::step {
namespace {

constexpr std::uint32_t kOpNoise =
    0x6a0;  // stream; entity: rank. The op is mixed into the seed, so that no draw needs another.
constexpr std::uint32_t kRankSpeed = 0x6a1;

}  // namespace

std::int64_t sampled_work(const ExecOptions& options, const SampledOp& op) {
  const auto rank = static_cast<std::uint32_t>(op.rank);
  double work = static_cast<double>(op.work_ns);
  if (options.persistent_sigma > 0) {
    core::Philox speed(options.seed, kRankSpeed, rank);
    work += static_cast<double>(op.spread_work_ns) * core::normal(speed, 0, options.persistent_sigma);
  }
  if (op.variance_ns2 > 0) {
    core::Philox noise(options.seed ^ static_cast<std::uint64_t>(op.op) << 32, kOpNoise, rank);
    work += core::normal(noise, 0, std::sqrt(static_cast<double>(op.variance_ns2)));
  }
  return work <= 0 ? 0 : static_cast<std::int64_t>(work + 0.5);
}

}  // namespace twin::step
