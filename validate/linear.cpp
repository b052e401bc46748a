#include "validate/linear.hpp"
#include <cmath>

namespace twin::validate {

std::optional<std::vector<double>> solve_spd(Matrix a, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t j = 0; j < n; ++j) {
    double d = a.at(j, j);
    for (std::size_t k = 0; k < j; ++k) d -= a.at(j, k) * a.at(j, k);
    if (!(d > 0)) return std::nullopt;
    const double root = std::sqrt(d);
    a.at(j, j) = root;
    for (std::size_t i = j + 1; i < n; ++i) {
      double v = a.at(i, j);
      for (std::size_t k = 0; k < j; ++k) v -= a.at(i, k) * a.at(j, k);
      a.at(i, j) = v / root;
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= a.at(i, k) * b[k];
    b[i] /= a.at(i, i);
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= a.at(k, i) * b[k];
    b[i] /= a.at(i, i);
  }
  return b;
}

}  // namespace twin::validate
