// Laws that hold for any kernel: lower bound, monotone in sizes, in SMs and in bandwidth; quantisation steps; power;
// tables.
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include "sim/device/kernel_table.hpp"
#include "tests/device/specs.hpp"

using namespace twin::device;
using namespace twin::device::test;

namespace {

Model model_of(const Spec& spec, Fp8Recipe recipe = Fp8Recipe::kTensorwise,
               AttentionKernel a = AttentionKernel::kFlash3) {
  return resolve(spec, "megatron-core", a, recipe, Constants::builtin());
}

Kernel attention(std::int64_t batch, std::int64_t s, std::int64_t d, Pass pass) {
  Kernel k;
  k.kind = KernelKind::kAttention;
  k.pass = pass;
  k.m = k.n = s;
  k.k = d;
  k.batch = batch;
  const double score =
      4.0 * static_cast<double>(batch) * static_cast<double>(s) * static_cast<double>(s) * static_cast<double>(d) / 2;
  k.flops = pass == Pass::kForward ? score : 2.5 * score;
  k.bytes = 8.0 * static_cast<double>(batch * s * d);
  return k;
}

Kernel traffic(KernelKind kind, double bytes_moved) {
  Kernel k;
  k.kind = kind;
  k.bytes = bytes_moved;
  return k;
}

// Sizes spread evenly in the logarithm, so that edges of tiles and of waves are met.
struct Draw {
  std::mt19937_64 engine{20240611};
  std::int64_t size(double lo, double hi) {
    const double u = static_cast<double>(engine() >> 11) * 0x1.0p-53;
    return static_cast<std::int64_t>(lo * std::pow(hi / lo, u));
  }
};

}  // namespace

TEST_CASE("kernel time: never below the data sheet", "[device][prop][fast]") {
  Draw draw;
  for (const Spec& spec : {a100(), h100(), b200()}) {
    const Model model = model_of(spec);
    for (int i = 0; i < 3000; ++i) {
      const Kernel g =
          gemm(draw.size(1, 40000), draw.size(1, 60000), draw.size(1, 40000), Dtype::kBf16, draw.size(1, 64));
      REQUIRE(seconds(g, model, spec.sms) >= lower_bound_seconds(g, spec));
      const Kernel a =
          attention(draw.size(1, 256), draw.size(16, 131072), 128, i % 2 ? Pass::kForward : Pass::kBackward);
      REQUIRE(seconds(a, model, spec.sms) >= lower_bound_seconds(a, spec));
    }
  }
}

TEST_CASE("kernel time: larger never faster, more SMs and more bandwidth never slower", "[device][prop][fast]") {
  // Among rows that start on 16 bytes; below that a wider matrix is rightly faster than a misaligned one.
  Draw draw;
  const double slack = 1 + 1e-12;  // rounding of the same real number
  for (const Spec& spec : {a100(), h100(), b200()}) {
    const Model model = model_of(spec);
    for (int i = 0; i < 3000; ++i) {
      const std::int64_t m = draw.size(1, 30000), n = 8 * draw.size(1, 7500), k = 8 * draw.size(1, 3750),
                         more = 8 * draw.size(1, 60);
      const int sms = static_cast<int>(draw.size(1, spec.sms + 1));
      const Kernel base = gemm(m, n, k);
      INFO(m << " x " << n << " x " << k << " + " << more << " on " << sms << " SMs of " << spec.name);
      const double t = seconds(base, model, sms);
      REQUIRE(seconds(gemm(m + more, n, k), model, sms) * slack >= t);
      REQUIRE(seconds(gemm(m, n + more, k), model, sms) * slack >= t);
      REQUIRE(seconds(gemm(m, n, k + more), model, sms) * slack >= t);
      REQUIRE(seconds(gemm(m, n, k, Dtype::kBf16, 2), model, sms) * slack >= t);
      REQUIRE(seconds(base, model, sms + 1) <= t * slack);
      REQUIRE(seconds(base, model, sms, 0.7) * slack >= t);
      const Kernel a = attention(draw.size(1, 64), draw.size(64, 65536), 128, Pass::kForward);
      REQUIRE(seconds(a, model, sms + 1) <= seconds(a, model, sms) * slack);
    }
  }
}

TEST_CASE("kernel time: a misaligned row is never faster than the row cut to 16 bytes", "[device][prop][fast]") {
  Draw draw;
  const Model model = model_of(a100());
  for (int i = 0; i < 3000; ++i) {
    const std::int64_t m = draw.size(1, 30000), n = 8 * draw.size(1, 7500), k = 8 * draw.size(1, 3750);
    const std::int64_t off = 1 + draw.size(1, 7) % 7;
    INFO(m << " x " << n << " + " << off << " x " << k);
    const double aligned = seconds(gemm(m, n, k), model, model.spec.sms) / (1 + 1e-12);
    REQUIRE(seconds(gemm(m, n + off, k), model, model.spec.sms) >= aligned);
    REQUIRE(seconds(gemm(m, n, k + off), model, model.spec.sms) >= aligned);
  }
  // Compute bound and on odd rows: no tensor cores, an eighth of the rate.
  CHECK(seconds(gemm(8192, 8193, 8192), model, model.spec.sms) > 3 * seconds(gemm(8192, 8192, 8192), model, 108));
}

TEST_CASE("kernel time: a tile more than a wave costs a step", "[device][fast]") {
  // 128x256 tiles on 132 SMs: n = 256 columns, m = 128 x 132 rows is one full wave; one more row starts a second one.
  Constants c = Constants::builtin();
  c.set(c.index("gemm.wave_weight"), 1.0);
  const Model hard = resolve(h100(), "x", AttentionKernel::kFlash3, Fp8Recipe::kTensorwise, c);
  c.set(c.index("gemm.wave_weight"), 0.0);
  const Model soft = resolve(h100(), "x", AttentionKernel::kFlash3, Fp8Recipe::kTensorwise, c);
  const Kernel full = gemm(128 * 132, 256, 8192), over = gemm(128 * 132 + 1, 256, 8192);
  const double step_hard = seconds(over, hard, 132) / seconds(full, hard, 132);
  const double step_soft = seconds(over, soft, 132) / seconds(full, soft, 132);
  CHECK(step_hard > 1.3);  // another wave; a smaller tile softens it below 2
  CHECK(step_soft < 1.02);
}

TEST_CASE("kernel time: a collective that holds SMs re-quantises a GEMM", "[device][fast]") {
  // 128 tiles fill 132 SMs once; with 24 SMs held (forums.developer.nvidia.com 337991: 80 % -> 47 % MFU) they need two
  // waves.
  const Model model = model_of(h100());
  const Kernel g = gemm(4096, 1024, 16384);
  const double alone = seconds(g, model, 132), beside = seconds(g, model, 108);
  CHECK(beside / alone > 132.0 / 108);
  CHECK(beside / alone < 2);
  // A memory-bound kernel does not feel it.
  const Kernel norm = traffic(KernelKind::kElementwise, 1e8);
  CHECK(seconds(norm, model, 108) == seconds(norm, model, 132));
  CHECK(seconds(norm, model, 132, 0.5) > 1.8 * seconds(norm, model, 132));
}

TEST_CASE("kernel time: attention by length, head dimension, pass and generation", "[device][fast]") {
  const Model flash3 = model_of(h100());
  const Model flash2 = model_of(h100(), Fp8Recipe::kTensorwise, AttentionKernel::kFlash2);
  const auto rate = [](const Kernel& k, const Model& m) { return k.flops / seconds(k, m, m.spec.sms); };
  CHECK(rate(attention(32, 16384, 128, Pass::kForward), flash3) >
        rate(attention(32, 2048, 128, Pass::kForward), flash3));
  CHECK(rate(attention(32, 8192, 64, Pass::kForward), flash3) <
        0.85 * rate(attention(32, 8192, 128, Pass::kForward), flash3));
  CHECK(rate(attention(32, 8192, 128, Pass::kBackward), flash3) <
        rate(attention(32, 8192, 128, Pass::kForward), flash3));
  CHECK(rate(attention(32, 8192, 128, Pass::kForward), flash2) <
        rate(attention(32, 8192, 128, Pass::kForward), flash3));
}

TEST_CASE("kernel time: fp32 gradient accumulation adds its visible traffic", "[device][fast]") {
  const Model model = model_of(h100());
  Kernel g = gemm(8192, 8192, 4096);
  const double plain = seconds(g, model, 132);
  g.accumulate_fp32 = true;
  CHECK(seconds(g, model, 132) - plain == Approx(model.main_grad_visible * 8.0 * 8192 * 8192 / model.hbm_rate));
}

TEST_CASE("kernel time: recipes and power limits are rates", "[device][fast]") {
  const Kernel g = gemm(8192, 8192, 8192, Dtype::kFp8);
  CHECK(seconds(g, model_of(h100(), Fp8Recipe::kRowwise), 132) > 1.3 * seconds(g, model_of(h100()), 132));
  Spec capped = h100();
  capped.tdp_w = 500;
  const Kernel b = gemm(8192, 8192, 8192);
  const double slower = seconds(b, model_of(capped), 132) / seconds(b, model_of(h100()), 132);
  CHECK(slower > 1.1);
  CHECK(slower < 1.4);
  // Less power is less energy per GEMM: the clock fell, and with it the voltage.
  CHECK(energy_j(b, model_of(capped)) < energy_j(b, model_of(h100())));
  // A busy GEMM stays near the limit and never above it by more than the formula's own error.
  const double watts = energy_j(b, model_of(h100())) / seconds(b, model_of(h100()), 132);
  CHECK(watts > 450);
  CHECK(watts < 750);
}

TEST_CASE("kernel time: accelerators share constants across memory sizes", "[device][fast]") {
  Spec s = a100();
  for (const char* name : {"a100-sxm-40gb", "a100-sxm-80gb", "a100-sxm"}) {
    s.name = name;
    CHECK(accelerator_key(s) == "a100-sxm");
  }
  for (const char* name : {"h100-96gb-hbm2e-500w", "gb200", "b200", "tpu-v5p", "-gb", "gb"}) {
    s.name = name;
    CHECK(accelerator_key(s) == name);
  }
}

TEST_CASE("kernel table: exact, bracketed in one dimension, else the formula", "[device][fast]") {
  Constants c = Constants::builtin();
  REQUIRE(c.apply_calibration(
      R"({"values": {}, "tables": [{"accelerator": "h100-sxm", "op": "gemm", "dtype": "bf16", "source": "test",
    "rows": [[4096, 4096, 4096, 1, 0.001], [16384, 4096, 4096, 1, 0.004], [131072, 4096, 4096, 1, 0.04]]}]})",
      "t.json"));
  const Model model = resolve(h100(), "x", AttentionKernel::kFlash3, Fp8Recipe::kTensorwise, c);
  const Model plain = model_of(h100());
  CHECK(seconds(gemm(4096, 4096, 4096), model, 132) == Approx(0.001));
  CHECK(seconds(gemm(8192, 4096, 4096), model, 132) == Approx(0.002));  // proportional between the two
  CHECK(seconds(gemm(4096, 4096, 4097), model, 132) == seconds(gemm(4096, 4096, 4097), plain, 132));
  CHECK(seconds(gemm(65536, 4096, 4096), model, 132) ==
        seconds(gemm(65536, 4096, 4096), plain, 132));  // gap above kMaxGap
  CHECK(seconds(gemm(4096, 4096, 4096), model, 66) >
        0.001);  // held SMs slow a measured kernel as they slow the formula
  CHECK(resolve(a100(), "x", AttentionKernel::kFlash3, Fp8Recipe::kTensorwise, c).table == nullptr);
  auto again = KernelTable::parse(c.table()->to_json(), "again");
  REQUIRE(again);
  CHECK(again->size() == 3);
  CHECK(again->to_json() == c.table()->to_json());
}

TEST_CASE("kernel table: errors name the table and the row", "[device][fast]") {
  Constants c = Constants::builtin();
  auto bad = c.apply_calibration(
      R"({"tables": [{"accelerator": "x", "op": "gemm", "dtype": "bf16", "rows": [[1, 2, 3, 0.1]]}]})", "t.json");
  REQUIRE_FALSE(bad);
  CHECK_THAT(bad.error().text(), Catch::Contains("t.json") && Catch::Contains("rows[0]"));
  auto op =
      c.apply_calibration(R"({"tables": [{"accelerator": "x", "op": "gem", "dtype": "bf16", "rows": []}]})", "t.json");
  REQUIRE_FALSE(op);
  CHECK_THAT(op.error().text(), Catch::Contains("gemm"));
}
