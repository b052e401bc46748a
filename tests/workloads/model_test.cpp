// Parameter counts against published totals (checkpoints' own counts), FLOPs against the closed form.
#include "workloads/model.hpp"

#include <catch2/catch.hpp>

using twin::work::Model;

namespace {

Model llama(std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t kv, std::int64_t ffn,
            std::int64_t vocab) {
  Model m;
  m.layers = layers, m.hidden = hidden, m.heads = heads, m.kv_heads = kv, m.head_dim = hidden / heads;
  m.ffn = ffn, m.vocab = vocab, m.gated_mlp = m.rms_norm = true, m.biases = false;
  return m;
}

Model gpt(std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t vocab, std::int64_t positions) {
  Model m;
  m.layers = layers, m.hidden = hidden, m.heads = m.kv_heads = heads, m.head_dim = hidden / heads;
  m.ffn = 4 * hidden, m.vocab = vocab, m.tied_embeddings = m.learned_positions = true, m.max_positions = positions;
  return m;
}

}  // namespace

TEST_CASE("parameters of Llama checkpoints are exact", "[fast]") {
  CHECK(llama(32, 4096, 32, 32, 11008, 32000).parameters() == 6738415616);
  CHECK(llama(40, 5120, 40, 40, 13824, 32000).parameters() == 13015864320);
  CHECK(llama(80, 8192, 64, 8, 28672, 32000).parameters() == 68976648192);
  CHECK(llama(32, 4096, 32, 8, 14336, 128256).parameters() == 8030261248);
  CHECK(llama(80, 8192, 64, 8, 28672, 128256).parameters() == 70553706496);
  CHECK(llama(126, 16384, 128, 8, 53248, 128256).parameters() == 405853388800);
}

TEST_CASE("parameters of GPT models with biases, LayerNorm, positions and tied heads are exact", "[fast]") {
  CHECK(gpt(12, 768, 12, 50257, 1024).parameters() == 124439808);    // GPT-2 checkpoint
  CHECK(gpt(48, 1600, 25, 50257, 1024).parameters() == 1557611200);  // GPT-2 XL checkpoint
  CHECK(gpt(96, 12288, 96, 50257, 2048).parameters() == Approx(175e9).epsilon(0.005));
  Model bloom = gpt(70, 14336, 112, 250880, 0);
  bloom.learned_positions = false;
  // The checkpoint has one more LayerNorm, after the embedding: 2 h parameters.
  CHECK(bloom.parameters() + 2 * bloom.hidden == 176247271424);
}

TEST_CASE("Qwen2 carries a bias on qkv alone", "[fast]") {
  Model m = llama(28, 3584, 28, 4, 18944, 152064);
  m.qkv_bias = true;
  CHECK(m.parameters() == 7615616512);  // Qwen2-7B checkpoint
}

TEST_CASE("FLOPs are two per matmul parameter and the attention matmuls", "[fast]") {
  const Model m = llama(2, 64, 4, 2, 128, 1000);
  // Per layer: q and o 2 x 64 x 64, k and v 2 x 64 x 32, three MLP matrices 3 x 64 x 128; head 1000 x 64.
  const double matmul = 2.0 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 128) + 1000.0 * 64;
  CHECK(m.forward_flops_per_token(512, false) == 2 * matmul + 2 * 4.0 * 512 * 64);
  CHECK(m.forward_flops_per_token(512, true) == 2 * matmul + 2 * 2.0 * 512 * 64);
  Model tied = m;
  tied.tied_embeddings = true;
  CHECK(tied.forward_flops_per_token(512, true) == m.forward_flops_per_token(512, true));
}
