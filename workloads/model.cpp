// Parameter counts and matmul FLOPs of a dense decoder. Per layer: qkv h (a + 2 kv) d, projection a d h, MLP (g + 1) h
// f with g = 2 for a gated MLP; linear biases, norms (one vector for RMSNorm, two for LayerNorm), learned positions;
// exact, tested against published totals. FLOPs: 2 per matmul parameter and token, and 4 s a d a layer for the two
// attention matmuls (half of that when the causal half is skipped). Embedding look-ups cost no FLOPs; the LM head does,
// tied or not.
#include "workloads/model.hpp"

namespace twin::work {

namespace {

std::int64_t norm_parameters(const Model& m) { return m.hidden * (m.rms_norm ? 1 : 2); }

std::int64_t matmul_parameters(const Model& m) {  // of one layer, without biases
  const std::int64_t attention = m.hidden * (m.heads + 2 * m.kv_heads) * m.head_dim + m.heads * m.head_dim * m.hidden;
  return attention + (m.gated_mlp ? 3 : 2) * m.hidden * m.ffn;
}

}  // namespace

std::int64_t Model::layer_parameters() const {
  std::int64_t total = matmul_parameters(*this) + 2 * norm_parameters(*this);
  if (biases)
    total += (heads + 2 * kv_heads) * head_dim + hidden + (gated_mlp ? 2 : 1) * ffn + hidden;
  else if (qkv_bias)
    total += (heads + 2 * kv_heads) * head_dim;
  return total;
}

std::int64_t Model::embedding_parameters() const { return (vocab + (learned_positions ? max_positions : 0)) * hidden; }

std::int64_t Model::head_parameters() const { return tied_embeddings ? 0 : vocab * hidden; }

std::int64_t Model::parameters() const {
  return layers * layer_parameters() + embedding_parameters() + head_parameters() + norm_parameters(*this);
}

double Model::forward_flops_per_token(std::int64_t seq, bool causal) const {
  const double dense = 2.0 * (static_cast<double>(layers) * static_cast<double>(matmul_parameters(*this)) +
                              static_cast<double>(vocab) * static_cast<double>(hidden));
  const double attention = 4.0 * static_cast<double>(layers) * static_cast<double>(seq) * static_cast<double>(heads) *
                           static_cast<double>(head_dim);
  return dense + (causal ? 0.5 : 1.0) * attention;
}

}  // namespace twin::work
