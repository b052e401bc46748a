// The attention half: norm, qkv, rotary, core, projection, residual.
// FLOPs of the core, forward: 4 s^2 d per head and sequence (QK^T and PV), half of it where the kernel skips the masked
// half; backward of a fused kernel 2.5 times that (five matmuls against two, scores recomputed); unfused: four matmuls,
// 2 times. Unfused attention materialises the s x s scores and passes over them (Megatron-LM core attention):
//   softmax   fused scale+mask+softmax: read, write. Else scale, mask, softmax: 3 passes, and in fp32 for the softmax
//   dropout   read, write, mask of a byte
//   backward  dropout: read, mask, write; softmax: read gradient and output, write (unfused: and 2 passes more)
// and copies q, k, v and the context into its head-major layout.
#include "workloads/block_shape.hpp"

namespace twin::work::detail {

using device::Kernel;
using device::KernelKind;
using device::Pass;

namespace {

Kernel flash(const Dims& d, Pass pass) {
  const bool backward = pass == Pass::kBackward;
  Kernel kernel{.kind = KernelKind::kAttention, .pass = pass, .dtype = d.half, .causal = d.stack.causal_skip};
  kernel.m = d.seq;
  kernel.n = d.seq;
  kernel.k = d.head_dim;
  kernel.batch = d.micro * d.heads;
  kernel.flops =
      4 * d.score_elements() * static_cast<double>(d.head_dim) * (d.stack.causal_skip ? 0.5 : 1) * (backward ? 2.5 : 1);
  // Forward: q, k, v in, o out. Backward: q, k, v, o, do in (o and do again for their row sums), dq, dk, dv out, and dq
  // accumulated in fp32 (written and read once).
  kernel.bytes = backward ? d.element * (6 * d.q_elements() + 4 * d.kv_elements()) + 8 * d.q_elements()
                          : d.element * 2 * (d.q_elements() + d.kv_elements());
  kernel.launches = backward ? 3 : 1;
  kernel.label = backward ? "attention backward" : "attention";
  return kernel;
}

GemmShape scores_shape(const Dims& d) { return {.m = d.seq, .n = d.seq, .k = d.head_dim, .batch = d.micro * d.heads}; }
GemmShape context_shape(const Dims& d) { return {.m = d.seq, .n = d.head_dim, .k = d.seq, .batch = d.micro * d.heads}; }

Kernel copy_heads(const Dims& d, Pass pass,
                  const char* label) {  // q, k, v in and the context out, to their layout and back
  return elementwise(d, pass, 2 * d.element * (d.qkv_elements() + d.q_elements()), label, 4);
}

}  // namespace

std::vector<Kernel> attention_core_forward(const Dims& d) {
  if (is_flash(d.stack)) return {flash(d, Pass::kForward)};
  std::vector<Kernel> kernels{copy_heads(d, Pass::kForward, "attention layout"),
                              gemm(d, d.half, Pass::kForward, scores_shape(d), "scores")};
  const double softmax = d.stack.fused_softmax ? 2 * d.element : 2 * d.element + 2 * d.element + (d.element + 4) + 8;
  kernels.push_back(
      elementwise(d, Pass::kForward, softmax * d.score_elements(), "softmax", d.stack.fused_softmax ? 1 : 4));
  if (d.model.dropout > 0)
    kernels.push_back(elementwise(d, Pass::kForward, (2 * d.element + 1) * d.score_elements(), "attention dropout"));
  kernels.push_back(gemm(d, d.half, Pass::kForward, context_shape(d), "context"));
  return kernels;
}

std::vector<Kernel> attention_core_backward(const Dims& d) {
  if (is_flash(d.stack)) return {flash(d, Pass::kBackward)};
  // Gradients of both operands of a batched matmul: neither touches a parameter.
  std::vector<Kernel> kernels{gemm(d, d.half, Pass::kBackwardData, scores_shape(d), "probabilities grad"),
                              gemm(d, d.half, Pass::kBackwardData, context_shape(d), "value grad")};
  if (d.model.dropout > 0)
    kernels.push_back(
        elementwise(d, Pass::kBackward, (2 * d.element + 1) * d.score_elements(), "attention dropout backward"));
  const double softmax = d.stack.fused_softmax ? 3 * d.element : 12 + (d.element + 4) + 2 * d.element + 2 * d.element;
  kernels.push_back(
      elementwise(d, Pass::kBackward, softmax * d.score_elements(), "softmax backward", d.stack.fused_softmax ? 1 : 4));
  kernels.push_back(gemm(d, d.half, Pass::kBackwardData, context_shape(d), "query grad"));
  kernels.push_back(gemm(d, d.half, Pass::kBackwardData, context_shape(d), "key grad"));
  kernels.push_back(copy_heads(d, Pass::kBackward, "attention layout backward"));
  return kernels;
}

// Reads and writes q and k; none with learned positions or ALiBi.
std::vector<Kernel> rotary(const Dims& d, Pass pass) {
  if (d.model.learned_positions || d.model.alibi) return {};
  return {elementwise(d, pass, 2 * d.element * (d.q_elements() + d.kv_elements()),
                      pass == Pass::kForward ? "rotary" : "rotary backward", 2)};
}

void fill_attention(Block& block, const Dims& d) {
  const std::int64_t q_width = d.heads * d.head_dim, qkv_width = q_width + 2 * d.kv_heads * d.head_dim;
  const Linear qkv = linear(d, {d.hidden, qkv_width, d.gemm, "qkv", "qkv dgrad", "qkv wgrad"});
  const Linear proj = linear(d, {q_width, d.hidden, d.gemm, "proj", "proj dgrad", "proj wgrad"});
  const bool bias = d.model.biases || d.model.qkv_bias;

  BlockHalf& f = block.attention;
  f.pre = {norm_forward(d, "attention norm")};
  f.first_gemm = {qkv.forward};
  if (bias && !d.stack.fused_bias_activation)  // else the GEMM's epilogue adds it
    f.core.push_back(elementwise(d, Pass::kForward, 2 * d.element * d.qkv_elements(), "qkv bias"));
  for (const Kernel& k : rotary(d, Pass::kForward)) f.core.push_back(k);
  for (const Kernel& k : attention_core_forward(d)) f.core.push_back(k);
  append_cast(f.core, d, Pass::kForward, d.q_elements(), "proj input cast");
  f.last_gemm = {proj.forward};
  f.post = residual_forward(d, "attention residual");

  BlockBackwardHalf& b = block.attention_backward;
  b.post = residual_backward(d, "attention residual backward");
  append_cast(b.post, d, Pass::kBackward, d.hidden_elements(), "proj gradient cast");
  b.last_dgrad = {proj.dgrad};
  b.last_wgrad = weight_gradient(d, proj.wgrad);
  b.core = attention_core_backward(d);
  for (const Kernel& k : rotary(d, Pass::kBackward)) b.core.push_back(k);
  if (bias) b.core.push_back(elementwise(d, Pass::kBackward, d.element * d.qkv_elements(), "qkv bias grad"));
  append_cast(b.core, d, Pass::kBackward, d.qkv_elements(), "qkv gradient cast");
  b.first_dgrad = {qkv.dgrad};
  b.first_wgrad = weight_gradient(d, qkv.wgrad);
  b.pre = {norm_backward(d, "attention norm backward")};
}

}  // namespace twin::work::detail
