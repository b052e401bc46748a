// The program of one pipeline stage: passes in schedule order, each a chain of block halves on the compute stream with
// tensor-parallel exchanges, point-to-point messages at the ends, data-parallel traffic hooked in per parameter unit,
// and the step's tail. Framework semantics: ../shared/reference/physics.md section 5, restated where each is emitted.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>
#include "sim/step/bundles.hpp"
#include "sim/step/plan.hpp"
#include "sim/step/schedule.hpp"
#include "sim/step/structure.hpp"
#include "workloads/layers.hpp"

namespace twin::step {

// Everything that the programs of all stages share.
struct ProgramContext {
  const work::Scenario* scenario = nullptr;
  const Plan* plan = nullptr;
  Kinds kinds;
  Timing timing;
  work::Block block;
  work::Ends ends;
  double launch_ns = 0;              // host cost of one launch
  std::int64_t step_fixed_ns = 0;    // host time per step outside kernels (logging, optimizer host work, data)
  bool tp_overlap = false;           // userbuffers: needs sp, and the group on one host (CUDA IPC)
  double tp_overlap_efficiency = 1;  // time multiplier of GEMMs that are chunked for overlap
  int tp_splits = 4;                 // chunks of a pipelined reduce-scatter
  std::uint8_t hold_tp = 2, hold_tp_overlap = 1, hold_data = kHoldData;  // hold units of posted kernels (bundles.hpp)
};

// A contiguous piece of parameters that data parallelism moves as one: the embedding, a layer, the head.
struct Unit {
  enum class Kind : std::uint8_t { kEmbedding, kLayer, kHead } kind = Kind::kLayer;
  int virtual_stage = 0;
  int layer = 0;          // within the virtual stage
  double parameters = 0;  // on this device
};

// Emits ops into a Program and keeps track of what the next compute op must wait for.
class Emitter {
 public:
  Emitter(Program& program, const ProgramContext& context);
  std::int32_t compute(std::int32_t bundle, Category category = Category::kCompute, std::int64_t host_lead_ns = 0);
  std::int32_t communicate(Stream stream, std::int32_t comm, std::vector<std::int32_t> dependencies);
  void wait_for(std::int32_t op) {
    if (op >= 0) pending_.push_back(op);
  }
  // What the next compute op follows: the exchange it waits for, else the last compute op.
  std::int32_t end_of_chain() const { return pending_.empty() ? last_compute() : pending_.back(); }
  std::int32_t last_compute() const { return builder.last(Stream::kCompute); }
  std::int32_t comm(int kind, int role, fabric::CollectiveOp op, double bytes, std::uint8_t hold,
                    const std::string& name, Category category);
  void at(std::int32_t micro_batch, int chunk, int layer) {
    micro_batch_ = micro_batch, chunk_ = chunk, layer_ = layer;
  }
  double host_ns() const { return host_ns_; }
  void add_host_ns(double ns) { host_ns_ += ns; }

  Program& program;
  const ProgramContext& context;
  ProgramBuilder builder;
  BundleMaker bundles;

 private:
  Op here(OpType type, Stream stream, Category category, std::int32_t body) const;  // at the current place
  std::vector<std::int32_t> pending_;
  std::int32_t micro_batch_ = -1;
  int chunk_ = -1, layer_ = -1;
  double host_ns_ = 0;
};

// Bundles and comm templates of a transformer block, made once per program; emits one layer's forward or backward.
//
// Tensor parallelism, forward half (attention or MLP):
//   sp:           all-gather -> column GEMM, core, row GEMM -> reduce-scatter
//   sp + overlap: the all-gather runs beside all but the last of tp chunks of the column GEMM (ring exchange), all but
//   the
//                 last of `tp_splits` chunks of the reduce-scatter run beside the row GEMM (pipelined); one chunk is
//                 exposed
//   no sp:        column GEMM, core, row GEMM -> all-reduce
// Backward half: gather of the output gradient (beside dgrad with overlap); row dgrad + wgrad + core; the saved input
// is gathered beside the column dgrad and the input gradient reduced beside the column wgrad (bulk) where the stack
// does so.
class BlockOps {
 public:
  explicit BlockOps(Emitter& emitter);
  void forward(Emitter& e, bool first, bool last) const;  // first, last: of the pass
  void backward(Emitter& e, bool first, bool last, bool recomputes) const;

 private:
  struct Half {
    std::int32_t whole = -1;  // column GEMM + core + row GEMM
    std::int32_t column_most = -1, middle = -1,
                 row_most = -1;  // chunked: (1-1/tp) column | rest, core, row/splits | row rest
  };
  struct HalfBackward {
    std::int32_t row = -1;                      // row dgrad + wgrad + core backward
    std::int32_t row_most = -1, row_rest = -1;  // chunked beside the gather
    std::int32_t column_dgrad = -1, column_wgrad = -1, column_wgrad_quiet = -1;
  };
  Half make_half(Emitter& e, const work::BlockHalf& half, const std::string& name) const;
  HalfBackward make_half_backward(Emitter& e, const work::BlockBackwardHalf& half, const KernelList& before_core,
                                  const std::string& name) const;
  void forward_half(Emitter& e, const Half& half) const;
  void backward_half(Emitter& e, const HalfBackward& half, bool quiet) const;
  void recompute(Emitter& e) const;
  void make_exchanges(Emitter& e);
  void make_unsplit(Emitter& e, const KernelList& recompute_core);

  bool tp_ = false, sp_ = false, overlap_ = false, async_ = true;
  double selective_ = 0;
  Half attention_, mlp_;
  HalfBackward attention_backward_, mlp_backward_;
  std::int32_t enter_ = -1, between_halves_ = -1, between_layers_ = -1, exit_ = -1;
  std::int32_t enter_backward_ = -1, between_halves_backward_ = -1, between_layers_backward_ = -1, exit_backward_ = -1;
  std::int32_t whole_recompute_ = -1, mlp_until_fc2_ = -1;
  std::int32_t whole_forward_ = -1, whole_backward_ = -1, per_op_recompute_ = -1;
  std::int32_t gather_ = -1, gather_overlapped_ = -1, scatter_ = -1, scatter_bulk_ = -1, reduce_ = -1,
               scatter_most_ = -1, scatter_rest_ = -1;
};

// Duration of a pass that runs alone, for merging; see build_stage_program.
struct PassShape {
  int layers = 0;
  bool forward = true, embedding = false, head = false;
  friend auto operator<=>(const PassShape&, const PassShape&) = default;
};
// What a merged pass costs.
struct MergedPass {
  std::int64_t ns = 0;
  std::int64_t host_lead_ns = 0;                  // that issue must be ahead of its start
  std::int64_t variance_ns2 = 0, spread_q20 = 0;  // lateness left at its end
  std::int32_t joins_kind = -1;
};
using MergeFn = std::function<std::optional<MergedPass>(const Program& pass_alone)>;

// Builds the stage's whole program. With `merge`, passes during which no other stream of the stage can be busy with
// anything that shares a resource become one op whose duration `merge` finds by running the pass alone.
Program build_stage_program(const ProgramContext& context, int stage, const MergeFn& merge = {});

}  // namespace twin::step
