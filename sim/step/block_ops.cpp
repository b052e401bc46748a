// The ops of one transformer block for a stage's program: forward, recomputation and backward halves (attention, MLP)
// with the tensor-parallel collectives around them, exposed or exchanged in parts while GEMMs run.
#include <algorithm>
#include "sim/step/stage_program.hpp"

namespace twin::step {
namespace {

using fabric::CollectiveOp;

KernelList join(std::initializer_list<const KernelList*> lists) {
  KernelList out;
  for (const auto* l : lists) out.insert(out.end(), l->begin(), l->end());
  return out;
}

// Until fc2: what an early stop still recomputes.
KernelList forward_until_fc2(const work::Block& b) {
  return join({&b.attention.pre, &b.attention.first_gemm, &b.attention.core, &b.attention.last_gemm, &b.attention.post,
               &b.mlp.pre, &b.mlp.first_gemm, &b.mlp.core});
}

}  // namespace

BlockOps::BlockOps(Emitter& e) {
  const auto& c = *e.context.scenario;
  const auto& b = e.context.block;
  tp_ = e.context.plan->tp > 1;
  sp_ = e.context.plan->sp;
  overlap_ = tp_ && sp_ && e.context.tp_overlap;
  async_ = c.stack.tp_async_grad_all_reduce;
  KernelList recompute_core;
  if (c.recompute == work::Recompute::kSelective) {
    if (c.stack.sac_per_op)
      per_op_recompute_ = e.bundles.add("recompute ops", {&b.recompute_attention_core});
    else
      recompute_core = b.recompute_attention_core;
  }
  if (!tp_) {
    make_unsplit(e, recompute_core);
    return;
  }
  make_exchanges(e);
  attention_ = make_half(e, b.attention, "attention");
  mlp_ = make_half(e, b.mlp, "mlp");
  if (c.stack.recompute_early_stop) mlp_until_fc2_ = e.bundles.add("mlp again", {&b.mlp.first_gemm, &b.mlp.core});
  attention_backward_ = make_half_backward(e, b.attention_backward, recompute_core, "attention");
  mlp_backward_ = make_half_backward(e, b.mlp_backward, {}, "mlp");
  enter_ = e.bundles.add("norm", {&b.attention.pre});
  between_halves_ = e.bundles.add("residual+norm", {&b.attention.post, &b.mlp.pre});
  between_layers_ = e.bundles.add("residual+norm", {&b.mlp.post, &b.attention.pre});
  exit_ = e.bundles.add("residual", {&b.mlp.post}, 1, false);
  enter_backward_ = e.bundles.add("residual bwd", {&b.mlp_backward.post});
  between_halves_backward_ = e.bundles.add("norm+residual bwd", {&b.mlp_backward.pre, &b.attention_backward.post});
  between_layers_backward_ = e.bundles.add("norm+residual bwd", {&b.attention_backward.pre, &b.mlp_backward.post});
  exit_backward_ = e.bundles.add("norm bwd", {&b.attention_backward.pre}, 1, false);
}

void BlockOps::make_unsplit(Emitter& e, const KernelList& recompute_core) {
  const auto& b = e.context.block;
  const KernelList until_fc2 = forward_until_fc2(b);
  const KernelList forward = join({&until_fc2, &b.mlp.last_gemm, &b.mlp.post});
  const auto& m = b.mlp_backward;
  const auto& a = b.attention_backward;
  whole_forward_ = e.bundles.add("layer", {&forward});
  whole_recompute_ =
      e.context.scenario->stack.recompute_early_stop ? e.bundles.add("layer again", {&until_fc2}) : whole_forward_;
  whole_backward_ = e.bundles.add(
      "layer bwd", {&m.post, &m.last_dgrad, &m.last_wgrad, &m.core, &m.first_dgrad, &m.first_wgrad, &m.pre, &a.post,
                    &a.last_dgrad, &a.last_wgrad, &recompute_core, &a.core, &a.first_dgrad, &a.first_wgrad, &a.pre});
}

void BlockOps::make_exchanges(Emitter& e) {
  const auto& x = e.context;
  const auto bytes = static_cast<double>(x.block.tp_message_bytes);
  const int kind = x.kinds.tp;
  gather_ = e.comm(kind, 0, CollectiveOp::kAllGather, bytes, x.hold_tp, "tp all-gather", Category::kTp);
  scatter_ = e.comm(kind, 0, CollectiveOp::kReduceScatter, bytes, x.hold_tp, "tp reduce-scatter", Category::kTp);
  reduce_ = e.comm(kind, 0, CollectiveOp::kAllReduce, bytes, x.hold_tp, "tp all-reduce", Category::kTp);
  gather_overlapped_ = e.comm(kind, 0, CollectiveOp::kAllGather, bytes, 0, "tp all-gather", Category::kTp);
  scatter_bulk_ =
      e.comm(kind, 0, CollectiveOp::kReduceScatter, bytes, x.hold_tp_overlap, "tp reduce-scatter", Category::kTp);
  const double rest = 1.0 / x.tp_splits;
  scatter_most_ = e.comm(kind, 0, CollectiveOp::kReduceScatter, bytes * (1 - rest), x.hold_tp_overlap,
                         "tp reduce-scatter", Category::kTp);
  scatter_rest_ = e.comm(kind, 0, CollectiveOp::kReduceScatter, bytes * rest, x.hold_tp_overlap, "tp reduce-scatter",
                         Category::kTp);
}

BlockOps::Half BlockOps::make_half(Emitter& e, const work::BlockHalf& half, const std::string& name) const {
  Half out;
  if (!overlap_) {
    out.whole = e.bundles.add(name, {&half.first_gemm, &half.core, &half.last_gemm});
    return out;
  }
  const double slow = e.context.tp_overlap_efficiency;
  const double last_chunk = 1.0 / e.context.plan->tp, first_row = 1.0 / e.context.tp_splits;
  out.column_most = e.bundles.add(name + " column GEMM", {&half.first_gemm}, (1 - last_chunk) * slow);
  const auto column_rest = e.bundles.add(name, {&half.first_gemm}, last_chunk * slow);
  const auto core = e.bundles.add(name, {&half.core});
  const auto row_first = e.bundles.add(name, {&half.last_gemm}, first_row * slow);
  out.middle = e.bundles.combine(name, {column_rest, core, row_first});
  out.row_most = e.bundles.add(name + " row GEMM", {&half.last_gemm}, (1 - first_row) * slow);
  return out;
}

BlockOps::HalfBackward BlockOps::make_half_backward(Emitter& e, const work::BlockBackwardHalf& half,
                                                    const KernelList& before_core, const std::string& name) const {
  HalfBackward out;
  if (overlap_) {
    const double slow = e.context.tp_overlap_efficiency, last_chunk = 1.0 / e.context.plan->tp;
    out.row_most = e.bundles.add(name + " row dgrad", {&half.last_dgrad}, (1 - last_chunk) * slow);
    const auto chunk = e.bundles.add(name + " bwd", {&half.last_dgrad}, last_chunk * slow);
    const auto rest = e.bundles.add(name + " bwd", {&half.last_wgrad, &before_core, &half.core});
    out.row_rest = e.bundles.combine(name + " bwd", {chunk, rest});
  } else {
    out.row = e.bundles.add(name + " bwd", {&half.last_dgrad, &half.last_wgrad, &before_core, &half.core});
  }
  out.column_dgrad = e.bundles.add(name + " column dgrad", {&half.first_dgrad});
  out.column_wgrad = e.bundles.add(name + " column wgrad", {&half.first_wgrad});
  out.column_wgrad_quiet = e.bundles.add(name + " column wgrad", {&half.first_wgrad}, 1, false);
  return out;
}

void BlockOps::forward_half(Emitter& e, const Half& half) const {
  if (!sp_) {
    const auto op = e.compute(half.whole);
    e.wait_for(e.communicate(Stream::kTp, reduce_, {op}));
    return;
  }
  if (!overlap_) {
    e.wait_for(e.communicate(Stream::kTp, gather_, {e.last_compute()}));
    const auto op = e.compute(half.whole);
    e.wait_for(e.communicate(Stream::kTp, scatter_, {op}));
    return;
  }
  const auto gathered = e.communicate(Stream::kTp, gather_overlapped_, {e.last_compute()});
  e.compute(half.column_most);
  e.wait_for(gathered);
  const auto middle = e.compute(half.middle);
  e.communicate(Stream::kTp, scatter_most_, {middle});
  const auto row = e.compute(half.row_most);
  e.wait_for(e.communicate(Stream::kTp, scatter_rest_, {row}));
}

void BlockOps::backward_half(Emitter& e, const HalfBackward& half, bool quiet) const {
  const std::int32_t wgrad = quiet ? half.column_wgrad_quiet : half.column_wgrad;
  if (!sp_) {
    e.compute(half.row);
    const auto dgrad = e.compute(half.column_dgrad);
    const auto reduced = e.communicate(Stream::kTp, reduce_, {dgrad});
    if (!async_) e.wait_for(reduced);
    e.compute(wgrad);
    if (async_) e.wait_for(reduced);
    return;
  }
  if (overlap_) {
    const auto gathered = e.communicate(Stream::kTp, gather_overlapped_, {e.last_compute()});
    e.compute(half.row_most);
    e.wait_for(gathered);
    e.compute(half.row_rest);
  } else {
    e.wait_for(e.communicate(Stream::kTp, gather_, {e.last_compute()}));
    e.compute(half.row);
  }
  const auto input = e.communicate(Stream::kTp, overlap_ ? gather_overlapped_ : gather_, {e.last_compute()});
  if (!async_) e.wait_for(input);
  const auto dgrad = e.compute(half.column_dgrad);
  const auto reduced = e.communicate(Stream::kTp, overlap_ ? scatter_bulk_ : scatter_, {dgrad});
  e.wait_for(async_ ? input : reduced);
  e.compute(wgrad);
  if (async_) e.wait_for(reduced);
}

void BlockOps::forward(Emitter& e, bool first, bool last) const {
  if (!tp_) {
    e.compute(whole_forward_);
    return;
  }
  e.compute(first ? enter_ : between_layers_);
  forward_half(e, attention_);
  e.compute(between_halves_);
  forward_half(e, mlp_);
  if (last) e.compute(exit_);
}

void BlockOps::recompute(Emitter& e) const {
  if (!tp_) {
    e.compute(whole_recompute_);
    return;
  }
  if (mlp_until_fc2_ < 0) return forward(e, true, true);
  e.compute(enter_);
  forward_half(e, attention_);
  e.compute(between_halves_);
  if (sp_) e.wait_for(e.communicate(Stream::kTp, gather_, {e.last_compute()}));
  e.compute(mlp_until_fc2_);
}

void BlockOps::backward(Emitter& e, bool first, bool last, bool recomputes) const {
  if (recomputes) recompute(e);
  if (per_op_recompute_ >= 0) e.compute(per_op_recompute_);
  if (!tp_) {
    e.compute(whole_backward_);
    return;
  }
  e.compute(first || recomputes ? enter_backward_ : between_layers_backward_);
  backward_half(e, mlp_backward_, false);
  e.compute(between_halves_backward_);
  backward_half(e, attention_backward_, last);
  if (last || recomputes) e.compute(exit_backward_);
}

}  // namespace twin::step
