// Number formats: names as scenarios and constants spell them, and bytes per element as stored in HBM.
#include "sim/core/check.hpp"
#include "sim/device/spec.hpp"

namespace twin::device {

namespace {
constexpr std::array<const char*, static_cast<std::size_t>(Dtype::kCount)> kNames = {"fp32", "tf32", "bf16",
                                                                                     "fp16", "fp8",  "fp4"};
constexpr std::array<double, static_cast<std::size_t>(Dtype::kCount)> kBytes = {4, 4, 2, 2, 1, 0.5};
}  // namespace

const char* name(Dtype d) {
  TWIN_CHECK(d < Dtype::kCount);
  return kNames[static_cast<std::size_t>(d)];
}

double bytes(Dtype d) {
  TWIN_CHECK(d < Dtype::kCount);
  return kBytes[static_cast<std::size_t>(d)];
}

}  // namespace twin::device
