// zero-3, fsdp, fsdp2: parameters live in shards and are gathered per unit. See data_parallel.hpp.
//   FSDP1: `limit_all_gathers` lets two gathers run ahead of the unit in use; backward prefetches the next unit before
//   the current one's compute; the root (embedding, head) stays gathered from forward to backward. FSDP2: the same
//   look-ahead by two buffers, copy-out kernels on the compute stream, last block kept for backward. grad-op:
//   parameters are gathered once (per micro batch without pipeline) and kept for backward.
#include "sim/step/data_parallel.hpp"

namespace twin::step {
namespace {

using fabric::CollectiveOp;
using work::Shard;

class Sharded final : public DataParallel {
 public:
  Sharded(const ProgramContext& context, Emitter& e, std::vector<Unit> units) : c_(context), units_(std::move(units)) {
    const Shard s = c_.plan->shard;
    fsdp2_ = s >= Shard::kFsdp2Full;
    reshard_ = c_.plan->gathers_parameters();
    ops_.resize(units_.size());
    for (std::size_t u = 0; u < units_.size(); ++u) make_templates(e, u);
  }

  void before_forward(Emitter& e, int unit, std::int32_t micro_batch) override {
    if (!gathered_forward(unit, micro_batch)) return;
    if (ops_[idx(unit)].pending < 0) gather(e, unit);
    e.wait_for(take(unit));
    // Look ahead: the next unit's gather is issued before this unit computes.
    const int next = unit + 1;
    if (next < static_cast<int>(units_.size()) && units_[idx(next)].virtual_stage == units_[idx(unit)].virtual_stage &&
        gathered_forward(next, micro_batch))
      gather(e, next);
    copy_out(e, unit);
  }
  void after_forward(Emitter& e, int, std::int32_t) override { used_.push_back(e.last_compute()); }

  void before_backward(Emitter& e, int unit, std::int32_t) override {
    if (gathered_backward(unit)) {
      if (ops_[idx(unit)].pending < 0) gather(e, unit);
      e.wait_for(take(unit));
    }
    const int next = unit - 1;
    if (next >= 0 && units_[idx(next)].virtual_stage == units_[idx(unit)].virtual_stage && gathered_backward(next))
      gather(e, next);
    if (gathered_backward(unit)) copy_out(e, unit);
  }

  void after_backward(Emitter& e, int unit, std::int32_t) override {
    used_.push_back(e.last_compute());
    const auto& o = ops_[idx(unit)];
    if (o.reduce >= 0) last_reduce_ = e.communicate(Stream::kDpParam, o.reduce, {e.last_compute()});
    if (o.replicate >= 0)
      last_replicate_ = e.communicate(Stream::kDpGrad, o.replicate, {o.reduce >= 0 ? last_reduce_ : e.last_compute()});
  }

  void finish_gradients(Emitter& e) override {
    e.wait_for(last_reduce_);
    e.wait_for(last_replicate_);
  }

  bool gathers_in(const Pass& p) const override {
    return p.forward && (reshard_ || c_.plan->pp == 1 || p.micro_batch == 0);
  }
  bool reduces_in(const Pass& p) const override { return !p.forward; }

 private:
  struct UnitOps {
    std::int32_t gather = -1, reduce = -1, replicate = -1, copy = -1;
    std::int32_t pending = -1;  // gather issued and not yet waited for
  };

  void make_templates(Emitter& e, std::size_t u) {
    const auto& s = *c_.scenario;
    const Unit& unit = units_[u];
    const double parameters = unit.parameters * parameter_wire_bytes(s, unit),
                 gradients = unit.parameters * gradient_wire_bytes(s);
    auto& o = ops_[u];
    if (c_.kinds.data >= 0) {
      o.gather = e.comm(c_.kinds.data, 0, CollectiveOp::kAllGather, parameters, c_.hold_data, "fsdp all-gather",
                        Category::kDp);
      o.reduce = e.comm(c_.kinds.data, 0, CollectiveOp::kReduceScatter, gradients, c_.hold_data, "fsdp reduce-scatter",
                        Category::kDp);
    }
    if (c_.kinds.replica >= 0)
      o.replicate = e.comm(c_.kinds.replica, 0, CollectiveOp::kAllReduce, gradients / c_.plan->shard_size, c_.hold_data,
                           "fsdp replica all-reduce", Category::kDp);
    if (fsdp2_) {
      const KernelList copy = {{.kind = device::KernelKind::kCopy, .bytes = 2 * parameters, .label = "copy-out"}};
      o.copy = e.bundles.add("fsdp copy-out", {&copy}, 1, false);
    }
  }

  bool root(int unit) const { return units_[idx(unit)].kind != Unit::Kind::kLayer; }
  bool gathered_forward(int unit, std::int32_t micro_batch) const {
    if (ops_[idx(unit)].gather < 0) return false;
    return reshard_ || c_.plan->pp == 1 || micro_batch == 0;
  }
  bool gathered_backward(int unit) const {
    if (ops_[idx(unit)].gather < 0 || !reshard_ || root(unit)) return false;
    const bool last_layer = idx(unit) + 1 == units_.size() || root(unit + 1);
    return !(fsdp2_ && last_layer);
  }

  // At most two gathers beyond the unit whose compute was last issued: wait for the unit before the last.
  void gather(Emitter& e, int unit) {
    std::vector<std::int32_t> after;
    if (used_.size() >= 2) after.push_back(used_[used_.size() - 2]);
    ops_[idx(unit)].pending = e.communicate(Stream::kDpParam, ops_[idx(unit)].gather, std::move(after));
  }
  std::int32_t take(int unit) { return std::exchange(ops_[idx(unit)].pending, -1); }
  void copy_out(Emitter& e, int unit) {
    if (ops_[idx(unit)].copy >= 0) e.compute(ops_[idx(unit)].copy);
  }
  static std::size_t idx(int i) { return static_cast<std::size_t>(i); }

  const ProgramContext& c_;
  std::vector<Unit> units_;
  std::vector<UnitOps> ops_;
  std::vector<std::int32_t> used_;  // last compute op of each unit use, in order
  bool fsdp2_ = false, reshard_ = false;
  std::int32_t last_reduce_ = -1, last_replicate_ = -1;
};

}  // namespace

std::unique_ptr<DataParallel> make_sharded(const ProgramContext& context, Emitter& emitter, std::vector<Unit> units) {
  return std::make_unique<Sharded>(context, emitter, std::move(units));
}

}  // namespace twin::step
