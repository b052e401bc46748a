// A dense decoder-only transformer (GPT and Llama families), as plain data. Mixture of experts and MLA come later.
#pragma once
#include <cstdint>
#include <string>

namespace twin::work {

struct Model {
  std::string name;
  std::int64_t layers = 0, hidden = 0, heads = 0, kv_heads = 0, head_dim = 0, ffn = 0, vocab = 0;
  bool gated_mlp = false;  // SwiGLU/GeGLU: two input projections
  bool tied_embeddings = false;
  bool learned_positions = false;
  bool rms_norm = false;  // else LayerNorm with bias
  bool biases = true;     // linear layers carry biases (GPT); Llama has none
  bool qkv_bias = false;  // only the qkv projection carries one (Qwen2); means nothing with biases
  bool alibi = false;     // positions as an attention bias: no rotary kernel (BLOOM, MPT)
  double dropout = 0;     // GPT of 2019-2022 trained with 0.1: masks are saved
  std::int64_t max_positions = 0;
  std::string source;

  std::int64_t layer_parameters() const;      // one transformer block
  std::int64_t embedding_parameters() const;  // token (and learned position) table
  std::int64_t head_parameters() const;       // output projection; 0 when tied
  std::int64_t parameters() const;            // total
  // Forward matmul FLOPs of one token at sequence length seq, LM head included; attention full (not halved) or causal
  // (half).
  double forward_flops_per_token(std::int64_t seq, bool causal) const;
};

}  // namespace twin::work
