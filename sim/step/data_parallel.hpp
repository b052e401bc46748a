// Data parallelism as hooks on parameter units. A unit is what is gathered or reduced together: embedding, one layer,
// head.
//   replicated (ddp, zero-1, zero-2): gradients in buckets; all-reduce, or reduce-scatter with a parameter all-gather
//   that the
//     next step's first forward pass waits for, bucket by bucket (Megatron's distributed optimizer; the step is cyclic,
//     so the gather of the previous optimizer step stands at the start)
//   sharded (zero-3, fsdp*): per unit all-gather before use, at most two in flight beyond what runs; reduce-scatter
//   after the
//     backward of a unit; one communicator, so gathers and reductions are in one order; hybrid: all-reduce over
//     replicas on top
#pragma once
#include <memory>
#include <vector>
#include "sim/step/stage_program.hpp"

namespace twin::step {

class DataParallel {
 public:
  virtual ~DataParallel() = default;
  virtual void begin(Emitter&) {}
  virtual void before_forward(Emitter&, int unit, std::int32_t micro_batch) { (void)unit, (void)micro_batch; }
  virtual void after_forward(Emitter&, int unit, std::int32_t micro_batch) { (void)unit, (void)micro_batch; }
  virtual void before_backward(Emitter&, int unit, std::int32_t micro_batch) { (void)unit, (void)micro_batch; }
  virtual void after_backward(Emitter&, int unit, std::int32_t micro_batch) { (void)unit, (void)micro_batch; }
  virtual void finish_gradients(Emitter&) {}  // after the last backward: what is not overlapped, then wait for all
  virtual void after_optimizer(Emitter&) {}
  // Does the pass wait for or start data-parallel traffic?
  virtual bool gathers_in(const Pass&) const { return false; }
  virtual bool reduces_in(const Pass&) const { return false; }
};

std::unique_ptr<DataParallel> make_replicated(const ProgramContext& context, Emitter& emitter, std::vector<Unit> units);
std::unique_ptr<DataParallel> make_sharded(const ProgramContext& context, Emitter& emitter, std::vector<Unit> units);

// Element sizes on the wire.
double gradient_wire_bytes(const work::Scenario& scenario);
double parameter_wire_bytes(const work::Scenario& scenario, const Unit& unit);

}  // namespace twin::step
