// Assembles a block and the model's two ends from their parts (block_attention, block_mlp, block_saved).
// Ends: vocabulary-parallel embedding and LM head. Loss traffic per logit (Megatron's vocab_parallel_cross_entropy):
//   fused    forward: read 16 bit for the maximum; read, subtract, exponentiate, sum, write fp32; normalise: 2 + 2 + 4
//   + 8
//            backward: read fp32, subtract the target, write 16 bit: 4 + 2
//   unfused  forward: cast 6, maximum 4, subtract 8, exponentiate 8, sum 4, divide 8; backward: 8 + 8 and cast 6
// The embedding's gradient is a dense table of its own: zeroed, scattered into, then added to the main gradient.
#include "workloads/layers.hpp"

#include "workloads/block_shape.hpp"

namespace twin::work {

using detail::Dims;
using device::Kernel;
using device::Pass;

namespace {

void fill_parameters(Block& block, const Dims& d) {
  const Model& m = d.model;
  const auto h = static_cast<double>(d.hidden), hd = static_cast<double>(d.head_dim);
  const auto a = static_cast<double>(d.heads), kv = static_cast<double>(d.kv_heads), f = static_cast<double>(d.ffn);
  const auto g = static_cast<double>(d.gates);
  const double qkv = (a + 2 * kv) * hd;
  double sharded = h * qkv + a * hd * h + (g + 1) * h * f;
  double replicated = 2 * detail::norm_vectors(m) * h;
  if (m.biases)
    sharded += qkv + g * f, replicated += 2 * h;
  else if (m.qkv_bias)
    sharded += qkv;
  block.parameters = sharded + replicated;
  block.norm_parameters = replicated;
}

void fill_embedding(Ends& ends, const Dims& d) {
  const Model& m = d.model;
  const bool dropout = m.dropout > 0;
  const double rows = d.hidden_elements(), table = static_cast<double>(d.vocab * d.hidden);
  double forward = 2 * d.element * rows;  // gather: read the rows, write them
  if (m.learned_positions) forward += 2 * d.element * rows;
  ends.embedding = {detail::elementwise(d, Pass::kForward, forward, "embedding", m.learned_positions ? 2 : 1)};
  double backward = d.element * (2 * rows + table);
  if (d.stack.main_grad_fp32) backward += (d.element + 8) * table;
  ends.embedding_backward = {detail::elementwise(d, Pass::kBackward, backward, "embedding backward", 3)};
  if (dropout) {
    const double bytes = (2 * d.element + 1) * d.sp_hidden_elements();
    ends.embedding.push_back(detail::elementwise(d, Pass::kForward, bytes, "embedding dropout"));
    ends.embedding_backward.insert(ends.embedding_backward.begin(),
                                   detail::elementwise(d, Pass::kBackward, bytes, "embedding dropout backward"));
  }
  ends.embedding_saved_bytes =
      detail::round_bytes(8.0 * static_cast<double>(d.tokens) + (dropout ? d.sp_hidden_elements() : 0));
  ends.table_parameters = table;
  ends.embedding_parameters = table + (m.learned_positions ? static_cast<double>(m.max_positions * d.hidden) : 0.0);
}

void fill_head(Ends& ends, const Dims& d, int tp) {
  const bool fused = d.stack.fused_cross_entropy;
  const double logits = static_cast<double>(d.tokens) * static_cast<double>(d.vocab);
  const auto head = detail::linear(d, {d.hidden, d.vocab, d.half, "lm head", "lm head dgrad", "lm head wgrad"});
  ends.head = {detail::norm_forward(d, "final norm", false), head.forward,
               detail::elementwise(d, Pass::kForward, (fused ? 16 : 38) * logits, "loss", fused ? 3 : 7)};
  ends.head_backward = {
      detail::elementwise(d, Pass::kBackward, (fused ? 6 : 22) * logits, "loss backward", fused ? 1 : 3), head.dgrad,
      head.wgrad, detail::norm_backward(d, "final norm backward")};
  // Korthikanti et al., section 4.3: inputs of the norm and of the output layer, fp32 probabilities.
  ends.head_saved_bytes = detail::round_bytes(2 * d.element * d.sp_hidden_elements() + 4 * logits);
  // Beside them: 16-bit logits; unfused, Megatron's fp32 copy; in plain PyTorch also the fp32 gradient beside the copy.
  const double copies = fused ? 0 : d.stack.params_fp32 ? 8 : 4;
  ends.logits_bytes = detail::round_bytes((d.element + copies) * logits);
  ends.head_parameters =
      static_cast<double>(d.vocab * d.hidden) + detail::norm_vectors(d.model) * static_cast<double>(d.hidden);
  // Maximum, target logit and sum of exponentials of each token, fp32.
  ends.loss_reduce_bytes = tp > 1 ? 3 * 4 * d.tokens : 0;
}

}  // namespace

Block make_block(const Model& model, const Shape& shape, Precision precision, const Stack& stack, double fusion) {
  const Dims d(model, shape, precision, stack, fusion);
  Block block;
  detail::fill_attention(block, d);
  detail::fill_mlp(block, d);
  detail::fill_recompute(block, d);
  detail::fill_saved(block, d);
  fill_parameters(block, d);
  return block;
}

Ends make_ends(const Model& model, const Shape& shape, Precision precision, const Stack& stack, double fusion) {
  const Dims d(model, shape, precision, stack, fusion);
  Ends ends;
  fill_embedding(ends, d);
  fill_head(ends, d, shape.tp);
  return ends;
}

}  // namespace twin::work
