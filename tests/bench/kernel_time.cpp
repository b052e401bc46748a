// Nanoseconds per kernel time and per resolve(): a fit builds 10^5 programs of about 100 kernels each (budget: 1 us a
// kernel).
#include <chrono>
#include <cstdio>
#include "tests/device/specs.hpp"

using namespace twin::device;

int main() {
  const Spec spec = test::h100();
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto ns = [](auto from, auto to, int n) {
    return std::chrono::duration<double, std::nano>(to - from).count() / n;
  };
  constexpr int kResolves = 2000, kKernels = 2'000'000;
  const auto a = now();
  Model model;
  for (int i = 0; i < kResolves; ++i)
    model = resolve(spec, "megatron-core", AttentionKernel::kFlash3, Fp8Recipe::kTensorwise, Constants::builtin());
  const auto b = now();
  double sum = 0;
  for (int i = 0; i < kKernels; ++i) sum += seconds(test::gemm(1024 + i % 4096, 8192, 4096), model, spec.sms - i % 32);
  const auto c = now();
  std::printf("resolve %.0f ns, gemm %.0f ns (checksum %.6g)\n", ns(a, b, kResolves), ns(b, c, kKernels), sum);
  return ns(b, c, kKernels) < 1000 ? 0 : 1;
}
