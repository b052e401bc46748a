// What the data sheet and microbenchmarks say of an accelerator. Plain data; topologies fills it from the catalog.
#pragma once
#include <array>
#include <cstdint>
#include <string>

namespace twin::device {

enum class Dtype : std::uint8_t { kFp32, kTf32, kBf16, kFp16, kFp8, kFp4, kCount };
const char* name(Dtype d);  // "bf16"
double bytes(Dtype d);      // per element: 4, 4, 2, 2, 1, 0.5

struct Spec {
  std::string name;    // catalog name, "h100-sxm"
  std::string family;  // "volta", "ampere", "hopper", "blackwell", "cdna2/3/4", "tpu", "gaudi", "ada"
  std::array<double, static_cast<int>(Dtype::kCount)> peak_tflops{};  // dense, data sheet; 0: not supported
  std::array<double, static_cast<int>(Dtype::kCount)> mamf_tflops{};  // best measured matmul rate (burst); 0: unknown
  double hbm_bytes = 0;               // capacity, bytes, as the vendor counts it (80e9 means 80 GB)
  double usable_bytes = 0;            // what the runtime can allocate (CUDA context, driver off)
  double hbm_bytes_per_s = 0;         // data sheet
  double hbm_stream_bytes_per_s = 0;  // best measured stream rate; 0: unknown
  double l2_bytes = 0;
  int sms = 0;  // SMs, CUs, TPU: tensor cores
  double tdp_w = 0;
  double idle_w = 0;
  double scaleup_bytes_per_s = 0;  // per direction, sum over the device's scale-up links
  std::string source;
  bool supports(Dtype d) const { return peak(d) > 0; }  // a GEMM in an unsupported type is a TWIN_CHECK in seconds()
  double peak(Dtype d) const { return peak_tflops[static_cast<std::size_t>(d)]; }
  double mamf(Dtype d) const { return mamf_tflops[static_cast<std::size_t>(d)]; }
};

}  // namespace twin::device
