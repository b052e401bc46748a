#include "sim/step/stage_program.hpp"
#include <algorithm>
#include <cmath>
#include <map>
#include "sim/step/data_parallel.hpp"

namespace twin::step {
namespace {

using device::KernelKind;
using fabric::CollectiveOp;

// A stage's parameters in forward order.
std::vector<Unit> stage_units(const ProgramContext& c, int stage) {
  std::vector<Unit> units;
  const Plan& plan = *c.plan;
  for (int v = 0; v < plan.vpp; ++v) {
    const int chunk = stage + plan.pp * v;
    if (chunk == 0) units.push_back({Unit::Kind::kEmbedding, v, -1, c.ends.embedding_parameters});
    for (int l = 0; l < plan.layout[static_cast<std::size_t>(chunk)]; ++l)
      units.push_back({Unit::Kind::kLayer, v, l, c.block.parameters});
    if (chunk == plan.chunks() - 1) {
      // A tied head on the embedding's own stage has no parameters of its own.
      const bool shared = c.scenario->model.tied_embeddings && plan.pp == 1;
      units.push_back({Unit::Kind::kHead, v, -1, shared ? 0 : c.ends.head_parameters});
    }
  }
  return units;
}

class StageBuilder {
 public:
  StageBuilder(const ProgramContext& c, int stage, const MergeFn& merge, Program& program)
      : c_(c), plan_(*c.plan), stage_(stage), merge_(merge), e_(program, c), block_(e_), units_(stage_units(c, stage)) {
    if (c.kinds.data >= 0 || c.kinds.replica >= 0)
      data_ = plan_.fsdp() ? make_sharded(c, e_, units_) : make_replicated(c, e_, units_);
    else
      data_ = std::make_unique<DataParallel>();
    make_ends();
    make_messages();
  }

  void build() {
    const ScheduleShape shape{.pp = plan_.pp, .vpp = plan_.vpp, .micro_batches = plan_.accumulation};
    passes_ = make_schedule(plan_.schedule, shape, stage_);
    find_merge_window();
    data_->begin(e_);
    for (std::size_t i = 0; i < passes_.size(); ++i) run_pass(i);
    tail();
    e_.builder.finish();
  }

  // A pass alone, for merge_: no messages, no data parallelism.
  // Returns the host time that it takes to issue.
  double build_alone(const PassShape& shape) {
    data_ = std::make_unique<DataParallel>();
    emit_pass({.forward = shape.forward}, shape.layers, shape.embedding, shape.head);
    e_.builder.finish();
    return e_.host_ns();
  }

 private:
  static std::size_t idx(std::int64_t i) { return static_cast<std::size_t>(i); }
  int chunk_of(const Pass& p) const { return stage_ + plan_.pp * p.virtual_stage; }
  int first_unit(int virtual_stage) const {
    int u = 0;
    while (units_[idx(u)].virtual_stage < virtual_stage) ++u;
    return u;
  }

  void make_ends() {
    const bool first = stage_ == 0, last = (stage_ + 1) % plan_.pp == 0;
    const auto bytes = static_cast<double>(c_.block.tp_message_bytes);
    if (first || last) {
      gather_ = e_.comm(c_.kinds.tp, 0, CollectiveOp::kAllGather, bytes, c_.hold_tp, "tp all-gather", Category::kTp);
      scatter_ =
          e_.comm(c_.kinds.tp, 0, CollectiveOp::kReduceScatter, bytes, c_.hold_tp, "tp reduce-scatter", Category::kTp);
      reduce_ = e_.comm(c_.kinds.tp, 0, CollectiveOp::kAllReduce, bytes, c_.hold_tp, "tp all-reduce", Category::kTp);
    }
    if (first) {
      embedding_ = e_.bundles.add("embedding", {&c_.ends.embedding});
      embedding_backward_ = e_.bundles.add("embedding bwd", {&c_.ends.embedding_backward}, 1, plan_.tp == 1);
    }
    if (last) {
      head_ = e_.bundles.add("head+loss", {&c_.ends.head});
      head_backward_ = e_.bundles.add("head bwd", {&c_.ends.head_backward});
      loss_ = e_.comm(c_.kinds.tp, 0, CollectiveOp::kAllReduce, static_cast<double>(c_.ends.loss_reduce_bytes),
                      c_.hold_tp, "loss all-reduce", Category::kTp);
    }
  }

  void make_messages() {
    if (plan_.pp == 1) return;
    const bool scattered = c_.scenario->stack.scatter_gather_p2p && plan_.tp > 1 && !plan_.sp;
    const double bytes = static_cast<double>(c_.block.boundary_bytes) / (scattered ? plan_.tp : 1);
    send_forward_ = e_.comm(c_.kinds.forward, 0, CollectiveOp::kSendRecv, bytes, 0, "send forward", Category::kPp);
    recv_forward_ = e_.comm(c_.kinds.forward, 1, CollectiveOp::kSendRecv, bytes, 0, "recv forward", Category::kPp);
    send_backward_ = e_.comm(c_.kinds.backward, 0, CollectiveOp::kSendRecv, bytes, 0, "send backward", Category::kPp);
    recv_backward_ = e_.comm(c_.kinds.backward, 1, CollectiveOp::kSendRecv, bytes, 0, "recv backward", Category::kPp);
    if (scattered)
      p2p_gather_ = e_.comm(c_.kinds.tp, 0, CollectiveOp::kAllGather, static_cast<double>(c_.block.tp_message_bytes), 0,
                            "p2p all-gather", Category::kPp);
    overlap_p2p_ = c_.scenario->overlap.pp && c_.scenario->stack.async_p2p && plan_.vpp > 1;
  }

  // Passes strictly between the last that waits for parameters and the first that starts a reduction run while no
  // data-parallel kernel of this stage is in flight.
  void find_merge_window() {
    merge_from_ = 1, merge_to_ = passes_.size();  // during the first pass the host is not yet ahead
    for (std::size_t i = 0; i < passes_.size(); ++i) {
      if (data_->gathers_in(passes_[i])) merge_from_ = i + 1;
      if (data_->reduces_in(passes_[i]) && merge_to_ == passes_.size()) merge_to_ = i;
    }
  }

  void run_pass(std::size_t i) {
    const Pass& p = passes_[i];
    const int chunk = chunk_of(p);
    const bool embedding = chunk == 0, head = chunk == plan_.chunks() - 1;
    const int layers = plan_.layout[idx(chunk)];
    e_.at(p.micro_batch, chunk, -1);
    receive(p, embedding, head);
    const bool merged = merge_ && layers > 0 && i >= merge_from_ && i < merge_to_ &&
                        emit_merged({.layers = layers, .forward = p.forward, .embedding = embedding, .head = head});
    if (!merged) emit_pass(p, layers, embedding, head);
    send(p, embedding, head);
  }

  struct MergedBundle {
    std::int32_t bundle = -1;
    double host_ns = 0;
    std::int64_t lead_ns = 0;
  };

  bool emit_merged(const PassShape& shape) {
    auto it = merged_.find(shape);
    if (it == merged_.end()) {
      Program alone;
      StageBuilder builder(c_, stage_, {}, alone);
      MergedBundle made{.host_ns = builder.build_alone(shape)};
      if (const auto m = merge_(alone)) {
        made.lead_ns = m->host_lead_ns;
        made.bundle = e_.bundles.fixed(shape.forward ? "forward pass" : "backward pass", m->ns);
        auto& b = e_.program.bundles[idx(made.bundle)];
        b.variance_ns2 = m->variance_ns2;
        b.spread_q20 = m->spread_q20;
        b.joins_kind = m->joins_kind;
        b.merged = true;
      }
      it = merged_.emplace(shape, made).first;
    }
    if (it->second.bundle < 0) return false;
    e_.compute(it->second.bundle, Category::kCompute, it->second.lead_ns);
    e_.add_host_ns(it->second.host_ns);
    return true;
  }

  void emit_pass(const Pass& p, int layers, bool embedding, bool head) {
    const int first = data_ ? first_unit(p.virtual_stage) : 0;
    const int first_layer = first + (embedding ? 1 : 0);
    if (p.forward) {
      if (embedding) forward_embedding(first, p.micro_batch);
      for (int l = 0; l < layers; ++l) {
        e_.at(p.micro_batch, chunk_of(p), l);
        data_->before_forward(e_, first_layer + l, p.micro_batch);
        block_.forward(e_, l == 0, l == layers - 1);
        data_->after_forward(e_, first_layer + l, p.micro_batch);
      }
      if (head) forward_head(first_layer + layers, p.micro_batch);
      return;
    }
    if (head) backward_head(first_layer + layers, p.micro_batch);
    for (int l = layers - 1; l >= 0; --l) {
      e_.at(p.micro_batch, chunk_of(p), l);
      data_->before_backward(e_, first_layer + l, p.micro_batch);
      block_.backward(e_, l == layers - 1, l == 0, recomputes(layers, l));
      data_->after_backward(e_, first_layer + l, p.micro_batch);
    }
    if (embedding) backward_embedding(first, p.micro_batch);
  }

  // uniform: every layer; block: the first `recompute_layers` of the chunk.
  bool recomputes(int layers, int layer) const {
    const auto& s = *c_.scenario;
    if (s.recompute != work::Recompute::kFull) return false;
    if (s.recompute_method != "block" || s.recompute_layers <= 0) return true;
    return layer < std::min(layers, s.recompute_layers);
  }

  void forward_embedding(int unit, std::int32_t mb) {
    data_->before_forward(e_, unit, mb);
    const auto op = e_.compute(embedding_);
    if (plan_.tp > 1) e_.wait_for(e_.communicate(Stream::kTp, plan_.sp ? scatter_ : reduce_, {op}));
    data_->after_forward(e_, unit, mb);
  }
  void backward_embedding(int unit, std::int32_t mb) {
    data_->before_backward(e_, unit, mb);
    if (plan_.sp) e_.wait_for(e_.communicate(Stream::kTp, gather_, {e_.last_compute(), e_.end_of_chain()}));
    e_.compute(embedding_backward_);
    data_->after_backward(e_, unit, mb);
  }
  void forward_head(int unit, std::int32_t mb) {
    data_->before_forward(e_, unit, mb);
    if (plan_.sp) e_.wait_for(e_.communicate(Stream::kTp, gather_, {e_.last_compute(), e_.end_of_chain()}));
    const auto op = e_.compute(head_);
    if (loss_ >= 0) e_.wait_for(e_.communicate(Stream::kTp, loss_, {op}));
    data_->after_forward(e_, unit, mb);
  }
  void backward_head(int unit, std::int32_t mb) {
    data_->before_backward(e_, unit, mb);
    const auto op = e_.compute(head_backward_);
    if (plan_.tp > 1) e_.wait_for(e_.communicate(Stream::kTp, plan_.sp ? scatter_ : reduce_, {op}));
    data_->after_backward(e_, unit, mb);
  }

  // Blocking p2p (Megatron without overlap_p2p_comm): a receive is posted when the compute before it is done, together
  // with the send of its result, and the next compute waits for both (interleaved: for the receive; there one batched
  // call holds all four directions, which a wait for single sends would turn into a deadlock). Overlapped: receives are
  // posted one pass ahead, nothing waits for sends.
  void receive(const Pass& p, bool embedding, bool head) {
    if (plan_.pp == 1) return;
    const bool source = p.forward ? embedding : head;
    const auto before = pass_ends_.size();
    if (!source) {
      const Stream stream = p.forward ? Stream::kPpRecvForward : Stream::kPpRecvBackward;
      const std::size_t behind = overlap_p2p_ ? 2 : 1;
      const std::int32_t after = before >= behind ? pass_ends_[before - behind] : -1;
      auto op = e_.communicate(stream, p.forward ? recv_forward_ : recv_backward_, {after});
      if (p2p_gather_ >= 0) op = e_.communicate(Stream::kTp, p2p_gather_, {op});
      e_.wait_for(op);
    }
    if (plan_.vpp == 1) e_.wait_for(std::exchange(unfinished_send_, -1));
  }
  void send(const Pass& p, bool embedding, bool head) {
    pass_ends_.push_back(e_.end_of_chain());
    if (plan_.pp == 1 || (p.forward ? head : embedding)) return;
    const Stream stream = p.forward ? Stream::kPpSendForward : Stream::kPpSendBackward;
    // With tensor parallelism the pass ends in an exchange that the message needs too; it is the tp stream's last op.
    unfinished_send_ = e_.communicate(stream, p.forward ? send_forward_ : send_backward_,
                                      {e_.last_compute(), e_.builder.last(Stream::kTp)});
  }

  // After the last backward: remaining gradient traffic, tied embeddings, norm gradients, gradient norm with host sync,
  // optimizer, parameter gather, host work of the step.
  void tail() {
    e_.at(-1, -1, -1);
    data_->finish_gradients(e_);
    const double main_grad = c_.scenario->stack.main_grad_fp32 ? 4 : 2;
    if (c_.kinds.embedding >= 0 && (stage_ == 0 || stage_ == plan_.pp - 1)) {
      const auto t = e_.comm(c_.kinds.embedding, 0, CollectiveOp::kAllReduce, c_.ends.embedding_parameters * main_grad,
                             c_.hold_data, "embedding all-reduce", Category::kDp);
      e_.wait_for(e_.communicate(Stream::kDpGrad, t, {e_.last_compute()}));
    }
    double parameters = 0, layers = 0;
    for (const auto& u : units_) {
      parameters += u.parameters;
      layers += u.kind == Unit::Kind::kLayer ? 1 : 0;
    }
    if (plan_.sp && layers > 0) {
      const auto t = e_.comm(c_.kinds.tp, 0, CollectiveOp::kAllReduce, c_.block.norm_parameters * layers * main_grad,
                             c_.hold_tp, "norm gradient all-reduce", Category::kTp);
      e_.wait_for(e_.communicate(Stream::kTp, t, {e_.last_compute()}));
    }
    const double shard = parameters / plan_.shard_size;
    const double grads =
        (plan_.shard == work::Shard::kDdp || plan_.shard == work::Shard::kZero1 || plan_.shard == work::Shard::kZero2)
            ? parameters
            : shard;
    const KernelList norm = {
        {.kind = KernelKind::kElementwise, .bytes = shard * main_grad, .launches = 4, .label = "gradient norm"}};
    const auto norm_op = e_.compute(e_.bundles.add("gradient norm", {&norm}), Category::kOptimizer);
    if (c_.kinds.world >= 0 && c_.scenario->stack.distributed_tail) {
      const auto t =
          e_.comm(c_.kinds.world, 0, CollectiveOp::kAllReduce, 16, 0, "gradient norm all-reduce", Category::kOther);
      const auto op = e_.communicate(Stream::kDpGrad, t, {norm_op});
      e_.wait_for(op);
    }
    const KernelList step = {
        {.kind = KernelKind::kOptimizer,
         .bytes = shard * c_.scenario->stack.optimizer_bytes_per_parameter,
         .launches = 4,
         .label = "adam"},
        {.kind = KernelKind::kElementwise, .bytes = grads * main_grad, .launches = 1, .label = "zero gradients"}};
    e_.compute(e_.bundles.add("optimizer", {&step}), Category::kOptimizer);
    data_->after_optimizer(e_);
    if (c_.step_fixed_ns > 0) e_.compute(e_.bundles.fixed("host work of the step", c_.step_fixed_ns), Category::kOther);
  }

  const ProgramContext& c_;
  const Plan& plan_;
  int stage_;
  MergeFn merge_;
  Emitter e_;
  BlockOps block_;
  std::vector<Unit> units_;
  std::unique_ptr<DataParallel> data_;
  std::vector<Pass> passes_;
  std::vector<std::int32_t> pass_ends_;
  std::map<PassShape, MergedBundle> merged_;
  std::size_t merge_from_ = 0, merge_to_ = 0;
  bool overlap_p2p_ = false;
  std::int32_t unfinished_send_ = -1;
  std::int32_t embedding_ = -1, embedding_backward_ = -1, head_ = -1, head_backward_ = -1;
  std::int32_t gather_ = -1, scatter_ = -1, reduce_ = -1, loss_ = -1, p2p_gather_ = -1;
  std::int32_t send_forward_ = -1, recv_forward_ = -1, send_backward_ = -1, recv_backward_ = -1;
};

}  // namespace

Program build_stage_program(const ProgramContext& context, int stage, const MergeFn& merge) {
  Program program;
  StageBuilder(context, stage, merge, program).build();
  return program;
}

}  // namespace twin::step
