// The MLP half: norm, fc1, bias and activation, fc2, residual.
// Activation traffic per ffn element: fused (GeLU, SwiGLU with its bias in one kernel) reads the g inputs and writes
// one output; backward reads the gradient and the g inputs and writes g. Unfused: bias add and product are passes of
// their own.
#include "workloads/block_shape.hpp"

namespace twin::work::detail {

using device::Kernel;
using device::Pass;

std::vector<Kernel> activation_forward(const Dims& d) {
  const auto g = static_cast<double>(d.gates);
  double passes = g + 1;
  int launches = 1;
  if (!d.stack.fused_bias_activation) {
    if (d.model.biases) passes += 2 * g, ++launches;
    if (d.model.gated_mlp) passes += 2, ++launches;  // silu writes, the product reads it again
  }
  return {elementwise(d, Pass::kForward, passes * d.element * d.ffn_elements(), d.model.gated_mlp ? "swiglu" : "gelu",
                      launches)};
}

std::vector<Kernel> activation_backward(const Dims& d) {
  const auto g = static_cast<double>(d.gates);
  double passes = 2 * g + 1;
  int launches = 1;
  if (d.model.biases) passes += g, ++launches;  // bias gradient: reads the gradient of the inputs
  if (!d.stack.fused_bias_activation && d.model.gated_mlp) passes += 3, ++launches;  // product, then silu
  return {elementwise(d, Pass::kBackward, passes * d.element * d.ffn_elements(),
                      d.model.gated_mlp ? "swiglu backward" : "gelu backward", launches)};
}

void fill_mlp(Block& block, const Dims& d) {
  const std::int64_t width = d.gates * d.ffn;
  const Linear fc1 = linear(d, {d.hidden, width, d.gemm, "fc1", "fc1 dgrad", "fc1 wgrad"});
  const Linear fc2 = linear(d, {d.ffn, d.hidden, d.gemm, "fc2", "fc2 dgrad", "fc2 wgrad"});

  BlockHalf& f = block.mlp;
  f.pre = {norm_forward(d, "mlp norm")};
  f.first_gemm = {fc1.forward};
  f.core = activation_forward(d);
  append_cast(f.core, d, Pass::kForward, d.ffn_elements(), "fc2 input cast");
  f.last_gemm = {fc2.forward};
  f.post = residual_forward(d, "mlp residual");

  BlockBackwardHalf& b = block.mlp_backward;
  b.post = residual_backward(d, "mlp residual backward");
  append_cast(b.post, d, Pass::kBackward, d.hidden_elements(), "fc2 gradient cast");
  b.last_dgrad = {fc2.dgrad};
  b.last_wgrad = weight_gradient(d, fc2.wgrad);
  b.core = activation_backward(d);
  append_cast(b.core, d, Pass::kBackward, static_cast<double>(d.gates) * d.ffn_elements(), "fc1 gradient cast");
  b.first_dgrad = {fc1.dgrad};
  b.first_wgrad = weight_gradient(d, fc1.wgrad);
  b.pre = {norm_backward(d, "mlp norm backward")};
}

}  // namespace twin::work::detail
