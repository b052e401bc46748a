// Time of a kernel on an accelerator: measured table first, formula after.
//   GEMM: max(FLOPs / (rate x tile and wave efficiency), bytes / HBM rate), on `sms_free` SMs; wgrad with fp32
//   accumulation adds its read-modify-write traffic. Attention by kernel generation and pass. Memory-bound: bytes /
//   (HBM x efficiency).
#pragma once
#include <memory>
#include <string>
#include "sim/core/time.hpp"
#include "sim/device/constants.hpp"
#include "sim/device/kernel.hpp"

namespace twin::device {

class KernelTable;

enum class AttentionKernel : std::uint8_t { kUnfused, kFlash1, kFlash2, kFlash3 };
enum class Fp8Recipe : std::uint8_t { kTensorwise, kRowwise, kBlockwise, kMx };

// Everything of (accelerator, stack) that kernel times depend on, resolved once from Spec and Constants.
struct Model {
  Spec spec;
  double gemm_rate[static_cast<int>(Dtype::kCount)] = {};  // sustained FLOP/s on good shapes with all SMs
  double attention_forward = 0, attention_backward = 0;    // FLOP/s on long sequences
  double attention_half_length = 0;                        // sequence at which it reaches half of that
  double hbm_rate = 0;                                     // bytes/s for memory-bound kernels
  double gemm_k_half = 0, wave_weight = 0;                 // shape terms
  double fusion = 1;    // memory-bound traffic multiplier; workloads multiply it into Kernel::bytes, seconds() does not
  double launch_s = 0;  // host cost of one launch
  double main_grad_visible = 0;   // share of fp32 accumulation traffic not hidden in the epilogue
  double optimizer_rate = 0;      // bytes/s of the fused optimizer step
  double attention_dim_half = 0;  // head dimension term: d/(d + half), 1 at 128 and above
  double gemm_ramp_s = 0;         // fill and drain of a GEMM
  double ramp_s = 0;              // fill and drain of any other kernel
  bool dma_collectives = false;   // collectives hold no compute units (TPU, Gaudi): sms_free has no effect
  int tile_family = 0;            // row of the tile table in kernel_time.cpp
  double j_per_flop[static_cast<int>(Dtype::kCount)] = {};  // dynamic, at the sustained clock
  double j_per_byte = 0;                                    // HBM traffic
  std::shared_ptr<const KernelTable> table;                 // measured kernels; null: formula only
  int table_accelerator = -1;
};
// The name under which constants know an accelerator: the catalog name without a memory suffix ("a100-sxm-40gb" ->
// "a100-sxm").
std::string accelerator_key(const Spec& spec);
// Share of the burst rate that the power limit sustains, <= 1: ((TDP - idle) / (J/FLOP x rate))^(1/(1+a)), because
// power is idle + J/FLOP x rate x clock^(1+a) (voltage falls with clock). Constants: energy.<family>.pj_per_flop,
// power.exponent.
double power_share(const Spec& spec, Dtype dtype, double tdp_w, const Constants& constants);
Model resolve(const Spec& spec, const std::string& stack, AttentionKernel attention, Fp8Recipe recipe,
              const Constants& constants);

// Seconds on the device, all SMs free when sms_free >= spec.sms; hbm_share: fraction of HBM bandwidth left to it (1 =
// all).
double seconds(const Kernel& kernel, const Model& model, int sms_free, double hbm_share = 1.0);
// Energy on the device in joules: FLOPs x J/FLOP + bytes x J/byte + idle power x seconds(all SMs).
double energy_j(const Kernel& kernel, const Model& model);
// Never below this: FLOPs / data-sheet peak, bytes / data-sheet bandwidth.
double lower_bound_seconds(const Kernel& kernel, const Spec& spec);

}  // namespace twin::device
