// Device memory of a step against published budgets (Korthikanti et al., arXiv 2205.05198, figure 1, as quoted by
// calculon's validation.py: GiB per GPU of the first stage, layers alone), against a recomputation by hand of what fp8
// and Transformer Engine add, and the advice given where a plan does not fit.
#include "sim/step/memory.hpp"
#include <catch2/catch.hpp>
#include <cstdlib>
#include "topologies/cluster.hpp"
#include "workloads/catalog.hpp"

using namespace twin;
using work::Precision;
using work::Recompute;

namespace {

constexpr double kGib = 1073741824.0;

work::Scenario gpt(std::int64_t layers, std::int64_t hidden, std::int64_t heads, int tp, int pp, int vpp) {
  work::Scenario s;
  s.model = {.name = "gpt",
             .layers = layers,
             .hidden = hidden,
             .heads = heads,
             .kv_heads = heads,
             .head_dim = hidden / heads,
             .ffn = 4 * hidden,
             .vocab = 51200,
             .dropout = 0.1,
             .max_positions = 2048};
  s.parallel.tp = tp, s.parallel.pp = pp, s.parallel.vpp = vpp, s.parallel.dp = 1;
  s.parallel.shard = work::Shard::kDdp;
  s.precision = Precision::kFp16;
  s.stack.attention = work::Stack::Attention::kUnfused;
  s.batch = {.global = 4 * pp, .micro = 1, .seq = 2048};
  return s;
}

step::StageMemory first_stage(const work::Scenario& s) {
  const auto plan = step::make_plan(s, s.parallel.tp * s.parallel.pp * s.parallel.dp, 8);
  REQUIRE(plan);
  const work::Shape shape{.micro = s.batch.micro, .seq = s.batch.seq, .tp = plan->tp, .sp = plan->sp};
  return step::stage_memory(s, *plan, work::make_block(s.model, shape, s.precision, s.stack, 1),
                            work::make_ends(s.model, shape, s.precision, s.stack, 1), 0);
}

work::Scenario llama(std::int64_t layers, int devices) {
  work::Scenario s;
  s.model = {.name = "llama",
             .layers = layers,
             .hidden = 4096,
             .heads = 32,
             .kv_heads = 8,
             .head_dim = 128,
             .ffn = 14336,
             .vocab = 128256,
             .gated_mlp = true,
             .rms_norm = true,
             .biases = false,
             .max_positions = 8192};
  s.parallel.dp = devices;
  s.batch = {.global = 4 * devices, .micro = 1, .seq = 8192};
  return s;
}

}  // namespace

TEST_CASE("published budgets of four models are met", "[memory][fast]") {
  struct Budget {
    std::int64_t layers, hidden, heads, micro;
    int pp, vpp;
    double states, none, best;  // GiB: 18 B a parameter; activations; activations with sp and selective recompute
  };
  for (const Budget& b : {Budget{48, 6144, 64, 4, 1, 1, 45.5625, 59.25, 9.5625},
                          {96, 12288, 96, 1, 8, 3, 45.5625, 66.84375, 12.3515625},
                          {128, 25600, 160, 1, 64, 1, 32.958984375, 131.25, 26.5625}}) {
    CAPTURE(b.hidden);
    auto s = gpt(b.layers, b.hidden, b.heads, 8, b.pp, b.vpp);
    s.batch.micro = b.micro, s.batch.global = b.micro * 4 * b.pp;
    s.parallel.sp = 0;
    const auto none = first_stage(s);
    CHECK(none.activations / kGib == Approx(b.none).epsilon(0.05));
    s.parallel.sp = 1;
    s.recompute = Recompute::kSelective;
    CHECK(first_stage(s).activations / kGib == Approx(b.best).epsilon(0.05));
    s.model.vocab = 8;  // the budget leaves the embedding out
    const auto states = first_stage(s);
    CHECK((states.parameters + states.gradients + states.optimizer) / kGib == Approx(b.states).epsilon(0.05));
  }
}

TEST_CASE("figure 7: shares of the activations that techniques leave", "[memory][fast]") {
  struct Share {
    std::int64_t layers, hidden, heads, micro;
    int pp, vpp;
    double sp, selective, both, full;  // per cent of neither
  };
  for (const Share& m : {Share{48, 6144, 64, 4, 1, 1, 66.84, 49.42, 16.18, 7.64},
                         {96, 12288, 96, 1, 8, 3, 62.04, 56.53, 18.49, 8.71},
                         {128, 25600, 160, 1, 64, 1, 58.31, 62.04, 20.27, 9.42}}) {
    CAPTURE(m.hidden);
    const auto with = [&](int sp, Recompute r) {
      auto s = gpt(m.layers, m.hidden, m.heads, 8, m.pp, m.vpp);
      s.batch.micro = m.micro, s.batch.global = m.micro * 4 * m.pp;
      s.parallel.sp = sp, s.recompute = r;
      return first_stage(s).activations;
    };
    const double base = with(0, Recompute::kNone);
    CHECK(100 * with(1, Recompute::kNone) / base == Approx(m.sp).epsilon(0.05));
    CHECK(100 * with(0, Recompute::kSelective) / base == Approx(m.selective).epsilon(0.05));
    CHECK(100 * with(1, Recompute::kSelective) / base == Approx(m.both).epsilon(0.05));
    CHECK(100 * with(0, Recompute::kFull) / base == Approx(m.full).epsilon(0.05));
  }
}

TEST_CASE("fp8 copies, fp8 parameters and placeholders count by the byte", "[memory][fast]") {
  auto s = llama(32, 8);
  const double layer = 4096.0 * 4096 + 2.0 * 4096 * 1024 + 4096.0 * 4096 + 3.0 * 4096 * 14336 + 2 * 4096;
  const auto bf16 = first_stage(s);
  s.precision = Precision::kFp8Tensorwise;
  const auto cached = first_stage(s);
  CHECK(cached.parameters - bf16.parameters == Approx(2 * 32 * layer));
  s.stack.fp8_param_gather = true;
  const auto primary = first_stage(s);
  CHECK(primary.parameters == Approx(bf16.parameters));  // 1 + 1 bytes
  const auto plan = step::make_plan(s, 8, 8);
  const work::Shape shape{.micro = 1, .seq = 8192};
  const auto block = work::make_block(s.model, shape, s.precision, s.stack, 1);
  const auto ends = work::make_ends(s.model, shape, s.precision, s.stack, 1);
  const auto one = step::stage_memory(s, *plan, block, ends, 0, false);
  CHECK(primary.parameters - one.parameters == Approx(32 * layer));
  s.stack.main_grad_fp32 = false;
  CHECK(first_stage(s).gradients == Approx(primary.gradients / 2));

  // Placeholders: 2 bytes a parameter of one layer, whatever the depth; none under FSDP.
  auto a = llama(8, 8), b = llama(16, 8);
  CHECK(first_stage(a).working == Approx(first_stage(b).working));
  const double with = first_stage(a).working;
  a.stack.params_fp32 = true;
  a.stack.main_grad_fp32 = false;
  CHECK(with - first_stage(a).working > 0);
}

TEST_CASE("gradients that are not accumulated by the GEMM stay beside the fp32 ones in DeepSpeed", "[memory][fast]") {
  // BLOOM on 28 February 2022 (chronicles-prequel): fp32 accumulation at tp 4, pp 12 raised 44 GB to 59 GB, 4 bytes for
  // each of the 4.0e9 parameters of a stage: 2 became 2 + 4.
  auto s = gpt(70, 14336, 112, 4, 1, 1);
  s.parallel.shard = work::Shard::kZero1;
  s.stack.fused_grad_accumulation = false;
  s.stack.main_grad_fp32 = false;
  const auto half = first_stage(s);
  s.stack.main_grad_fp32 = true;
  CHECK(first_stage(s).gradients == Approx(3 * half.gradients));
  s.stack.fused_grad_accumulation = true;
  CHECK(first_stage(s).gradients == Approx(2 * half.gradients));
}

TEST_CASE("sharding and recomputation save what they promise", "[memory][fast]") {
  for (int layers : {4, 32}) {
    auto s = llama(layers, 8);
    const double none = first_stage(s).total();
    s.recompute = Recompute::kFull;
    CHECK(first_stage(s).activations < first_stage(llama(layers, 8)).activations);
    s.recompute = Recompute::kNone;
    s.parallel.shard = work::Shard::kDdp;
    CHECK(first_stage(s).total() > none);
    s.parallel.shard = work::Shard::kZero2;
    CHECK(first_stage(s).total() < none);
  }
}

TEST_CASE("advice says by how much a plan is too large, and is true", "[memory][fast]") {
  auto s = llama(80, 8);
  s.model.hidden = 8192, s.model.heads = 64, s.model.ffn = 28672;
  const auto spec = topo::find_accelerator("h100-sxm");
  REQUIRE(spec);
  int advised = 0;
  for (int devices : {8, 32, 64, 256}) {
    CAPTURE(devices);
    s.parallel.dp = devices / 8;
    s.parallel.tp = 8;
    s.batch = {.global = 8 * devices, .micro = 4, .seq = 8192};
    const auto plan = step::make_plan(s, devices, 8);
    REQUIRE(plan);
    const auto report = step::report_memory(s, *plan, *spec, devices, 8);
    CHECK(report.fits == (report.peak_bytes <= report.capacity_bytes));
    CHECK(report.advice.empty() == report.fits);
    if (report.fits) continue;
    const auto too_much = report.advice.find(": ");
    REQUIRE(too_much != std::string::npos);
    CHECK(std::strtod(report.advice.c_str() + too_much + 2, nullptr) ==
          Approx((report.peak_bytes - report.capacity_bytes) * 1e-9).margin(0.06));
    const auto helps = [&](const std::string& text, auto change) {
      if (report.advice.find("fits with " + text) == std::string::npos ||
          report.advice.find(text + " and ") != std::string::npos)
        return;
      work::Scenario x = s;
      change(x);
      const auto changed = step::make_plan(x, devices, 8);
      REQUIRE(changed);
      CHECK(step::report_memory(x, *changed, *spec, devices, 8).fits);
      ++advised;
    };
    helps("micro batch 1", [](auto& x) { x.batch.micro = 1; });
    helps("recompute \"full\"", [](auto& x) { x.recompute = Recompute::kFull; });
    helps("recompute \"selective\"", [](auto& x) { x.recompute = Recompute::kSelective; });
    helps("pp 2", [](auto& x) { x.parallel.pp = 2, x.parallel.dp = 0; });
    helps("shard \"fsdp2-full\"", [](auto& x) { x.parallel.shard = work::Shard::kFsdp2Full; });
  }
  CHECK(advised > 0);
}
