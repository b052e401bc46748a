// The effective plan: axes, rank coordinates, chunks of layers. Rank = sum of coordinate x stride, the first axis of
// `order` fastest (Megatron's default tp-cp-ep-dp-pp). Chunk c of the pipeline lives on stage c % pp as its virtual
// stage c / pp.
#pragma once
#include <cstdint>
#include <vector>
#include "sim/core/result.hpp"
#include "sim/step/step.hpp"

namespace twin::step {

struct Coordinates {
  int t = 0, c = 0, d = 0, p = 0;
};

struct Plan {
  int tp = 1, cp = 1, dp = 1, pp = 1, vpp = 1, world = 1;
  bool sp = false;
  work::Schedule schedule = work::Schedule::kNone;
  work::Shard shard = work::Shard::kZero1;
  int shard_size = 1;  // data-parallel ranks (dp x cp) that parameters or optimizer are sharded over
  std::int64_t accumulation = 1;
  std::vector<int> layout;  // layers per chunk, chunks() entries
  int stride_t = 1, stride_c = 1, stride_d = 1, stride_p = 1;

  int chunks() const { return pp * vpp; }
  int rank(const Coordinates& x) const { return x.t * stride_t + x.c * stride_c + x.d * stride_d + x.p * stride_p; }
  Coordinates coordinates(int rank) const;
  int data_ranks() const { return dp * cp; }  // ranks that hold the same parameters
  int replicas() const { return data_ranks() / shard_size; }
  bool fsdp() const;                // parameters or gradients sharded per unit
  bool gathers_parameters() const;  // parameters are sharded between uses (fsdp-full, zero-3)
  bool hybrid() const;
};

// world: devices of the cluster; scaleup: devices per scale-up domain (default shard group of a hybrid plan).
core::Result<Plan> make_plan(const work::Scenario& scenario, int world, int scaleup);
EffectivePlan describe(const Plan& plan, const work::Scenario& scenario);

}  // namespace twin::step
