// A scenario: everything that one `traintwin step` needs, as plain data without behaviour. Defaults are neutral
// (DESIGN.md). Read from JSON by scenario_reader.hpp through one table (name, type, unit, default, range, help), which
// also gives the schema.
#pragma once
#include <cstdint>
#include <string>
#include <vector>
#include "topologies/cluster_ref.hpp"
#include "workloads/model.hpp"

namespace twin::work {

enum class Shard : std::uint8_t {
  kDdp,
  kZero1,
  kZero2,
  kZero3,
  kFsdpFull,
  kFsdpGradOp,
  kFsdpHybrid,
  kFsdp2Full,
  kFsdp2GradOp,
  kFsdp2Hybrid
};
enum class Schedule : std::uint8_t { kNone, kGpipe, k1f1b, kInterleaved1f1b };
enum class Precision : std::uint8_t { kBf16, kFp16, kFp32, kFp8, kFp8Tensorwise, kFp8Rowwise, kFp8Blockwise, kMxfp8 };
enum class Recompute : std::uint8_t {
  kNone,
  kSelective,
  kFull
};                              // selective: attention core (Megatron) or per-op (TorchTitan SAC): see stack
const char* name(Shard s);      // "fsdp2-grad-op"
const char* name(Schedule s);   // "interleaved-1f1b"
const char* name(Precision p);  // "fp8-tensorwise"
const char* name(Recompute r);  // "selective"

struct Parallel {
  int tp = 1, cp = 1, ep = 1, etp = 1, pp = 1, vpp = 1;
  int dp = 0;                           // 0: auto = world / (tp cp pp)
  Schedule schedule = Schedule::kNone;  // kNone: 1f1b when pp > 1, interleaved-1f1b when vpp > 1
  std::vector<int> layout;  // layers per chunk in pipeline order (chunk = stage + pp * virtual stage); empty: auto
  Shard shard = Shard::kZero1;
  int shard_size = 0;  // hybrid: ranks that one shard group holds; 0: the scale-up domain or node
  int sp = -1;         // sequence parallel: -1 auto (tp > 1), 0, 1
  std::string order = "tp-cp-ep-dp-pp";
};

struct Batch {
  std::int64_t global = 0;  // sequences per optimizer step
  std::int64_t micro = 1;   // sequences per micro batch and replica
  std::int64_t seq = 0;     // tokens per sequence; 0: the model's max_positions
};

struct Overlap {
  bool tp = true;        // userbuffers / async TP
  bool dp_grad = true;   // gradient reduction beside the backward pass
  bool dp_param = true;  // parameter gather beside the forward pass
  bool pp = true;        // p2p beside compute (only with vpp > 1 in Megatron)
};

struct Fault {
  enum class Kind : std::uint8_t { kSlow, kLink } kind = Kind::kSlow;
  int rank = -1;        // slow
  double factor = 1;    // slow: multiplies that rank's compute time
  std::string match;    // link selector
  double capacity = 1;  // link: fraction of nominal, 0 = down
};

// Which software runs, as traits of a framework and its period. The catalog (workloads/catalog/stacks/*.json) names
// them.
struct Stack {
  std::string name = "megatron-core";
  enum class Attention : std::uint8_t {
    kUnfused,
    kFlash1,
    kFlash2,
    kFlash3
  } attention = Attention::kFlash3;  // flash3: FA3 or cuDNN
  bool fused_softmax = true;         // with unfused attention: scale+mask+softmax in one kernel
  bool causal_skip = true;           // the attention kernel skips the masked half
  bool fused_bias_activation = true;
  bool main_grad_fp32 = true;    // weight gradients accumulate in fp32 beside bf16 parameters (Megatron)
  bool grad_reduce_fp32 = true;  // gradient reduction in fp32
  bool params_fp32 =
      false;  // mixed precision by autocast or FSDP MixedPrecision: fp32 master are the parameters themselves
  bool fp8_param_gather = false;
  bool async_p2p = true;            // p2p overlaps with compute where the schedule allows (interleaved)
  bool scatter_gather_p2p = false;  // Megatron 2021: p2p sends 1/tp and all-gathers at the receiver
  bool dp_bucketed = true;          // gradient buckets reduced as they become ready
  bool sac_per_op = false;          // selective recompute keeps every second matmul (TorchTitan)
  bool sac_cheap = false;  // selective recompute reruns norms and activations only (Megatron: layernorm, mlp_act)
  bool recompute_early_stop =
      false;  // recomputation ends when the last saved tensor is there: fc2 is not run again (PyTorch >= 2.1)
  bool cuda_graphs = false;
  bool fused_grad_accumulation =
      true;                      // the weight-gradient GEMM adds into the gradient buffer itself (Megatron since 2022)
  bool launch_blocking = false;  // CUDA_LAUNCH_BLOCKING=1: the host waits for every kernel before it launches the next
  bool fused_cross_entropy = true;
  bool distributed_tail = true;               // grad-norm and found-inf all-reduce with host sync
  bool tp_async_grad_all_reduce = true;       // plain TP: backward all-reduce runs beside the weight gradient GEMM
  double bucket_parameters = 40e6;            // bucket = max(this, 1e6 x dp) parameters (Megatron); FSDP: per block
  double optimizer_bytes_per_parameter = 30;  // HBM traffic of the fused Adam step per parameter of the shard
  double comm_ctas = 0;                       // SMs that a collective holds; 0: NCCL's channels
  std::string calibration;                    // suffix of level-C constants, e.g. "megatron-core"; default: name
};

struct Scenario {
  std::string file = "default scenario";  // for messages
  Model model;
  topo::ClusterRef cluster;
  Parallel parallel;
  Batch batch;
  Precision precision = Precision::kBf16;
  Recompute recompute = Recompute::kNone;
  std::string recompute_method = "uniform";  // uniform | block
  int recompute_layers = 0;                  // block: layers per chunk; uniform: layers per unit; 0: all / 1
  Overlap overlap;
  Stack stack;
  std::vector<Fault> faults;
  std::vector<std::string> assumed;  // what was filled in, one sentence each
};

}  // namespace twin::work
