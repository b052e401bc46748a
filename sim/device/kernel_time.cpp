// Kernel times from shapes. GEMM: the best of a family's tiles,
//   t = padded FLOPs x (1 + k_half/k) / (rate x tile rate x SM share) / (tiles / (waves x SMs))^w,
//   waves = ceil(tiles / SMs),
// w < 1 because split-k and stream-k schedulers soften the last wave; then joined with its HBM traffic in a 4-norm,
// plus a ramp. Attention: FLOPs / (asymptotic rate x s/(s + s0) x head-dimension term). Memory bound: bytes / rate +
// ramp. Every time is at least lower_bound_seconds(). Sources of the numbers: constants.json. Range: m, n, k and batch
// >= 1.
#include "sim/device/kernel_time.hpp"
#include <algorithm>
#include <array>
#include <cmath>
#include "sim/core/check.hpp"
#include "sim/device/kernel_table.hpp"

namespace twin::device {

namespace {

struct Tile {
  int m, n;
  double rate;  // relative to the best tile: operand reuse per byte of shared memory
};
using Tiles = std::array<Tile, 7>;
// Rates of the first family: fitted with gemm.k_half and gemm.wave_weight (see constants.json). Blackwell's tensor core
// wants 128 rows an SM (256 a pair); CDNA's kernels of choice are 256x256. Both are judgement, no table of shapes is
// public.
constexpr Tiles kMmaTiles = {{{128, 256, 1.0},
                              {256, 128, 1.0},
                              {128, 128, 0.965},
                              {64, 256, 0.76},
                              {256, 64, 0.76},
                              {64, 128, 0.64},
                              {128, 64, 0.64}}};
constexpr Tiles kBlackwellTiles = {{{128, 256, 1.0},
                                    {256, 128, 1.0},
                                    {128, 128, 0.95},
                                    {64, 256, 0.6},
                                    {256, 64, 0.65},
                                    {64, 128, 0.5},
                                    {128, 64, 0.6}}};
constexpr Tiles kCdnaTiles = {{{256, 256, 1.0},
                               {128, 256, 0.95},
                               {256, 128, 0.95},
                               {128, 128, 0.88},
                               {64, 256, 0.7},
                               {256, 64, 0.7},
                               {128, 64, 0.6}}};
constexpr std::array<Tiles, 3> kTileFamilies = {kMmaTiles, kBlackwellTiles, kCdnaTiles};
int tile_family(const std::string& family) { return family == "blackwell" ? 1 : family.starts_with("cdna") ? 2 : 0; }

constexpr int at(Dtype d) { return static_cast<int>(d); }

// Constants know three classes of matmul precision.
const char* dtype_class(Dtype d) {
  switch (d) {
    case Dtype::kFp8:
      return "fp8";
    case Dtype::kFp4:
      return "fp4";
    default:
      return "bf16";
  }
}

// Burst rate in FLOP/s: measured best matmul, else the data sheet with the share that its family's parts reach.
double burst_rate(const Spec& spec, Dtype d, const Constants& c) {
  const auto i = static_cast<std::size_t>(d);
  if (spec.mamf_tflops[i] > 0) return spec.mamf_tflops[i] * 1e12;
  if (spec.peak_tflops[i] <= 0) return 0;
  return spec.peak_tflops[i] * 1e12 * c.get("mamf." + spec.family + "." + dtype_class(d));
}

double energy_ratio(Dtype d, const Constants& c) {
  switch (d) {
    case Dtype::kFp8:
      return c.get("energy.fp8_ratio");
    case Dtype::kFp4:
      return c.get("energy.fp4_ratio");
    case Dtype::kTf32:
      return 2;
    case Dtype::kFp32:
      return 8;
    default:
      return 1;
  }
}

// Relative to the accelerator's best kernel: before Hopper (and outside NVIDIA) FlashAttention-2 or its like.
double attention_factor(AttentionKernel kernel, const std::string& family, const Constants& c) {
  const bool has_flash3 = family == "hopper" || family == "blackwell";
  // A chain: FA1 against FA2 on any device, FA2 against FA3 where the hardware has what FA3 uses.
  const double flash2 = has_flash3 ? c.get("attention.flash2") : 1;
  if (kernel == AttentionKernel::kFlash1) return c.get("attention.flash1") * flash2;
  if (kernel == AttentionKernel::kFlash2) return flash2;
  return c.get("attention.flash3");
}

double recipe_factor(Fp8Recipe recipe, const Constants& c) {
  switch (recipe) {
    case Fp8Recipe::kRowwise:
      return c.get("fp8.rowwise");
    case Fp8Recipe::kBlockwise:
      return c.get("fp8.blockwise");
    case Fp8Recipe::kMx:
      return c.get("fp8.mx");
    default:
      return c.get("fp8.tensorwise");
  }
}

double hbm_seconds(const Kernel& k, const Model& m, double share) { return k.bytes / (m.hbm_rate * share); }

double sm_share(const Model& m, int sms_free) {
  return static_cast<double>(std::min(sms_free, m.spec.sms)) / static_cast<double>(m.spec.sms);
}

double gemm_bytes(const Kernel& k) {
  if (k.bytes > 0) return k.bytes;
  const double dm = static_cast<double>(k.m), dn = static_cast<double>(k.n), dk = static_cast<double>(k.k);
  return static_cast<double>(k.batch) * (bytes(k.dtype) * dk * (dm + dn) + 2 * dm * dn);
}

// Tensor cores want rows that start on 16 bytes (cuBLAS guide, tensor core requirements). On 8 bytes a slower load
// path; below, kernels without tensor cores: a quarter (fp16) or an eighth (bf16) of the tensor peak on A100's data
// sheet, 78 and 39 of 312 TFLOP/s.
double alignment_share(const Kernel& k) {
  const auto row_bytes = [&](std::int64_t n) {
    return static_cast<std::int64_t>(bytes(k.dtype) * static_cast<double>(n));
  };
  const std::int64_t worst = std::min((row_bytes(k.n) & -row_bytes(k.n)), (row_bytes(k.k) & -row_bytes(k.k)));
  if (worst >= 16 || k.n == 1) return 1;
  if (worst >= 8) return 0.7;
  return k.dtype == Dtype::kBf16 ? 0.125 : 0.25;
}

double gemm_compute(const Kernel& k, const Model& m, int sms) {
  const double rate = m.gemm_rate[at(k.dtype)];
  TWIN_CHECK(rate > 0);
  const double depth = static_cast<double>(k.k) + m.gemm_k_half;
  double best = HUGE_VAL;
  for (const Tile& tile : kTileFamilies[static_cast<std::size_t>(m.tile_family)]) {
    const auto tiles = static_cast<double>(k.batch * ((k.m + tile.m - 1) / tile.m) * ((k.n + tile.n - 1) / tile.n));
    const double per_sm = tiles / sms, work = 2.0 * tile.m * tile.n * depth / tile.rate;
    if (per_sm * work >= best) continue;  // waves can only add
    // Tiles per SM, between all waves whole and none: waves^w (tiles/SMs)^(1-w).
    best = std::min(best, per_sm * std::pow(std::ceil(per_sm) / per_sm, m.wave_weight) * work);
  }
  return best * m.spec.sms / (rate * alignment_share(k));
}

double gemm_seconds(const Kernel& k, const Model& m, int sms, double share) {
  const double memory = gemm_bytes(k) / (m.hbm_rate * share);
  const double main_grad = k.accumulate_fp32 ? 8.0 * static_cast<double>(k.batch) * static_cast<double>(k.m) *
                                                   static_cast<double>(k.n) / (m.hbm_rate * share)
                                             : 0;
  // p-norm with p = 4: near the ridge both limits are felt.
  const double compute = gemm_compute(k, m, sms), c2 = compute * compute, m2 = memory * memory;
  return std::sqrt(std::sqrt(c2 * c2 + m2 * m2)) + m.main_grad_visible * main_grad + m.gemm_ramp_s;
}

double attention_seconds(const Kernel& k, const Model& m, int sms, double share) {
  const double length = static_cast<double>(k.n) / (static_cast<double>(k.n) + m.attention_half_length);
  const double d = static_cast<double>(std::min<std::int64_t>(k.k, 128));
  const double dim = d / (d + m.attention_dim_half) * (128 + m.attention_dim_half) / 128;
  const double rate =
      (k.pass == Pass::kForward ? m.attention_forward : m.attention_backward) * length * dim * sm_share(m, sms);
  return std::max(k.flops / rate, hbm_seconds(k, m, share)) + m.ramp_s;
}

double formula_seconds(const Kernel& k, const Model& m, int sms, double share) {
  switch (k.kind) {
    case KernelKind::kGemm:
      return gemm_seconds(k, m, sms, share);
    case KernelKind::kAttention:
      return attention_seconds(k, m, sms, share);
    case KernelKind::kOptimizer:
      return k.bytes / (m.optimizer_rate * share) + m.ramp_s;
    default:
      return hbm_seconds(k, m, share) + m.ramp_s;
  }
}

}  // namespace

std::string accelerator_key(const Spec& spec) {
  const std::string& n = spec.name;
  if (n.size() < 3 || n.substr(n.size() - 2) != "gb") return n;
  const auto dash = n.rfind('-');
  if (dash == std::string::npos || dash + 3 >= n.size()) return n;
  const bool digits = std::all_of(n.begin() + static_cast<std::ptrdiff_t>(dash) + 1, n.end() - 2,
                                  [](char c) { return c >= '0' && c <= '9'; });
  return digits ? n.substr(0, dash) : n;
}

double power_share(const Spec& spec, Dtype dtype, double tdp_w, const Constants& c) {
  const double rate = burst_rate(spec, dtype, c);
  if (tdp_w <= spec.idle_w || rate <= 0) return 1;
  const double demand_w = c.get("energy." + spec.family + ".pj_per_flop") * 1e-12 * energy_ratio(dtype, c) * rate;
  return std::min(1.0, std::pow((tdp_w - spec.idle_w) / demand_w, 1 / (1 + c.get("power.exponent"))));
}

Model resolve(const Spec& spec, const std::string& stack, AttentionKernel attention, Fp8Recipe recipe,
              const Constants& c) {
  TWIN_CHECK(spec.sms > 0 && spec.hbm_bytes_per_s > 0);
  Model m;
  m.spec = spec;
  const std::string key = accelerator_key(spec);
  const double stock_w = c.get("power." + key + ".stock_w");
  const double pj = c.get("energy." + spec.family + ".pj_per_flop"), exponent = c.get("power.exponent");
  for (int d = 0; d < at(Dtype::kCount); ++d) {
    const auto dtype = static_cast<Dtype>(d);
    const double burst = burst_rate(spec, dtype, c);
    if (burst <= 0) continue;
    // gemm.* is measured at the stock power limit; a capped part loses what the clock loses.
    const double clock = spec.tdp_w > 0 ? power_share(spec, dtype, spec.tdp_w, c) : 1;
    const double stock = stock_w > 0 && spec.tdp_w > 0 ? power_share(spec, dtype, stock_w, c) : clock;
    m.gemm_rate[d] = burst * c.get("gemm." + key + "." + dtype_class(dtype)) * clock / stock;
    if (dtype == Dtype::kFp8) m.gemm_rate[d] *= recipe_factor(recipe, c);
    m.j_per_flop[d] = pj * 1e-12 * energy_ratio(dtype, c) * std::pow(clock, exponent);
  }
  const double bf16 =
      m.gemm_rate[at(Dtype::kBf16)] > 0 ? burst_rate(spec, Dtype::kBf16, c) : burst_rate(spec, Dtype::kFp16, c);
  const double base = bf16 * c.get("attention." + key) * attention_factor(attention, spec.family, c);
  m.attention_forward = base * c.get("attention_pass.forward");
  m.attention_backward = base * c.get("attention_pass.backward");
  m.attention_half_length = c.get("attention_shape.half_length");
  // The first FlashAttention (also Triton's) was tuned for head dimension 64 and loses nothing there (arXiv 2205.14135,
  // appendix E: 64 as fast as 128); later kernels are best at 128.
  m.attention_dim_half = attention == AttentionKernel::kFlash1 ? 0 : c.get("attention_shape.dim_half");
  const double stream =
      spec.hbm_stream_bytes_per_s > 0 ? spec.hbm_stream_bytes_per_s : spec.hbm_bytes_per_s * c.get("hbm_stream.share");
  m.hbm_rate = stream * c.get("hbm." + key);
  m.optimizer_rate = stream * c.get("optimizer.rate");
  m.gemm_k_half = c.get("gemm.k_half");
  m.wave_weight = c.get("gemm.wave_weight");
  m.fusion = c.get("fusion." + stack);
  m.launch_s = c.get("launch." + stack);
  m.main_grad_visible = c.get("main_grad.visible");
  m.ramp_s = c.get("kernel.ramp_us") * 1e-6;
  m.gemm_ramp_s = c.get("gemm.ramp_us") * 1e-6;
  m.j_per_byte = c.get("energy." + spec.family + ".pj_per_byte") * 1e-12;
  m.tile_family = tile_family(spec.family);
  m.dma_collectives = spec.family == "tpu" || spec.family == "gaudi";
  if (c.table()) {
    m.table_accelerator = c.table()->accelerator(spec.name);
    if (m.table_accelerator >= 0) m.table = c.table();
  }
  return m;
}

double lower_bound_seconds(const Kernel& k, const Spec& spec) {
  double compute = 0;
  if (k.flops > 0 && spec.peak(k.dtype) > 0) compute = k.flops / (spec.peak(k.dtype) * 1e12);
  return std::max(compute, k.bytes / spec.hbm_bytes_per_s);
}

double seconds(const Kernel& k, const Model& m, int sms_free, double hbm_share) {
  const int sms = m.dma_collectives ? m.spec.sms : std::clamp(sms_free, 1, m.spec.sms);
  const double share = std::clamp(hbm_share, 1e-3, 1.0);
  double t = formula_seconds(k, m, sms, share);
  if (m.table)
    if (const auto measured = m.table->find(m.table_accelerator, k))
      t = *measured * (t / formula_seconds(k, m, m.spec.sms, 1.0));
  return std::max(t, lower_bound_seconds(k, m.spec));
}

double energy_j(const Kernel& k, const Model& m) {
  const double traffic = k.kind == KernelKind::kGemm ? gemm_bytes(k) : k.bytes;
  return k.flops * m.j_per_flop[at(k.dtype)] + traffic * m.j_per_byte + m.spec.idle_w * seconds(k, m, m.spec.sms);
}

}  // namespace twin::device
