#include "sim/step/step.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include "sim/core/check.hpp"
#include "sim/step/breakdown.hpp"
#include "sim/step/explain.hpp"
#include "sim/step/interval.hpp"
#include "sim/step/memory.hpp"
#include "sim/step/merge.hpp"
#include "sim/step/plan.hpp"
#include "sim/step/stage_program.hpp"
#include "sim/step/structure.hpp"
#include "topologies/cluster.hpp"
#include "workloads/layers.hpp"

namespace twin::step {

using core::Error;
using core::ErrorCode;
using device::Constants;
using fabric::CollectiveOp;

class PreparedStep {
 public:
  work::Scenario scenario;
  StepOptions options;
  std::unique_ptr<topo::Cluster> cluster;
  Plan plan;
  Structure structure;          // folded unless options.fold is off
  std::vector<int> first_rank;  // of each class
  std::vector<std::int32_t> class_of_rank;
  MemoryReport memory;
};

namespace {

device::AttentionKernel attention_kernel(const work::Stack& s) {
  switch (s.attention) {
    case work::Stack::Attention::kUnfused:
      return device::AttentionKernel::kUnfused;
    case work::Stack::Attention::kFlash1:
      return device::AttentionKernel::kFlash1;
    case work::Stack::Attention::kFlash2:
      return device::AttentionKernel::kFlash2;
    case work::Stack::Attention::kFlash3:
      return device::AttentionKernel::kFlash3;
  }
  return device::AttentionKernel::kFlash3;
}

device::Fp8Recipe fp8_recipe(work::Precision p) {
  switch (p) {
    case work::Precision::kFp8Rowwise:
      return device::Fp8Recipe::kRowwise;
    case work::Precision::kFp8Blockwise:
      return device::Fp8Recipe::kBlockwise;
    case work::Precision::kMxfp8:
      return device::Fp8Recipe::kMx;
    default:
      return device::Fp8Recipe::kTensorwise;
  }
}

device::Dtype gemm_dtype(work::Precision p) {
  switch (p) {
    case work::Precision::kBf16:
      return device::Dtype::kBf16;
    case work::Precision::kFp16:
      return device::Dtype::kFp16;
    case work::Precision::kFp32:
      return device::Dtype::kFp32;
    default:
      return device::Dtype::kFp8;
  }
}

// Clusters of mixed accelerators: a rank on a slower part takes longer by the ratio of peak rates to device 0.
void apply_device_speeds(const topo::Cluster& cluster, work::Precision precision, System& system) {
  const device::Dtype dtype = gemm_dtype(precision);
  const double base = cluster.spec(core::DeviceId{0}).peak(dtype);
  const std::string& name = cluster.spec(core::DeviceId{0}).name;
  for (std::size_t r = 0; r < system.ranks(); ++r) {
    const auto& spec = cluster.spec(core::DeviceId{static_cast<std::int32_t>(r)});
    if (spec.name == name) continue;
    system.speed[r] = static_cast<std::int32_t>(std::llround(system.speed[r] * base / spec.peak(dtype)));
  }
}

struct Costs {
  const PreparedStep& prepared;
  const Constants& constants;
  fabric::Choice choose(const CommTemplate& t, std::int32_t geometry) const {
    const auto& g = prepared.structure.system.geometries[static_cast<std::size_t>(geometry)];
    auto choice = fabric::choose(*prepared.cluster, t.op, t.bytes, g, constants);
    // The pattern of a kind is fixed when the structure is built: rings everywhere, so that loads stay symmetric.
    const auto pattern = prepared.structure.system.kinds[t.kind].algorithm;
    if (pattern == fabric::Algorithm::kRing && choice.algorithm != fabric::Algorithm::kTree) choice.algorithm = pattern;
    return choice;
  }
  // Under CUDA_LAUNCH_BLOCKING the host's part of a collective is not hidden either.
  std::int64_t blocking_ns() const {
    return prepared.scenario.stack.launch_blocking ? std::llround(constants.get("host.launch_blocking_us") * 1e3) : 0;
  }
  CommCost operator()(const CommTemplate& t, std::int32_t geometry) const {
    const auto& g = prepared.structure.system.geometries[static_cast<std::size_t>(geometry)];
    const auto c = fabric::cost(*prepared.cluster, t.op, t.bytes, choose(t, geometry), g, constants);
    return {.bytes = c.busiest_bytes, .latency_ns = c.latency.count() + blocking_ns(), .rate_cap = c.rate_cap};
  }
};

std::int32_t geometry_of_kind(const System& s, int kind) {
  for (std::size_t g = 0; g < s.groups(); ++g)
    if (s.group_kind[g] == kind) return s.group_geometry[g];
  return -1;
}

// SMs that a kernel of this kind holds: the stack's own setting, else NCCL's channels.
int held_sms(const PreparedStep& p, const Costs& costs, int kind, CollectiveOp op, double bytes) {
  if (kind < 0) return 0;
  if (p.scenario.stack.comm_ctas > 0) return static_cast<int>(p.scenario.stack.comm_ctas);
  CommTemplate t;
  t.kind = static_cast<std::uint8_t>(kind);
  t.op = op;
  t.bytes = std::llround(bytes);
  return fabric::ctas(*p.cluster, op, costs.choose(t, geometry_of_kind(p.structure.system, kind)));
}

ProgramContext make_context(const PreparedStep& p, const Constants& k) {
  const auto& s = p.scenario;
  const std::string stack = s.stack.calibration.empty() ? s.stack.name : s.stack.calibration;
  ProgramContext c;
  c.scenario = &s;
  c.plan = &p.plan;
  c.kinds = p.structure.kinds;
  c.timing.device =
      device::resolve(p.cluster->spec(core::DeviceId{0}), stack, attention_kernel(s.stack), fp8_recipe(s.precision), k);
  const double doublings = std::max(0.0, std::log2(p.plan.world / 8.0));
  c.timing.multiplier = k.get("stack." + stack) * (1 + k.get("scale.doubling") * doublings);
  c.timing.jitter_op = k.get("jitter.op");
  c.timing.slowdown_tp = k.get("overlap.slowdown_tp");
  c.timing.slowdown_data = k.get("overlap.slowdown_data");
  c.timing.overlap_hbm_share = k.get("overlap.hbm_share");
  const work::Shape shape{.micro = s.batch.micro, .seq = s.batch.seq, .tp = p.plan.tp, .sp = p.plan.sp};
  c.block = work::make_block(s.model, shape, s.precision, s.stack, c.timing.device.fusion);
  c.ends = work::make_ends(s.model, shape, s.precision, s.stack, c.timing.device.fusion);
  c.launch_ns = s.stack.cuda_graphs ? 0 : c.timing.device.launch_s * 1e9;
  c.step_fixed_ns = std::llround(k.get("step_fixed." + stack) * 1e9);
  c.tp_overlap = s.overlap.tp && p.plan.tp <= p.cluster->devices_per_node();
  if (s.stack.launch_blocking) c.timing.blocking_s = k.get("host.launch_blocking_us") * 1e-6;
  c.tp_overlap_efficiency = 1 / k.get("tp_overlap.efficiency");
  const Costs costs{p, k};
  const auto message = static_cast<double>(c.block.tp_message_bytes);
  const int tp_sms = held_sms(p, costs, c.kinds.tp, CollectiveOp::kAllGather, message);
  c.hold_tp = static_cast<std::uint8_t>(std::clamp((tp_sms + kHoldUnitSms / 2) / kHoldUnitSms, 0, kHoldData - 1));
  const int data_kind = c.kinds.data >= 0 ? c.kinds.data : c.kinds.replica;
  c.timing.data_sms = held_sms(p, costs, data_kind, CollectiveOp::kReduceScatter, c.block.parameters * 4);
  return c;
}

struct Work {  // of the whole job in one step
  double model_flops = 0, model_flops_full = 0, hardware_flops = 0;
};

Work count_flops(const work::Scenario& s) {
  const double tokens = static_cast<double>(s.batch.global * s.batch.seq);
  Work w;
  w.model_flops = 3 * s.model.forward_flops_per_token(s.batch.seq, true) * tokens;
  w.model_flops_full = 3 * s.model.forward_flops_per_token(s.batch.seq, false) * tokens;
  double again = 0;
  const double layer_share = 1 - 2.0 * static_cast<double>(s.model.hidden * s.model.vocab) /
                                     s.model.forward_flops_per_token(s.batch.seq, true);
  if (s.recompute == work::Recompute::kFull) again = layer_share;
  w.hardware_flops = w.model_flops * (3 + again) / 3;
  return w;
}

void fill_rates(const PreparedStep& p, StepResult& r) {
  const auto& s = p.scenario;
  const auto& spec = p.cluster->spec(core::DeviceId{0});
  const Work w = count_flops(s);
  const double devices = p.plan.world;
  const double peak = spec.peak(gemm_dtype(s.precision)) * 1e12;
  r.tokens_per_s = static_cast<double>(s.batch.global * s.batch.seq) / r.step_time_s;
  r.model_tflops_per_device = w.model_flops / devices / r.step_time_s * 1e-12;
  if (peak > 0) {
    r.mfu = r.model_tflops_per_device * 1e12 / peak;
    r.mfu_full_attention = w.model_flops_full / devices / r.step_time_s / peak;
    r.hfu = w.hardware_flops / devices / r.step_time_s / peak;
  }
}

double lower_bound(const PreparedStep& p, const ProgramContext& c) {
  const auto& spec = p.cluster->spec(core::DeviceId{0});
  const auto sum = [&](std::initializer_list<const KernelList*> lists) {
    double t = 0;
    for (const auto* l : lists)
      for (const auto& k : *l)
        if (k.kind == device::KernelKind::kGemm || k.kind == device::KernelKind::kAttention)
          t += k.flops / (spec.peak(k.dtype) * 1e12);
    return t;
  };
  double layer = 0;
  for (const auto* h : {&c.block.attention, &c.block.mlp}) layer += sum({&h->first_gemm, &h->core, &h->last_gemm});
  for (const auto* h : {&c.block.mlp_backward, &c.block.attention_backward})
    layer += sum({&h->last_dgrad, &h->last_wgrad, &h->core, &h->first_dgrad, &h->first_wgrad});
  int most = 0;
  for (int stage = 0; stage < p.plan.pp; ++stage) {
    int layers = 0;
    for (int v = 0; v < p.plan.vpp; ++v) layers += p.plan.layout[static_cast<std::size_t>(stage + v * p.plan.pp)];
    most = std::max(most, layers);
  }
  return layer * most * static_cast<double>(p.plan.accumulation);
}

double energy_per_device(const PreparedStep& p, const ProgramContext& c, double step_s) {
  const auto& m = c.timing.device;
  double joule = 0;
  const auto add = [&](const KernelList& list, double times) {
    for (const auto& k : list)
      joule += times * (device::energy_j(k, m) - m.spec.idle_w * device::seconds(k, m, m.spec.sms));
  };
  const double passes =
      static_cast<double>(p.plan.accumulation) * static_cast<double>(p.scenario.model.layers) / p.plan.pp;
  const double forwards = p.scenario.recompute == work::Recompute::kFull ? 2 : 1;
  for (const auto* h : {&c.block.attention, &c.block.mlp})
    for (const auto* l : {&h->pre, &h->first_gemm, &h->core, &h->last_gemm, &h->post}) add(*l, passes * forwards);
  for (const auto* h : {&c.block.mlp_backward, &c.block.attention_backward})
    for (const auto* l :
         {&h->post, &h->last_dgrad, &h->last_wgrad, &h->core, &h->first_dgrad, &h->first_wgrad, &h->pre})
      add(*l, passes);
  return joule + m.spec.idle_w * step_s;
}

// What a step may issue: about 100 bytes an op of a program, 30 an op that runs.
constexpr std::int64_t kOpsPerLayer = 32;
constexpr std::int64_t kMostProgramOps = 30'000'000, kMostOps = 200'000'000;

// Refuses a simulation that would take memory and minutes without end; `simulated` ranks run one by one.
core::Result<void> check_size(const work::Scenario& s, const Plan& plan, std::int64_t simulated, bool fold) {
  const std::int64_t layers = s.model.layers + 2;
  const std::int64_t most = std::max<std::int64_t>(1, kMostProgramOps / (kOpsPerLayer * layers));
  if (plan.accumulation > most)
    return Error{
        ErrorCode::kRange, s.file + ": batch.global",
        fmt::format("expected at most {} micro batches per replica with {} layers, found {} (global / (micro x "
                    "dp) = {} / ({} x {}))",
                    most, s.model.layers, plan.accumulation, s.batch.global, s.batch.micro, plan.dp),
        "a larger micro, or a smaller global"};
  const std::int64_t ops = plan.accumulation * kOpsPerLayer * (layers / plan.pp + 1);
  if (simulated <= kMostOps / ops) return {};
  return Error{ErrorCode::kRange, fold ? s.file + ": faults" : "--fold",
               fmt::format("expected at most {} ranks that are simulated one by one at about {} ops each, found {}",
                           kMostOps / ops, ops, simulated),
               fold ? "faults leave too few ranks alike: fewer of them" : "on: one of each class is simulated"};
}

}  // namespace

core::Result<std::shared_ptr<const PreparedStep>> prepare_step(const work::Scenario& scenario,
                                                               const StepOptions& options) {
  auto p = std::make_shared<PreparedStep>();
  p->scenario = scenario;
  p->options = options;
  if (options.network != "fluid")
    return Error{ErrorCode::kUnsupported, "--network", "a step runs on \"fluid\", found \"" + options.network + "\"",
                 "`traintwin collective` also takes \"flows\""};
  std::vector<topo::LinkFault> link_faults;
  for (const auto& f : scenario.faults)
    if (f.kind == work::Fault::Kind::kLink) link_faults.push_back({f.match, f.capacity});
  auto cluster = topo::build_cluster(scenario.cluster, link_faults);
  if (!cluster) return cluster.error();
  p->cluster = std::move(*cluster);
  const int world = p->cluster->devices();
  int scaleup = 0;
  while (scaleup < world &&
         p->cluster->scaleup_domain_of(core::DeviceId{scaleup}) == p->cluster->scaleup_domain_of(core::DeviceId{0}))
    ++scaleup;
  const auto& spec = p->cluster->spec(core::DeviceId{0});
  if (spec.peak(gemm_dtype(scenario.precision)) <= 0)
    return Error{ErrorCode::kInconsistent, scenario.file + ": precision",
                 fmt::format("{} has no {} matrix units", spec.name, work::name(scenario.precision)), "bf16"};
  auto plan = make_plan(scenario, world, scaleup);
  if (!plan) return plan.error();
  p->plan = std::move(*plan);
  const bool fold = options.fold && !options.sample_jitter;
  if (auto e = check_size(scenario, p->plan, fold ? 1 : world, fold); !e) return e.error();
  p->memory = report_memory(scenario, p->plan, spec, world, scaleup);
  auto structure =
      build_structure(p->plan, *p->cluster, scenario.faults, {.tied_embeddings = scenario.model.tied_embeddings});
  if (!structure) return structure.error();
  p->structure = std::move(*structure);
  apply_device_speeds(*p->cluster, scenario.precision, p->structure.system);
  auto& system = p->structure.system;
  if (fold) {
    const Partition partition = refine(system);
    if (auto e = check_size(scenario, p->plan, partition.rank_classes, fold); !e) return e.error();
    p->first_rank.assign(static_cast<std::size_t>(partition.rank_classes), -1);
    for (std::size_t r = system.ranks(); r-- > 0;)
      p->first_rank[static_cast<std::size_t>(partition.rank_class[r])] = static_cast<int>(r);
    system = quotient(system, partition);
    p->class_of_rank = partition.rank_class;
  } else {
    for (std::size_t r = 0; r < system.ranks(); ++r) p->first_rank.push_back(static_cast<int>(r));
    p->class_of_rank = p->first_rank;
  }
  return std::shared_ptr<const PreparedStep>(std::move(p));
}

core::Result<StepResult> run_step(const PreparedStep& p, const Constants& constants) {
  const ProgramContext context = make_context(p, constants);
  const Costs costs{p, constants};
  const ExecOptions exec{.record = p.options.record,
                         .jitter = p.options.jitter,
                         .persistent_sigma = constants.get("jitter.persistent"),
                         .sample = p.options.sample_jitter,
                         .seed = p.options.seed};
  auto programs = std::make_shared<std::vector<Program>>();
  const bool merge =
      p.options.merge != MergeMode::kOff && (!p.options.record || p.options.merge_recorded) && p.options.fold;
  const auto write_programs = [&](bool merged) {
    programs->clear();
    for (int stage = 0; stage < p.plan.pp; ++stage) {
      MergeFn fn;
      if (merged)
        fn = make_merge(p.structure.system, p.structure.kinds, p.plan, stage, p.options.merge == MergeMode::kAuto, exec,
                        costs);
      programs->push_back(build_stage_program(context, stage, fn));
    }
  };
  write_programs(merge);
  auto system = std::make_shared<System>(p.structure.system);
  system->programs = programs.get();
  const CommCostFn cost = [&](std::int32_t program, std::int32_t comm, std::int32_t geometry) {
    return costs((*programs)[static_cast<std::size_t>(program)].comms[static_cast<std::size_t>(comm)], geometry);
  };
  auto timeline = execute(*system, cost, exec);
  if (timeline && timeline->stats.merged_held > 0 &&
      p.options.merge == MergeMode::kAuto) {  // bound by the host: op by op
    write_programs(false);
    timeline = execute(*system, cost, exec);
  }
  if (!timeline) return timeline.error();
  StepResult r;
  r.step_time_s = timeline->end.seconds();
  r.plan = describe(p.plan, p.scenario);
  r.assumed = p.scenario.assumed;
  for (const auto& a : p.cluster->assumed()) r.assumed.push_back(a);
  r.memory = p.memory;
  r.lower_bound_s = lower_bound(p, context);
  fill_rates(p, r);
  fill_interval(p.scenario, p.cluster->spec(core::DeviceId{0}), *timeline, r);
  r.classes = static_cast<std::int64_t>(system->ranks());
  r.ranks = p.plan.world;
  r.events = timeline->stats.events;
  r.energy_j_per_device = energy_per_device(p, context, r.step_time_s);
  r.critical_class = critical_class(*timeline);
  if (p.options.record) {
    r.breakdown = break_down(*system, *timeline, r.critical_class);
    for (std::size_t i = 0; i < system->ranks(); ++i)
      r.class_rows.push_back({.name = fmt::format("stage {} ({} ranks, first rank {})", system->program[i],
                                                  system->population[i], p.first_rank[i]),
                              .ranks = system->population[i],
                              .first_rank = p.first_rank[i],
                              .stage = system->program[i],
                              .program = system->program[i]});
    r.class_of_rank = p.class_of_rank;
    r.memory_samples = memory_samples(p.scenario, p.plan, context.block, context.ends, *system, *timeline);
    r.timeline = std::make_shared<Timeline>(std::move(*timeline));
    r.system = system;
    r.programs = programs;
    r.explain = explain_constants(constants, p.scenario, p.cluster->spec(core::DeviceId{0}), context);
  }
  return r;
}

}  // namespace twin::step
