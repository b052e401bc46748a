// A kernel, as workloads emits it and device times it. Shapes are per device (already divided by tp and so on).
#pragma once
#include <cstdint>
#include "sim/device/spec.hpp"

namespace twin::device {

enum class KernelKind : std::uint8_t {
  kGemm,         // m, n, k: C[m,n] = A[m,k] B[k,n]; `batch` of them
  kAttention,    // fused (flash) attention over `batch` = sequences x heads; m = query length, n = key length, k = head
                 // dim
  kElementwise,  // memory bound: bytes only (norm, activation, dropout, residual, rotary, cast, loss, embedding)
  kOptimizer,    // memory bound, bytes over the parameter shard
  kCopy          // device-to-device copy (FSDP copy-in/out)
};

enum class Pass : std::uint8_t { kForward, kBackwardData, kBackwardWeight, kBackward };

struct Kernel {
  KernelKind kind = KernelKind::kElementwise;
  Pass pass = Pass::kForward;
  Dtype dtype = Dtype::kBf16;  // of the matmul inputs
  bool causal = true;          // attention: half of the score matrix is computed
  bool accumulate_fp32 =
      false;  // weight-gradient GEMM that adds into an fp32 main gradient (8 B/element read-modify-write)
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  double flops = 0;        // as executed by the kernel (causal counted half where the kernel skips it)
  double bytes = 0;        // HBM traffic
  int launches = 1;        // host launches that it stands for
  const char* label = "";  // static string: "qkv", "attn", "fc1 dgrad", ...
};

}  // namespace twin::device
