// Device memory at the peak of a step, per pipeline stage and category, walked over the same schedule that is executed.
//   parameters   2 B (16 bit) whole, or shards plus what is gathered; fp8: two copies more (one on Blackwell with a
//   scale per
//                tensor), or those alone where the parameters are fp8 themselves (fp8_param_gather)
//   gradients    main_grad 4 B, else 2 B; whole, or shards (zero-2, fsdp) plus one unit in reduction; DeepSpeed keeps
//                the 16-bit gradients beside fp32 ones
//   optimizer    12 B (fp32 master, two moments), 8 B where the fp32 parameters are the master; over the shard group
//   activations  in-flight micro batches x layers x saved bytes (Korthikanti et al., generalised in
//   workloads/layers.hpp) logits       what embedding, final norm and loss keep of the same micro batches working
//   largest transient: logits, or one layer's backward (with full recompute: one layer's activations again);
//                Transformer Engine's 16-bit placeholders of a layer's weight gradients (get_dummy_wgrad)
// What the framework's allocator holds; context, NCCL buffers and fragmentation are taken off the capacity
// (Spec::usable_bytes). Checked against korthikanti_memory and simumax_b200 (validate).
#pragma once
#include "sim/device/spec.hpp"
#include "sim/step/plan.hpp"
#include "workloads/layers.hpp"

namespace twin::step {

struct StageMemory {
  double parameters = 0, gradients = 0, optimizer = 0, activations = 0, ends = 0, working = 0, communication = 0;
  double total() const { return parameters + gradients + optimizer + activations + ends + working + communication; }
};

StageMemory stage_memory(const work::Scenario& scenario, const Plan& plan, const work::Block& block,
                         const work::Ends& ends, int stage, bool fp8_second_copy = true);
// Bytes that one micro batch of a chunk keeps from its forward to its backward pass.
double saved_bytes(const work::Scenario& scenario, const Plan& plan, const work::Block& block, const work::Ends& ends,
                   int chunk);

// Memory over time of every class, for traces: what stays, plus what each micro batch keeps from the first op of its
// forward pass to the last of its backward pass. One list per class of (ns, bytes); needs a recorded timeline.
std::vector<std::vector<std::pair<std::int64_t, double>>> memory_samples(const work::Scenario& scenario,
                                                                         const Plan& plan, const work::Block& block,
                                                                         const work::Ends& ends, const System& system,
                                                                         const Timeline& timeline);
MemoryReport report_memory(const work::Scenario& scenario, const Plan& plan, const device::Spec& spec, int devices,
                           int scaleup);

}  // namespace twin::step
