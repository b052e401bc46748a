// A model's pieces as kernels, per device of a tensor-parallel group: transformer block, embedding, head with loss,
// optimizer. Shapes, FLOPs and bytes after division by tp (and sequence parallelism for norms, dropouts, residuals);
// what each saves for the backward pass, with and without recomputation (Korthikanti et al., arXiv 2205.05198, eq. 1-6,
// generalised).
#pragma once
#include <cstdint>
#include <vector>
#include "sim/device/kernel.hpp"
#include "workloads/scenario.hpp"

namespace twin::work {

// Where tensor parallelism communicates inside a block. Forward: gather -> attention half -> reduce -> gather -> mlp
// half -> reduce (with sp: all-gather / reduce-scatter; without: nothing / all-reduce).
struct BlockHalf {
  // Compute before the first GEMM that needs the gathered input (norm), in the sequence-parallel region.
  std::vector<device::Kernel> pre;
  std::vector<device::Kernel> first_gemm;  // qkv or fc1 (column parallel: all-gather feeds it)
  std::vector<device::Kernel> core;        // rotary, attention / bias, activation
  std::vector<device::Kernel> last_gemm;   // proj or fc2 (row parallel: reduce follows)
  std::vector<device::Kernel> post;        // bias, dropout, residual, in the sequence-parallel region
};
struct BlockBackwardHalf {                               // in execution order
  std::vector<device::Kernel> post;                      // backward of dropout/residual
  std::vector<device::Kernel> last_dgrad, last_wgrad;    // proj or fc2
  std::vector<device::Kernel> core;                      // attention backward / activation backward
  std::vector<device::Kernel> first_dgrad, first_wgrad;  // qkv or fc1
  std::vector<device::Kernel> pre;                       // norm backward
};

struct Shape {             // of one micro batch on one device
  std::int64_t micro = 1;  // sequences
  std::int64_t seq = 0;    // tokens per sequence
  int tp = 1;
  bool sp = false;
};

struct Block {
  BlockHalf attention, mlp;
  BlockBackwardHalf mlp_backward, attention_backward;
  // Selective recompute: what runs again before the block's backward. Megatron: the attention core, also a fused one
  // (it is checkpointed all the same); sac_per_op: norms, rotary, activation and every second matmul.
  std::vector<device::Kernel> recompute_attention_core;
  std::int64_t tp_message_bytes =
      0;  // micro x seq x hidden x 2: the activation that crosses TP (full, as nccl-tests count)
  std::int64_t boundary_bytes =
      0;  // activation between blocks on this device (divided by tp with sp): recompute-full keeps it
  std::int64_t saved_bytes_none = 0;  // kept for backward per micro batch, no recompute
  std::int64_t saved_bytes_selective = 0;
  std::int64_t saved_bytes_full = 0;  // = boundary_bytes
  std::int64_t working_bytes =
      0;                       // largest transient inside the block (recompute-full re-materialises saved_bytes_none)
  double parameters = 0;       // on this device (divided by tp; norms and row-parallel biases replicated)
  double norm_parameters = 0;  // replicated part, whose gradients an sp run all-reduces
};
struct Ends {
  std::vector<device::Kernel> embedding, embedding_backward;
  std::vector<device::Kernel> head, head_backward;  // final norm, LM head GEMM, loss (vocabulary parallel)
  std::int64_t
      embedding_saved_bytes = 0,
      head_saved_bytes = 0,
      logits_bytes =
          0;  // logits: peak transient in the loss, beside what is saved (16-bit logits, fp32 copy unless fused)
  // On this device. The head counts its table (and the final norm) also when tied: a tied head on another stage keeps
  // its own copy; where both ends share a stage, the caller leaves out table_parameters once.
  double embedding_parameters = 0, head_parameters = 0, table_parameters = 0;
  std::int64_t loss_reduce_bytes =
      0;  // vocabulary-parallel cross entropy: small TP all-reduces (count x bytes in total)
};

// One GEMM for Q, K and V on Transformer Engine modules (Megatron-Core since 2023): 16-bit parameters beside main
// gradients, fused attention. Meta's trainer has the same traits but frees early what it can.
inline bool fused_qkv(const Stack& s) {
  return s.attention != Stack::Attention::kUnfused && !s.params_fp32 && !s.sac_cheap;
}

Block make_block(const Model& model, const Shape& shape, Precision precision, const Stack& stack, double fusion);
Ends make_ends(const Model& model, const Shape& shape, Precision precision, const Stack& stack, double fusion);

}  // namespace twin::work
