// What a block keeps for its backward pass, per micro batch and device. Korthikanti et al. (arXiv 2205.05198), for s
// tokens, b sequences, h hidden, a heads, t tensor ways, 16-bit activations and masks of a byte:
//   no recompute        s b h (10 + 24/t + 5 a s/(h t))      eq. 2      with sp: s b h/t (34 + 5 a s/h)     eq. 4
//   selective           the 5 a s/h term goes away                       with sp: 34 s b h/t                 eq. 6
//   full                2 s b h
// Generalised tensor by tensor: GQA (K and V of kv heads), gated MLP (g inputs of the activation), flash attention
// (fp32 log-sum-exp in place of the s x s tensors), no dropout (no masks), fp8 (GEMM inputs kept in a byte; what
// attention, norms and activation need stays 16-bit, so the projection keeps its input twice), rotary positions on a
// fused QKV output (Q and K are new tensors, V is a view that keeps all of the old one). Selective in TorchTitan keeps
// the outputs of attention and of every second matmul (sac_per_op) and reruns the rest.
#include <algorithm>
#include "workloads/block_shape.hpp"

namespace twin::work::detail {

using device::Kernel;
using device::Pass;

namespace {

double log_sum_exp_bytes(const Dims& d) { return 4.0 * static_cast<double>(d.tokens * d.heads); }

// The s x s tensors of unfused attention: probabilities, and with dropout its mask and output.
double score_bytes(const Dims& d) {
  return (d.element + (d.model.dropout > 0 ? 1 + d.element : 0)) * d.score_elements();
}

double core_bytes(const Dims& d) { return is_flash(d.stack) ? log_sum_exp_bytes(d) : score_bytes(d); }

double all_bytes(const Dims& d) {
  const auto g = static_cast<double>(d.gates);
  double outside = 2 * d.element + 2 * d.saved_input;  // both norms' inputs, both column-parallel GEMMs' inputs
  if (d.model.dropout > 0) outside += 2;               // both residual dropouts' masks
  double inside = d.element * d.qkv_elements() + d.saved_input * d.q_elements();  // q, k, v; projection input
  if (d.saved_input < d.element && is_flash(d.stack)) inside += d.element * d.q_elements();  // attention's own output
  const bool rotary = !d.model.learned_positions && !d.model.alibi;
  if (rotary && fused_qkv(d.stack)) inside += d.element * (d.q_elements() + d.kv_elements());  // V is a view of QKV
  inside += d.element * g * d.ffn_elements() + d.saved_input * d.ffn_elements();  // activation inputs; fc2 input
  if (!d.stack.fused_bias_activation && d.model.gated_mlp) inside += d.element * d.ffn_elements();  // silu's output
  return outside * d.sp_hidden_elements() + inside + core_bytes(d);
}

// Block input; outputs of wq, wv, w1, w2 and of attention with its log-sum-exp (wk, wo and w3 run again).
double every_second_matmul_bytes(const Dims& d) {
  return d.element * (2 * d.sp_hidden_elements() + 2 * d.q_elements() + d.kv_elements() + d.ffn_elements()) +
         log_sum_exp_bytes(d);
}

bool per_op(const Dims& d) { return d.stack.sac_per_op && is_flash(d.stack); }

double selective_bytes(const Dims& d) {
  if (per_op(d)) return every_second_matmul_bytes(d);
  if (d.stack.sac_cheap) return all_bytes(d) - d.saved_input * (2 * d.sp_hidden_elements() + d.ffn_elements());
  return all_bytes(d) - core_bytes(d);
}

void append(std::vector<Kernel>& to, const std::vector<Kernel>& from) { to.insert(to.end(), from.begin(), from.end()); }

void rerun_every_second_matmul(std::vector<Kernel>& again, const Dims& d) {
  const auto rerun = [&](std::int64_t in, std::int64_t out, const char* label) {
    again.push_back(gemm(d, d.gemm, Pass::kForward, {.m = d.tokens, .n = out, .k = in}, label));
  };
  again.push_back(norm_forward(d, "attention norm again"));
  rerun(d.hidden, d.kv_heads * d.head_dim, "wk again");
  append(again, rotary(d, Pass::kForward));
  append_cast(again, d, Pass::kForward, d.q_elements(), "proj input cast again");
  rerun(d.heads * d.head_dim, d.hidden, "wo again");
  append(again, residual_forward(d, "attention residual again"));
  again.push_back(norm_forward(d, "mlp norm again"));
  if (d.model.gated_mlp) rerun(d.hidden, d.ffn, "w3 again");
  append(again, activation_forward(d));
  append_cast(again, d, Pass::kForward, d.ffn_elements(), "fc2 input cast again");
}

// Largest transient of the backward pass: gradients of the widest tensors beside their gathered input.
double transient_bytes(const Dims& d) {
  const double gathered = (d.sharded_inputs ? d.element * d.hidden_elements() : 0) + d.element * d.hidden_elements();
  const double mlp = d.element * static_cast<double>(d.gates + 1) * d.ffn_elements();
  const double attention = d.element * (d.qkv_elements() + d.q_elements()) +
                           (is_flash(d.stack) ? 4 * d.q_elements() : 2 * d.element * d.score_elements());
  return gathered + std::max(mlp, attention);
}

}  // namespace

void fill_saved(Block& block, const Dims& d) {
  const double boundary = d.element * d.sp_hidden_elements();
  block.tp_message_bytes = round_bytes(d.element * d.hidden_elements());
  block.boundary_bytes = round_bytes(boundary);
  block.saved_bytes_none = round_bytes(all_bytes(d));
  block.saved_bytes_selective = round_bytes(selective_bytes(d));
  block.saved_bytes_full = block.boundary_bytes;
  block.working_bytes = round_bytes(transient_bytes(d));
}

// Megatron: the attention core runs again (also where it is a fused kernel, whose rerun saves only the log-sum-exp).
// TorchTitan: norms, rotary, activation, residual, and every second of wq, wk, wv, wo, w1, w3, w2.
void fill_recompute(Block& block, const Dims& d) {
  auto& again = block.recompute_attention_core;
  if (per_op(d)) {
    rerun_every_second_matmul(again, d);
  } else if (d.stack.sac_cheap) {
    again = {norm_forward(d, "attention norm again"), norm_forward(d, "mlp norm again")};
    append(again, activation_forward(d));
    append_cast(again, d, Pass::kForward, d.ffn_elements(), "fc2 input cast again");
  } else {
    again = attention_core_forward(d);
  }
}

}  // namespace twin::work::detail
