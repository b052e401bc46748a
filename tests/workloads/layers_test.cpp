// A block's saved activations against Korthikanti et al. (arXiv 2205.05198), its FLOPs against the model's, its
// kernels' bytes against counts by hand.
#include "workloads/layers.hpp"

#include <catch2/catch.hpp>
#include <string>

using namespace twin;
using work::Precision;

namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

work::Model gpt(std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
  work::Model m;
  m.layers = layers, m.hidden = hidden, m.heads = m.kv_heads = heads, m.head_dim = hidden / heads, m.ffn = 4 * hidden;
  m.vocab = 51200, m.tied_embeddings = m.learned_positions = true, m.max_positions = 2048, m.dropout = 0.1;
  return m;
}

work::Model llama8b() {
  work::Model m;
  m.layers = 32, m.hidden = 4096, m.heads = 32, m.kv_heads = 8, m.head_dim = 128, m.ffn = 14336, m.vocab = 128256;
  m.gated_mlp = m.rms_norm = true, m.biases = false;
  return m;
}

work::Stack unfused() {
  work::Stack s;
  s.attention = work::Stack::Attention::kUnfused;
  s.causal_skip = false;
  return s;
}

using Kernels = std::vector<device::Kernel>;
double flops(const Kernels& kernels) {
  double sum = 0;
  for (const auto& k : kernels) sum += k.flops;
  return sum;
}
double elementwise_bytes(const Kernels& kernels) {
  double sum = 0;
  for (const auto& k : kernels)
    if (k.kind == device::KernelKind::kElementwise) sum += k.bytes;
  return sum;
}
double flops(const work::BlockHalf& h) {
  return flops(h.pre) + flops(h.first_gemm) + flops(h.core) + flops(h.last_gemm) + flops(h.post);
}
double flops(const work::BlockBackwardHalf& h) {
  return flops(h.post) + flops(h.last_dgrad) + flops(h.last_wgrad) + flops(h.core) + flops(h.first_dgrad) +
         flops(h.first_wgrad) + flops(h.pre);
}
const device::Kernel& find(const Kernels& kernels, const std::string& label) {
  for (const auto& k : kernels)
    if (label == k.label) return k;
  FAIL("no kernel " << label);
  return kernels.front();
}

struct Published {
  std::int64_t layers, hidden, heads, micro;
  double in_flight;  // layers on the first stage x micro batches in flight there
  double none_gib, sp_selective_gib;
};

}  // namespace

TEST_CASE("saved activations equal the equations of Korthikanti et al.", "[fast]") {
  const double s = 2048, b = 4, h = 6144, a = 64, t = 8, sbh = s * b * h;
  const work::Model m = gpt(48, 6144, 64);
  const auto make = [&](bool sp) {
    return make_block(m, {.micro = 4, .seq = 2048, .tp = 8, .sp = sp}, Precision::kBf16, unfused(), 1);
  };
  CHECK(static_cast<double>(make(false).saved_bytes_none) ==
        Approx(sbh * (10 + 24 / t + 5 * a * s / (h * t))).epsilon(1e-12));  // eq. 2
  CHECK(static_cast<double>(make(true).saved_bytes_none) ==
        Approx(sbh / t * (34 + 5 * a * s / h)).epsilon(1e-12));  // eq. 4
  CHECK(static_cast<double>(make(false).saved_bytes_selective) == Approx(sbh * (10 + 24 / t)).epsilon(1e-12));
  CHECK(static_cast<double>(make(true).saved_bytes_selective) == Approx(sbh * 34 / t).epsilon(1e-12));  // eq. 6
  CHECK(static_cast<double>(make(false).saved_bytes_full) == 2 * sbh);
  CHECK(static_cast<double>(make(true).saved_bytes_full) == 2 * sbh / t);
}

TEST_CASE("activation memory equals the published budgets of the first stage", "[fast]") {
  // Interleaved 1F1B keeps layers x (1 + (p - 1) / (p v)) layers' worth on the first stage, 1F1B layers (eq. 5 and
  // section 4.2.3).
  const Published rows[] = {{48, 6144, 64, 4, 48, 59.25, 9.5625},
                            {96, 12288, 96, 1, 96 * (1 + 7.0 / (8 * 3)), 66.84375, 12.3515625},
                            {128, 25600, 160, 1, 128, 131.25, 26.5625}};
  for (const auto& r : rows) {
    INFO("hidden " << r.hidden);
    const auto make = [&](bool sp) {
      return make_block(gpt(r.layers, r.hidden, r.heads), {.micro = r.micro, .seq = 2048, .tp = 8, .sp = sp},
                        Precision::kFp16, unfused(), 1);
    };
    CHECK(r.in_flight * static_cast<double>(make(false).saved_bytes_none) / kGiB == Approx(r.none_gib).epsilon(0.05));
    CHECK(r.in_flight * static_cast<double>(make(true).saved_bytes_selective) / kGiB ==
          Approx(r.sp_selective_gib).epsilon(0.05));
  }
}

TEST_CASE("flash attention, no dropout, GQA, gated MLP and fp8 change the saved tensors as they should", "[fast]") {
  const work::Model m = llama8b();
  const work::Shape shape{.micro = 2, .seq = 8192, .tp = 4, .sp = true};
  const double T = 2 * 8192, h = 4096, kv = 1024, f = 14336;
  const auto bf16 = make_block(m, shape, Precision::kBf16, {}, 1);
  // Norm inputs and outputs 8 h; q, k, v 2 (h + 2 kv); what V is a view of keeps q and k before rotation 2 (h + kv);
  // context 2 h; activation inputs 4 f; fc2 input 2 f; lse 4 heads;
  // all / t.
  CHECK(static_cast<double>(bf16.saved_bytes_none) ==
        T / 4 * (8 * h + 2 * (h + 2 * kv) + 2 * (h + kv) + 2 * h + 6 * f + 4 * 32));
  const auto fp8 = make_block(m, shape, Precision::kFp8, {}, 1);
  // Column-parallel inputs 1 byte each, fc2 input 1 byte, the context twice (16-bit for attention, 8-bit for the
  // projection).
  CHECK(static_cast<double>(fp8.saved_bytes_none) ==
        T / 4 * (6 * h + 2 * (h + 2 * kv) + 2 * (h + kv) + 3 * h + 5 * f + 4 * 32));
  work::Stack titan;
  titan.sac_per_op = true;
  const auto sac = make_block(m, shape, Precision::kBf16, titan, 1);
  CHECK(static_cast<double>(sac.saved_bytes_selective) == T / 4 * (2 * (2 * h + 2 * h + kv + f) + 4 * 32));
  CHECK(sac.saved_bytes_selective < sac.saved_bytes_none);
  CHECK(flops(sac.recompute_attention_core) == 2 * T * h * (kv + h + f) / 4);  // wk, wo, w3
}

TEST_CASE("cheap selective recomputation drops what norms and activation give again", "[fast]") {
  work::Stack cheap;
  cheap.sac_cheap = true;
  const work::Shape shape{.micro = 1, .seq = 8192, .tp = 8, .sp = true};
  const auto block = make_block(llama8b(), shape, Precision::kBf16, cheap, 1);
  // Two norm outputs and the input of fc2, 2 bytes each.
  CHECK(block.saved_bytes_none - block.saved_bytes_selective == 8192 / 8 * 2 * (2 * 4096 + 14336));
  CHECK(flops(block.recompute_attention_core) == 0);
  CHECK(elementwise_bytes(block.recompute_attention_core) ==
        elementwise_bytes(block.attention.pre) + elementwise_bytes(block.mlp.pre) + elementwise_bytes(block.mlp.core));
}

TEST_CASE("a block's FLOPs times tp and layers, with the head, are the model's", "[fast]") {
  for (const int tp : {1, 2, 8}) {
    const work::Model m = llama8b();
    const work::Shape shape{.micro = 1, .seq = 4096, .tp = tp, .sp = tp > 1};
    const auto block = make_block(m, shape, Precision::kBf16, {}, 1);
    const auto ends = make_ends(m, shape, Precision::kBf16, {}, 1);
    const double forward = flops(block.attention) + flops(block.mlp);
    CHECK(tp * (32 * forward + flops(ends.head)) ==
          Approx(4096 * m.forward_flops_per_token(4096, true)).epsilon(1e-12));
    // Backward: twice the linear layers, 2.5 times fused attention.
    const double attention = find(block.attention.core, "attention").flops;
    CHECK(flops(block.attention_backward) + flops(block.mlp_backward) ==
          Approx(2 * (forward - attention) + 2.5 * attention).epsilon(1e-12));
    CHECK(flops(ends.head_backward) == 2 * flops(ends.head));
  }
}

TEST_CASE("unfused attention runs four matmuls backward and passes over the scores", "[fast]") {
  const work::Model m = gpt(96, 12288, 96);
  const auto block = make_block(m, {.micro = 1, .seq = 2048, .tp = 8, .sp = false}, Precision::kFp16, unfused(), 1);
  const double scores = 12.0 * 2048 * 2048;
  CHECK(flops(block.attention.core) == 2 * 2 * scores * 128);
  CHECK(flops(block.attention_backward.core) == 4 * 2 * scores * 128);
  CHECK(find(block.attention.core, "softmax").bytes == 4 * scores);            // read, write
  CHECK(find(block.attention.core, "attention dropout").bytes == 5 * scores);  // read, write, mask
  CHECK(find(block.attention_backward.core, "softmax backward").bytes == 6 * scores);
  CHECK(flops(block.recompute_attention_core) == flops(block.attention.core));
  work::Stack split = unfused();
  split.fused_softmax = false;
  const auto slow = make_block(m, {.micro = 1, .seq = 2048, .tp = 8, .sp = false}, Precision::kFp16, split, 1);
  CHECK(find(slow.attention.core, "softmax").bytes > 4 * 4 * scores);
}

TEST_CASE("shapes of the linear layers and what their GEMMs move", "[fast]") {
  const auto block = make_block(llama8b(), {.micro = 1, .seq = 4096, .tp = 2, .sp = true}, Precision::kBf16, {}, 1);
  const auto& qkv = block.attention.first_gemm.front();
  CHECK((qkv.m == 4096 && qkv.n == (4096 + 2 * 1024) / 2 && qkv.k == 4096));
  CHECK(qkv.bytes == 2.0 * (4096.0 * 4096 + 4096.0 * 3072 + 4096.0 * 3072));
  const auto& wgrad = block.mlp_backward.first_wgrad.front();
  CHECK((wgrad.m == 14336 && wgrad.n == 4096 && wgrad.k == 4096 && wgrad.accumulate_fp32));
  CHECK(wgrad.bytes == 2.0 * (14336.0 * 4096 + 4096.0 * 4096));  // its output is the device model's
  CHECK(find(block.mlp.core, "swiglu").bytes == 2 * 3 * 4096.0 * 7168);
  CHECK(find(block.attention.pre, "attention norm").bytes ==
        4 * 2048.0 * 4096);  // sequence parallel: half of the tokens
  CHECK(block.tp_message_bytes == 4096 * 4096 * 2);
  CHECK(block.boundary_bytes == 2048 * 4096 * 2);
}

TEST_CASE("fusion scales memory-bound kernels alone, fp8 adds casts, the head stays 16-bit", "[fast]") {
  const work::Shape shape{.micro = 1, .seq = 4096, .tp = 1, .sp = false};
  const auto one = make_block(llama8b(), shape, Precision::kBf16, {}, 1),
             two = make_block(llama8b(), shape, Precision::kBf16, {}, 2);
  CHECK(elementwise_bytes(two.mlp.core) == 2 * elementwise_bytes(one.mlp.core));
  CHECK(two.mlp.first_gemm.front().bytes == one.mlp.first_gemm.front().bytes);
  const auto fp8 = make_block(llama8b(), shape, Precision::kFp8, {}, 1);
  CHECK(fp8.mlp.first_gemm.front().dtype == device::Dtype::kFp8);
  CHECK(find(fp8.mlp.core, "fc2 input cast").bytes == 4 * 4096.0 * 14336);
  CHECK(elementwise_bytes(make_block(llama8b(), shape, Precision::kFp8Tensorwise, {}, 1).mlp.core) >
        elementwise_bytes(fp8.mlp.core));
  CHECK(find(fp8.attention.core, "attention").dtype == device::Dtype::kBf16);
  CHECK(find(make_ends(llama8b(), shape, Precision::kFp8, {}, 1).head, "lm head").dtype == device::Dtype::kBf16);
}

TEST_CASE("parameters of a device add up to the layer's, with the replicated ones counted once", "[fast]") {
  for (const work::Model& m : {llama8b(), gpt(48, 6144, 64)}) {
    for (const int tp : {1, 2, 8}) {
      const auto block = make_block(m, {.micro = 1, .seq = 128, .tp = tp, .sp = false}, Precision::kBf16, {}, 1);
      CHECK(tp * (block.parameters - block.norm_parameters) + block.norm_parameters ==
            static_cast<double>(m.layer_parameters()));
    }
    const auto ends = make_ends(m, {.micro = 1, .seq = 128, .tp = 1, .sp = false}, Precision::kBf16, {}, 1);
    const double tied = m.tied_embeddings ? ends.table_parameters : 0;
    CHECK(ends.embedding_parameters + ends.head_parameters - tied ==
          static_cast<double>(m.parameters() - m.layers * m.layer_parameters()));
  }
  // KV heads below tp are replicated: 16 ways hold one KV head each although the model has 8.
  const auto wide = make_block(llama8b(), {.micro = 1, .seq = 128, .tp = 16, .sp = true}, Precision::kBf16, {}, 1);
  CHECK(wide.attention.first_gemm.front().n == 2 * 128 + 2 * 128);
}
