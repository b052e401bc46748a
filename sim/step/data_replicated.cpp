// ddp, zero-1, zero-2: every rank computes with whole parameters. See data_parallel.hpp.
#include <algorithm>
#include "sim/step/data_parallel.hpp"

namespace twin::step {
namespace {

using fabric::CollectiveOp;

struct Bucket {
  int first_unit = 0, last_unit = 0;      // inclusive, forward order
  std::int32_t gather = -1, reduce = -1;  // comm templates
  std::int32_t gather_op = -1;
};

class Replicated final : public DataParallel {
 public:
  Replicated(const ProgramContext& context, Emitter& e, std::vector<Unit> units)
      : c_(context), units_(std::move(units)) {
    const auto& s = *c_.scenario;
    shards_ = c_.plan->shard != work::Shard::kDdp;
    every_micro_batch_ = c_.plan->shard == work::Shard::kZero2;
    overlap_grad_ = s.overlap.dp_grad, overlap_param_ = s.overlap.dp_param;
    last_micro_batch_ = static_cast<std::int32_t>(c_.plan->accumulation) - 1;
    make_buckets(e);
  }

  void begin(Emitter& e) override {
    if (shards_ && overlap_param_ && !buckets_.empty()) issue_gather(e, 0, {});
  }

  void before_forward(Emitter& e, int unit, std::int32_t micro_batch) override {
    if (!shards_ || !overlap_param_ || micro_batch != 0) return;
    const std::size_t b = bucket_of(unit);
    if (buckets_[b].first_unit != unit) return;
    if (buckets_[b].gather_op < 0) issue_gather(e, b, {e.last_compute()});
    e.wait_for(buckets_[b].gather_op);
    if (b + 1 < buckets_.size() && buckets_[b + 1].gather_op < 0) issue_gather(e, b + 1, {e.last_compute()});
  }

  void after_backward(Emitter& e, int unit, std::int32_t micro_batch) override {
    if (!reduces_after(micro_batch)) return;
    const Bucket& b = buckets_[bucket_of(unit)];
    if (b.first_unit != unit) return;
    last_reduce_ = e.communicate(Stream::kDpGrad, b.reduce, {e.last_compute()});
    if (!overlap_grad_) e.wait_for(last_reduce_);
  }

  void finish_gradients(Emitter& e) override {
    if (!overlap_grad_ && !every_micro_batch_)
      for (auto b = buckets_.rbegin(); b != buckets_.rend(); ++b)
        last_reduce_ = e.communicate(Stream::kDpGrad, b->reduce, {e.last_compute()});
    e.wait_for(last_reduce_);
  }

  void after_optimizer(Emitter& e) override {
    if (!shards_ || overlap_param_) return;
    for (auto& b : buckets_) e.wait_for(e.communicate(Stream::kDpParam, b.gather, {e.last_compute()}));
  }

  bool gathers_in(const Pass& p) const override { return shards_ && overlap_param_ && p.forward && p.micro_batch == 0; }
  bool reduces_in(const Pass& p) const override { return !p.forward && reduces_after(p.micro_batch); }

 private:
  bool reduces_after(std::int64_t micro_batch) const {
    return every_micro_batch_ || (overlap_grad_ && micro_batch == last_micro_batch_);
  }
  // Buckets close over whole units, per virtual stage, filled in the order in which gradients become ready.
  void make_buckets(Emitter& e) {
    const auto& s = *c_.scenario;
    const bool one = !s.stack.dp_bucketed || (!overlap_grad_ && !overlap_param_);
    const double limit = one ? 1e30 : std::max(s.stack.bucket_parameters, 1e6 * c_.plan->data_ranks());
    double filled = 0;
    for (int u = static_cast<int>(units_.size()) - 1; u >= 0; --u) {
      const bool new_stage =
          !buckets_.empty() && units_[idx(u)].virtual_stage != units_[idx(buckets_.back().first_unit)].virtual_stage;
      if (buckets_.empty() || filled >= limit || (new_stage && !one)) {
        buckets_.push_back({.first_unit = u, .last_unit = u});
        filled = 0;
      }
      buckets_.back().first_unit = u;
      filled += units_[idx(u)].parameters;
    }
    std::reverse(buckets_.begin(), buckets_.end());
    for (auto& b : buckets_) make_templates(e, b);
  }

  void make_templates(Emitter& e, Bucket& b) const {
    double gradients = 0, parameters = 0;
    for (int u = b.first_unit; u <= b.last_unit; ++u) {
      gradients += units_[idx(u)].parameters * gradient_wire_bytes(*c_.scenario);
      parameters += units_[idx(u)].parameters * parameter_wire_bytes(*c_.scenario, units_[idx(u)]);
    }
    const std::uint8_t hold = c_.hold_data;
    b.reduce =
        shards_ ? e.comm(c_.kinds.data, 0, CollectiveOp::kReduceScatter, gradients, hold, "dp reduce-scatter",
                         Category::kDp)
                : e.comm(c_.kinds.data, 0, CollectiveOp::kAllReduce, gradients, hold, "dp all-reduce", Category::kDp);
    if (shards_)
      b.gather = e.comm(c_.kinds.data, 0, CollectiveOp::kAllGather, parameters, hold, "dp all-gather", Category::kDp);
  }

  void issue_gather(Emitter& e, std::size_t b, std::vector<std::int32_t> after) {
    buckets_[b].gather_op = e.communicate(Stream::kDpParam, buckets_[b].gather, std::move(after));
  }

  static std::size_t idx(int i) { return static_cast<std::size_t>(i); }
  std::size_t bucket_of(int unit) const {
    std::size_t b = 0;
    while (buckets_[b].last_unit < unit) ++b;
    return b;
  }

  const ProgramContext& c_;
  std::vector<Unit> units_;
  std::vector<Bucket> buckets_;  // forward order
  bool shards_ = false, every_micro_batch_ = false, overlap_grad_ = false, overlap_param_ = false;
  std::int32_t last_micro_batch_ = 0, last_reduce_ = -1;
};

}  // namespace

std::unique_ptr<DataParallel> make_replicated(const ProgramContext& context, Emitter& emitter,
                                              std::vector<Unit> units) {
  return std::make_unique<Replicated>(context, emitter, std::move(units));
}

}  // namespace twin::step
