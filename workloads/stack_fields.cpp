// The fields of a software stack object.
#include "workloads/names.hpp"
#include "workloads/tables.hpp"

namespace twin::work::detail {

const std::vector<Field<Stack>>& stack_fields() {
  using S = Stack;
  static const std::vector<Field<S>> fields = {
      text<S>(
          "name", [](auto& s) -> auto& { return s.name; }, "shown in reports"),
      choice<S>(
          "attention", [](auto& s) -> auto& { return s.attention; }, attention_names(),
          "attention kernel; flash3: FlashAttention 3 or cuDNN"),
      boolean<S>(
          "fused_softmax", [](auto& s) -> auto& { return s.fused_softmax; },
          "with unfused attention: scale, mask and softmax in one kernel"),
      boolean<S>(
          "causal_skip", [](auto& s) -> auto& { return s.causal_skip; }, "the attention kernel skips the masked half"),
      boolean<S>(
          "fused_bias_activation", [](auto& s) -> auto& { return s.fused_bias_activation; },
          "bias, dropout and activation in one kernel"),
      boolean<S>(
          "main_grad_fp32", [](auto& s) -> auto& { return s.main_grad_fp32; },
          "weight gradients accumulate in fp32 beside 16-bit parameters"),
      boolean<S>(
          "grad_reduce_fp32", [](auto& s) -> auto& { return s.grad_reduce_fp32; }, "gradients are reduced in fp32"),
      boolean<S>(
          "params_fp32", [](auto& s) -> auto& { return s.params_fp32; },
          "the parameters themselves are the fp32 master (autocast, FSDP MixedPrecision)"),
      boolean<S>(
          "fp8_param_gather", [](auto& s) -> auto& { return s.fp8_param_gather; }, "parameters are gathered in fp8"),
      boolean<S>(
          "async_p2p", [](auto& s) -> auto& { return s.async_p2p; },
          "pipeline messages run beside compute where the schedule allows"),
      boolean<S>(
          "scatter_gather_p2p", [](auto& s) -> auto& { return s.scatter_gather_p2p; },
          "pipeline messages carry 1/tp and are gathered at the receiver"),
      boolean<S>(
          "dp_bucketed", [](auto& s) -> auto& { return s.dp_bucketed; },
          "gradients are reduced bucket by bucket as they become ready"),
      boolean<S>(
          "sac_per_op", [](auto& s) -> auto& { return s.sac_per_op; }, "selective recompute keeps every second matmul"),
      boolean<S>(
          "sac_cheap", [](auto& s) -> auto& { return s.sac_cheap; },
          "selective recompute reruns norms and activations only"),
      boolean<S>(
          "cuda_graphs", [](auto& s) -> auto& { return s.cuda_graphs; }, "launches are captured once"),
      boolean<S>(
          "recompute_early_stop", [](auto& s) -> auto& { return s.recompute_early_stop; },
          "full recomputation ends before fc2 (PyTorch >= 2.1)"),
      boolean<S>(
          "fused_grad_accumulation", [](auto& s) -> auto& { return s.fused_grad_accumulation; },
          "the weight-gradient GEMM adds into the gradient buffer itself"),
      boolean<S>(
          "launch_blocking", [](auto& s) -> auto& { return s.launch_blocking; },
          "CUDA_LAUNCH_BLOCKING=1: the host waits for every kernel"),
      boolean<S>(
          "fused_cross_entropy", [](auto& s) -> auto& { return s.fused_cross_entropy; },
          "the loss makes no fp32 copy of the logits"),
      boolean<S>(
          "distributed_tail", [](auto& s) -> auto& { return s.distributed_tail; },
          "gradient-norm and found-inf all-reduce with a host sync"),
      boolean<S>(
          "tp_async_grad_all_reduce", [](auto& s) -> auto& { return s.tp_async_grad_all_reduce; },
          "plain TP: the backward all-reduce runs beside the weight gradient"),
      number<S>(
          "bucket_parameters", [](auto& s) -> auto& { return s.bucket_parameters; }, {1, 1e15}, "parameters",
          "gradient bucket: the larger of this and a million x dp"),
      number<S>(
          "optimizer_bytes_per_parameter", [](auto& s) -> auto& { return s.optimizer_bytes_per_parameter; }, {0, 1000},
          "bytes", "HBM traffic of the optimizer per parameter of the shard"),
      number<S>(
          "comm_ctas", [](auto& s) -> auto& { return s.comm_ctas; }, {0, 1024}, "SMs",
          "SMs that a collective holds; 0: NCCL's channels"),
      text<S>(
          "calibration", [](auto& s) -> auto& { return s.calibration; },
          "suffix of the calibrated constants; empty: the name"),
  };
  return fields;
}

}  // namespace twin::work::detail
