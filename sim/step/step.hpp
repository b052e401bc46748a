// One training step of a scenario: prepare (plan, cluster, structure, fold) once, time it under a set of constants as
// often as wanted. simulate_step() does both. Results carry everything that `traintwin step --json` prints.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>
#include "sim/core/result.hpp"
#include "sim/device/constants.hpp"
#include "sim/step/executor.hpp"
#include "workloads/scenario.hpp"

namespace twin::step {

// kAuto: ops that no other stream can see become one, exactly. kApproximate: also where pipeline messages cross the
// same scale-up links as tensor-parallel exchanges (NVL72); the contention between the two is then left out.
enum class MergeMode : std::uint8_t { kAuto, kOff, kApproximate };
struct StepOptions {
  bool fold = true;
  MergeMode merge = MergeMode::kAuto;
  bool jitter = true;
  bool sample_jitter = false;
  bool record = false;            // keep the timeline (traces, --explain, breakdown per op)
  bool merge_recorded = false;    // merge although recording, to compare the two
  std::string network = "fluid";  // fluid | flows
  std::uint64_t seed = 1;
};

struct EffectivePlan {
  int tp = 1, cp = 1, ep = 1, etp = 1, pp = 1, vpp = 1, dp = 1, world = 1;
  bool sp = false;
  std::string schedule, shard, order, precision, recompute;
  std::vector<int> layout;  // layers per chunk, pipeline order
  std::int64_t global = 0, micro = 1, accumulation = 1, seq = 0;
};

struct MemoryReport {
  double peak_bytes = 0, capacity_bytes = 0;
  bool fits = true;
  std::map<std::string, double> by_category;  // of the stage with the highest peak: parameters, gradients, optimizer,
                                              // activations, logits, working, communication, framework
  std::vector<double> by_stage;               // peak per pipeline stage
  std::string advice;                         // when it does not fit: by how much, and what would make it fit
};

struct Breakdown {  // seconds; sums to the step time
  double compute = 0, optimizer = 0, exposed_tp = 0, exposed_cp = 0, exposed_ep = 0, exposed_pp = 0, exposed_dp = 0,
         bubble = 0, straggler = 0, data = 0, other = 0;
};

struct ClassRow {    // for traces and --explain
  std::string name;  // "stage 3 (128 ranks, first rank 384)"
  std::int64_t ranks = 1;
  int first_rank = 0, stage = 0, program = 0;
};

struct StepResult {
  double step_time_s = 0;
  double interval_s[2] = {0, 0};  // 90 %
  double lower_bound_s = 0;       // physical: FLOPs over data-sheet peak, bytes over narrowest link
  double tokens_per_s = 0, model_tflops_per_device = 0, mfu = 0, mfu_full_attention = 0, hfu = 0;
  EffectivePlan plan;
  std::vector<std::string> assumed;
  MemoryReport memory;
  Breakdown breakdown;
  std::int64_t classes = 0, ranks = 0, events = 0;
  double energy_j_per_device = 0;
  // With record: what a trace needs.
  std::vector<ClassRow> class_rows;
  std::vector<std::int32_t> class_of_rank;
  int critical_class = 0;
  std::shared_ptr<const System> system;
  std::shared_ptr<const std::vector<Program>> programs;
  std::shared_ptr<const Timeline> timeline;
  std::vector<std::vector<std::pair<std::int64_t, double>>> memory_samples;  // [class] of (ns, bytes)
  std::vector<std::pair<std::string, std::string>> explain;                  // heading, text
};

class PreparedStep;  // opaque; holds cluster, plan, explicit structure folded to classes
core::Result<std::shared_ptr<const PreparedStep>> prepare_step(const work::Scenario& scenario,
                                                               const StepOptions& options = {});
core::Result<StepResult> run_step(const PreparedStep& prepared, const device::Constants& constants);
inline core::Result<StepResult> simulate_step(const work::Scenario& scenario, const StepOptions& options = {},
                                              const device::Constants& constants = device::Constants::builtin()) {
  auto prepared = prepare_step(scenario, options);
  if (!prepared) return prepared.error();
  return run_step(**prepared, constants);
}

}  // namespace twin::step
