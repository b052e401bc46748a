// Error figures over a set of rows. error = predicted / measured - 1. Percentiles interpolate linearly between order
// statistics (position q (n - 1)), so that the median of two values is their mean.
#pragma once
#include <vector>

namespace twin::validate {

struct ErrorStats {
  int count = 0;
  double median = 0;  // of |error|
  double p90 = 0;     // of |error|
  double bias = 0;    // median of error
  double mean = 0;    // of |error|
};

double percentile(std::vector<double> values, double q);  // NaN for none
ErrorStats error_stats(const std::vector<double>& errors);
// The smallest value below which a share q of the weight lies.
double weighted_quantile(const std::vector<double>& values, const std::vector<double>& weights, double q);

}  // namespace twin::validate
