// Signs in fitted constants that a mechanism is missing: an efficiency above what was measured as the ceiling, a stack
// residual that does the work of a mechanism, a value far outside its prior. Printed by validate; thresholds are in the
// header's words.
#include <fmt/format.h>
#include <cmath>
#include "sim/device/constants.hpp"

namespace twin::device {

namespace {

constexpr double kCeilingError = 1.03;
constexpr double kResidual = 0.15;
constexpr double kSpreads = 3;

bool is_share(const Constant& c) { return c.unit.starts_with("share") || c.unit.starts_with("of "); }

}  // namespace

std::vector<std::string> structure_warnings(const Constants& constants) {
  std::vector<std::string> out;
  for (const Constant& c : constants.all()) {
    if (is_share(c) && c.value > kCeilingError)
      out.push_back(fmt::format("{} = {:.3f} ({}): above 1, a cost is exposed twice or the ceiling is too low", c.name,
                                c.value, c.unit));
    if (c.name.starts_with("stack.") && std::abs(std::log(c.value)) > kResidual)
      out.push_back(fmt::format("{} = {:.3f}: the residual does the work of a mechanism", c.name, c.value));
    if (c.sd > 0 && std::abs(std::log(c.value / c.prior)) > kSpreads * c.sd)
      out.push_back(fmt::format("{} = {:.4g}: {:.1f} spreads from its prior {:.4g}", c.name, c.value,
                                std::abs(std::log(c.value / c.prior)) / c.sd, c.prior));
  }
  return out;
}

}  // namespace twin::device
