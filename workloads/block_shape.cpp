// Sizes per device and the builders that all parts of a block share. KV heads below tp are replicated (Megatron), so a
// device holds at least one. The vocabulary is padded up to a multiple of tp.
//
// fp8 casts, bytes per element of an operand that both orientations of a GEMM need (Transformer Engine, torchao):
//   delayed      read 2, write 1 + 1 transposed; amax rides along
//   tensorwise   one more read of 2 for the amax before the scale is known (current scaling)
//   rowwise      the row-scaled and the column-scaled copy, each read 2, write 1 (torchao, compiled)
//   blockwise    as delayed, with a 4-byte scale per 128 elements and orientation
//   mxfp8        as delayed, with a 1-byte scale per 32 elements and orientation
// A norm before a GEMM writes the fp8 operand itself (saves the read), except where the scale is not known yet.
#include "workloads/block_shape.hpp"

#include <algorithm>
#include "sim/core/check.hpp"

namespace twin::work::detail {

using device::Dtype;
using device::Kernel;
using device::KernelKind;
using device::Pass;

namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

double cast_traffic(Precision p) {
  switch (p) {
    case Precision::kFp8:
      return 4;
    case Precision::kFp8Tensorwise:
      return 6;
    case Precision::kFp8Rowwise:
      return 6;
    case Precision::kFp8Blockwise:
      return 4 + 2 * 4.0 / 128;
    case Precision::kMxfp8:
      return 4 + 2 * 1.0 / 32;
    default:
      return 0;
  }
}

Dtype half_type(Precision p) {
  return p == Precision::kFp32 ? Dtype::kFp32 : p == Precision::kFp16 ? Dtype::kFp16 : Dtype::kBf16;
}

}  // namespace

Dims::Dims(const Model& m, const Shape& shape, Precision precision, const Stack& s, double fusion_factor)
    : model(m), stack(s), fusion(fusion_factor), micro(shape.micro), seq(shape.seq), tokens(shape.micro * shape.seq) {
  TWIN_CHECK(shape.tp >= 1 && shape.micro >= 1 && shape.seq >= 1);
  sp_tokens = shape.sp ? divide_up(tokens, shape.tp) : tokens;
  sharded_inputs = shape.sp && shape.tp > 1;
  hidden = m.hidden;
  heads = divide_up(m.heads, shape.tp);
  kv_heads = std::max<std::int64_t>(1, divide_up(m.kv_heads, shape.tp));
  head_dim = m.head_dim;
  ffn = divide_up(m.ffn, shape.tp);
  gates = m.gated_mlp ? 2 : 1;
  vocab = divide_up(m.vocab, shape.tp);
  half = half_type(precision);
  element = half == Dtype::kFp32 ? 4 : 2;
  cast_bytes = cast_traffic(precision);
  const bool fp8 = cast_bytes > 0;
  gemm = fp8 ? Dtype::kFp8 : half;
  saved_input = fp8 ? 1 : element;
  const bool late_scale = precision == Precision::kFp8Tensorwise || precision == Precision::kFp8Rowwise;
  norm_cast_bytes = !fp8         ? 0
                    : late_scale ? cast_bytes
                                 : cast_bytes - 4;  // writes 1 + 1 in place of 2, reads nothing again
}

Kernel gemm(const Dims& d, Dtype dtype, Pass pass, GemmShape g, const char* label) {
  const auto m = static_cast<double>(g.m), n = static_cast<double>(g.n), k = static_cast<double>(g.k);
  const auto batch = static_cast<double>(g.batch);
  const double in = dtype == Dtype::kFp8 ? 1 : d.element;
  Kernel kernel{.kind = KernelKind::kGemm, .pass = pass, .dtype = dtype, .causal = false};
  kernel.m = g.m;
  kernel.n = g.n;
  kernel.k = g.k;
  kernel.batch = g.batch;
  kernel.accumulate_fp32 = pass == Pass::kBackwardWeight && d.stack.main_grad_fp32 && d.stack.fused_grad_accumulation;
  kernel.flops = 2 * m * n * k * batch;
  kernel.bytes = batch * (in * (m * k + k * n) + (kernel.accumulate_fp32 ? 0 : d.element * m * n));
  kernel.label = label;
  return kernel;
}

std::vector<Kernel> weight_gradient(const Dims& d, const Kernel& wgrad) {
  if (d.stack.fused_grad_accumulation) return {wgrad};
  // The GEMM leaves a 16-bit gradient; an add reads it and reads and writes the accumulated one.
  const double per_element = d.element + 2 * (d.stack.main_grad_fp32 ? 4.0 : d.element);
  Kernel add{.kind = KernelKind::kElementwise, .pass = Pass::kBackwardWeight, .dtype = d.half};
  add.bytes = per_element * static_cast<double>(wgrad.m * wgrad.n * wgrad.batch);
  add.label = "gradient accumulation";
  return {wgrad, add};
}

Kernel elementwise(const Dims& d, Pass pass, double bytes, const char* label, int launches) {
  Kernel kernel{.kind = KernelKind::kElementwise, .pass = pass, .dtype = d.half};
  kernel.bytes = bytes * d.fusion;
  kernel.launches = launches;
  kernel.label = label;
  return kernel;
}

Linear linear(const Dims& d, const LinearShape& s) {
  return {.forward = gemm(d, s.dtype, Pass::kForward, {.m = d.tokens, .n = s.out, .k = s.in}, s.forward),
          .dgrad = gemm(d, s.dtype, Pass::kBackwardData, {.m = d.tokens, .n = s.in, .k = s.out}, s.dgrad),
          .wgrad = gemm(d, s.dtype, Pass::kBackwardWeight, {.m = s.out, .n = s.in, .k = d.tokens}, s.wgrad)};
}

void append_cast(std::vector<Kernel>& kernels, const Dims& d, Pass pass, double elements, const char* label) {
  if (d.cast_bytes > 0) kernels.push_back(elementwise(d, pass, d.cast_bytes * elements, label));
}

// Reads x, writes y; statistics are negligible.
Kernel norm_forward(const Dims& d, const char* label, bool feeds_fp8) {
  return elementwise(d, Pass::kForward, (2 * d.element + (feeds_fp8 ? d.norm_cast_bytes : 0)) * d.sp_hidden_elements(),
                     label);
}

// Reads dy and x, writes dx; then the residual branch: reads dx and the skip gradient, writes the sum.
Kernel norm_backward(const Dims& d, const char* label) {
  return elementwise(d, Pass::kBackward, 6 * d.element * d.sp_hidden_elements(), label, 2);
}

// Fused: reads the branch and the residual, writes the sum (and the dropout mask, a byte an element). Unfused: bias and
// dropout are passes of their own.
std::vector<Kernel> residual_forward(const Dims& d, const char* label) {
  const bool dropout = d.model.dropout > 0;
  double per_element = 3 * d.element + (dropout ? 1 : 0);
  int launches = 1;
  if (!d.stack.fused_bias_activation) {
    if (d.model.biases) per_element += 2 * d.element, ++launches;
    if (dropout) per_element += 2 * d.element, ++launches;
  }
  return {elementwise(d, Pass::kForward, per_element * d.sp_hidden_elements(), label, launches)};
}

// Dropout: reads dy and the mask, writes. Bias gradient: reads dy once more. Without both the gradient passes through.
std::vector<Kernel> residual_backward(const Dims& d, const char* label) {
  double per_element = 0;
  int launches = 0;
  if (d.model.dropout > 0) per_element += 2 * d.element + 1, ++launches;
  if (d.model.biases) per_element += d.element, ++launches;
  if (launches == 0) return {};
  return {elementwise(d, Pass::kBackward, per_element * d.sp_hidden_elements(), label, launches)};
}

}  // namespace twin::work::detail
