#include "sim/step/bundles.hpp"
#include <algorithm>
#include <array>
#include <cmath>

namespace twin::step {

std::int32_t BundleMaker::add(const std::string& name, std::span<const KernelList* const> lists, double share,
                              bool jitter) {
  Bundle b;
  b.name = builder_.name(name);
  b.first_kernel = static_cast<std::int32_t>(program_.kernel_ns.size());
  const int sms = timing_.device.spec.sms;
  std::array<double, kMaxBundleLevels> total{};
  std::int64_t launches = 0;
  for (const KernelList* list : lists) {
    for (const auto& kernel : *list) {
      double t0 = 0;
      for (int level = 0; level < kMaxBundleLevels; ++level) {
        const bool data = level >= kHoldData;
        const int held = (level % kHoldData) * kHoldUnitSms + (data ? timing_.data_sms : 0);
        const int free = std::max(sms / 4, sms - held);
        const double hbm = std::max(0.25, 1.0 - timing_.overlap_hbm_share * held / kHoldUnitSms);
        const double slowdown = data ? timing_.slowdown_data : timing_.slowdown_tp;
        const double t =
            device::seconds(kernel, timing_.device, level == 0 ? sms : free, hbm) * timing_.multiplier * share +
            timing_.blocking_s * kernel.launches;
        if (level == 0) t0 = t;
        total[static_cast<std::size_t>(level)] += level == 0 ? t : std::max(t, t0) * (1 + slowdown);
      }
      program_.kernel_names.emplace_back(kernel.label);
      program_.kernel_ns.push_back(std::llround(t0 * 1e9));
      launches += kernel.launches;
      ++b.kernels;
    }
  }
  b.work_ns = std::max<std::int64_t>(1, std::llround(total[0] * 1e9));
  for (int level = 0; level < kMaxBundleLevels; ++level) {
    const double ratio = total[0] > 0 ? total[0] / std::max(total[0], total[static_cast<std::size_t>(level)]) : 1;
    b.rate[level] = std::max<std::int64_t>(1, std::llround(ratio * (1 << 20)));
  }
  const double sigma = jitter ? timing_.jitter_op * static_cast<double>(b.work_ns) : 0;
  b.variance_ns2 = std::llround(sigma * sigma);
  b.spread_work_ns = jitter ? b.work_ns : 0;
  program_.bundles.push_back(b);
  launches_.push_back(launches);
  return static_cast<std::int32_t>(program_.bundles.size()) - 1;
}

std::int32_t BundleMaker::combine(const std::string& name, const std::vector<std::int32_t>& parts) {
  Bundle b;
  b.name = builder_.name(name);
  b.first_kernel = static_cast<std::int32_t>(program_.kernel_ns.size());
  b.spread_work_ns = 0;
  std::array<double, kMaxBundleLevels> total{};
  std::int64_t launches = 0;
  for (const auto part : parts) {
    const Bundle p = program_.bundles[static_cast<std::size_t>(part)];
    b.work_ns += p.work_ns;
    b.variance_ns2 += p.variance_ns2;
    b.spread_work_ns += p.spread_work_ns;
    for (std::size_t level = 0; level < total.size(); ++level)
      total[level] += static_cast<double>(p.work_ns) * (1 << 20) / static_cast<double>(p.rate[level]);
    for (std::int32_t k = p.first_kernel; k < p.first_kernel + p.kernels; ++k) {
      program_.kernel_names.push_back(std::string(program_.kernel_names[static_cast<std::size_t>(k)]));
      program_.kernel_ns.push_back(program_.kernel_ns[static_cast<std::size_t>(k)]);
    }
    b.kernels += p.kernels;
    launches += launches_[static_cast<std::size_t>(part)];
  }
  for (std::size_t level = 0; level < total.size(); ++level)
    b.rate[level] = std::max<std::int64_t>(1, std::llround(static_cast<double>(b.work_ns) / total[level] * (1 << 20)));
  program_.bundles.push_back(b);
  launches_.push_back(launches);
  return static_cast<std::int32_t>(program_.bundles.size()) - 1;
}

std::int32_t BundleMaker::fixed(const std::string& name, std::int64_t work_ns) {
  Bundle b;
  b.name = builder_.name(name);
  b.work_ns = std::max<std::int64_t>(0, work_ns);
  b.spread_work_ns = 0;
  std::fill(std::begin(b.rate), std::end(b.rate), std::int64_t{1} << 20);
  program_.bundles.push_back(b);
  launches_.push_back(0);
  return static_cast<std::int32_t>(program_.bundles.size()) - 1;
}

}  // namespace twin::step
