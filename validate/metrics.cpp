#include "validate/metrics.hpp"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace twin::validate {

double percentile(std::vector<double> values, double q) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  const double position = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (position - static_cast<double>(below)) * (values[above] - values[below]);
}

ErrorStats error_stats(const std::vector<double>& errors) {
  ErrorStats out;
  out.count = static_cast<int>(errors.size());
  if (errors.empty()) return out;
  std::vector<double> magnitude(errors.size());
  std::transform(errors.begin(), errors.end(), magnitude.begin(), [](double e) { return std::abs(e); });
  out.median = percentile(magnitude, 0.5);
  out.p90 = percentile(magnitude, 0.9);
  out.bias = percentile(errors, 0.5);
  out.mean = std::accumulate(magnitude.begin(), magnitude.end(), 0.0) / static_cast<double>(errors.size());
  return out;
}

double weighted_quantile(const std::vector<double>& values, const std::vector<double>& weights, double q) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] != values[b] ? values[a] < values[b] : a < b; });
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double sum = 0;
  for (const std::size_t i : order) {
    sum += weights[i];
    if (sum >= q * total) return values[i];
  }
  return values[order.back()];
}

}  // namespace twin::validate
