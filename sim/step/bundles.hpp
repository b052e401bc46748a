// Kernels -> bundles: timed once by the device model, with the rate that is left while communication kernels hold SMs.
//   work = sum of kernel times x residual of the stack; rate[level] = time(all SMs) / time(SMs and HBM left at that
//   level).
// Levels: 1-3 are that many units of 8 SMs held by tensor-parallel kernels; 4 says that a data-parallel kernel runs
// (its SMs in Timing), 5-7 both. Beside the SMs and the HBM bandwidth taken, compute is slower by a measured share (L2,
// power, memory latency), larger beside the long data-parallel rings than beside tuned tensor-parallel exchanges.
#pragma once
#include <span>
#include <string>
#include <vector>
#include "sim/device/kernel_time.hpp"
#include "sim/step/program.hpp"

namespace twin::step {

inline constexpr int kHoldUnitSms = 8;        // SMs per tensor-parallel hold unit (CommTemplate::hold)
inline constexpr std::uint8_t kHoldData = 4;  // what a data-parallel kernel adds to the level

// What turns kernels into time: the device model and the multipliers around it.
struct Timing {
  device::Model device;
  double multiplier = 1;         // stack residual x scale term, on every kernel
  double blocking_s = 0;         // device idle per launch where the host waits for every kernel
  double jitter_op = 0;          // relative white noise per op
  double slowdown_tp = 0;        // relative slow-down of compute beside a tensor-parallel kernel, beyond SMs and HBM
  double slowdown_data = 0;      // the same beside a data-parallel kernel
  int data_sms = 16;             // SMs that a data-parallel kernel holds
  double overlap_hbm_share = 0;  // share of HBM bandwidth that 8 held SMs take
};

using KernelList = std::vector<device::Kernel>;

class BundleMaker {
 public:
  BundleMaker(Program& program, ProgramBuilder& builder, const Timing& timing)
      : program_(program), builder_(builder), timing_(timing) {}
  // One bundle of all kernels of the lists; `share` scales it (a chunk of a pipelined GEMM). jitter false: no spread
  // charged.
  std::int32_t add(const std::string& name, std::span<const KernelList* const> lists, double share = 1,
                   bool jitter = true);
  std::int32_t add(const std::string& name, std::initializer_list<const KernelList*> lists, double share = 1,
                   bool jitter = true) {
    return add(name, std::span<const KernelList* const>(lists.begin(), lists.size()), share, jitter);
  }
  std::int32_t combine(const std::string& name,
                       const std::vector<std::int32_t>& parts);       // parts run back to back as one
  std::int32_t fixed(const std::string& name, std::int64_t work_ns);  // no kernels: host time, merged passes
  std::int64_t launches(std::int32_t bundle) const { return launches_[static_cast<std::size_t>(bundle)]; }
  void set_launches(std::int32_t bundle, std::int64_t n) { launches_[static_cast<std::size_t>(bundle)] = n; }
  const Timing& timing() const { return timing_; }

 private:
  Program& program_;
  ProgramBuilder& builder_;
  const Timing& timing_;
  std::vector<std::int64_t> launches_;
};

}  // namespace twin::step
