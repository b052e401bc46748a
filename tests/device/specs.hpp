// Data-sheet figures of the accelerators that the device tests time kernels on (vendor data sheets; MAMF and stream
// rates from stas00/ml-engineering and the Azure AI benchmarking guide). The catalog is a higher layer, so tests state
// their own.
#pragma once
#include "sim/device/kernel_time.hpp"

namespace twin::device::test {

inline Spec a100() {
  Spec s;
  s.name = "a100-sxm";
  s.family = "ampere";
  s.peak_tflops = {19.5, 156, 312, 312, 0, 0};
  s.mamf_tflops = {0, 0, 271.2, 271.2, 0, 0};
  s.hbm_bytes = 80e9;
  s.hbm_bytes_per_s = 2.039e12;
  s.hbm_stream_bytes_per_s = 1.75e12;
  s.l2_bytes = 40 * 1024 * 1024;
  s.sms = 108;
  s.tdp_w = 400;
  s.idle_w = 60;
  return s;
}

inline Spec h100() {
  Spec s;
  s.name = "h100-sxm";
  s.family = "hopper";
  s.peak_tflops = {67, 494.5, 989, 989, 1979, 0};
  s.mamf_tflops = {0, 0, 794.5, 794.5, 1402.6, 0};
  s.hbm_bytes = 80e9;
  s.hbm_bytes_per_s = 3.35e12;
  s.hbm_stream_bytes_per_s = 3.0e12;
  s.l2_bytes = 50 * 1024 * 1024;
  s.sms = 132;
  s.tdp_w = 700;
  s.idle_w = 100;
  return s;
}

inline Spec b200() {
  Spec s;
  s.name = "b200-sxm";
  s.family = "blackwell";
  s.peak_tflops = {80, 1125, 2250, 2250, 4500, 9000};
  s.mamf_tflops = {0, 0, 1745, 1745, 3432.5, 0};
  s.hbm_bytes = 180e9;
  s.hbm_bytes_per_s = 8e12;
  s.l2_bytes = 126 * 1024 * 1024;
  s.sms = 148;
  s.tdp_w = 1000;
  s.idle_w = 140;
  return s;
}

inline Kernel gemm(std::int64_t m, std::int64_t n, std::int64_t k, Dtype d = Dtype::kBf16, std::int64_t batch = 1) {
  Kernel kernel;
  kernel.kind = KernelKind::kGemm;
  kernel.dtype = d;
  kernel.m = m;
  kernel.n = n;
  kernel.k = k;
  kernel.batch = batch;
  const double dm = static_cast<double>(m), dn = static_cast<double>(n), dk = static_cast<double>(k);
  kernel.flops = 2 * dm * dn * dk * static_cast<double>(batch);
  kernel.bytes = (bytes(d) * dk * (dm + dn) + 2 * dm * dn) * static_cast<double>(batch);
  return kernel;
}

}  // namespace twin::device::test
