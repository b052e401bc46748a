// Integer arithmetic that the fluid's files share (units: fluid.hpp).
#pragma once
#include <cstdint>
#include <limits>
#include "sim/core/fluid.hpp"

namespace twin::core::detail {

inline Int128 spread(std::int64_t capacity) { return Int128{capacity} << 20; }  // in the unit of weight x rate

// floor(n / d) for n >= 0, d > 0, saturated; a 128-bit division costs ten times a 64-bit one and is rarely needed.
inline std::int64_t quotient(Int128 n, Int128 d) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (n <= kMost && d <= kMost) return static_cast<std::int64_t>(n) / static_cast<std::int64_t>(d);
  const Int128 q = n / d;
  return q > kMost ? kMost : static_cast<std::int64_t>(q);
}

}  // namespace twin::core::detail
