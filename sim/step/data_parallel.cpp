#include "sim/step/data_parallel.hpp"

namespace twin::step {

double gradient_wire_bytes(const work::Scenario& s) {
  return s.stack.grad_reduce_fp32 || s.precision == work::Precision::kFp32 ? 4 : 2;
}

double parameter_wire_bytes(const work::Scenario& s, const Unit& unit) {
  if (s.precision == work::Precision::kFp32) return 4;
  const bool fp8 = s.precision >= work::Precision::kFp8 && s.stack.fp8_param_gather;
  return fp8 && unit.kind == Unit::Kind::kLayer ? 1 : 2;  // embedding and head stay 16 bit
}

}  // namespace twin::step
