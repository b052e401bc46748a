#include "sim/step/plan.hpp"
#include <algorithm>
#include <numeric>
#include <string>
#include "workloads/scenario_reader.hpp"

namespace twin::step {
namespace {

using core::Error;
using core::ErrorCode;
using work::Shard;

Error inconsistent(const work::Scenario& s, std::string field, std::string message, std::string hint = "") {
  return Error{ErrorCode::kInconsistent, s.file + ": " + field, std::move(message), std::move(hint)};
}

// "tp-cp-ep-dp-pp" -> strides, first axis fastest. ep lies inside dp for dense models and has extent 1.
core::Result<void> set_strides(const work::Scenario& s, Plan& plan) {
  const std::string& order = s.parallel.order;
  std::vector<std::string> axes;
  for (std::size_t i = 0; i <= order.size();) {
    const std::size_t j = std::min(order.find('-', i), order.size());
    axes.push_back(order.substr(i, j - i));
    i = j + 1;
  }
  int stride = 1;
  std::string seen;
  for (const auto& axis : axes) {
    int* target = nullptr;
    int extent = 1;
    if (axis == "tp") target = &plan.stride_t, extent = plan.tp;
    if (axis == "cp") target = &plan.stride_c, extent = plan.cp;
    if (axis == "dp") target = &plan.stride_d, extent = plan.dp;
    if (axis == "pp") target = &plan.stride_p, extent = plan.pp;
    if ((!target && axis != "ep") || seen.find(axis) != std::string::npos)
      return inconsistent(s, "parallel.order",
                          "expected each of tp, cp, ep, dp, pp once, joined by '-', found \"" + order + "\"");
    seen += axis + " ";
    if (!target) continue;
    *target = stride;
    stride *= extent;
  }
  for (const char* axis : {"tp", "dp", "pp"})
    if (seen.find(axis) == std::string::npos)
      return inconsistent(s, "parallel.order", std::string("axis ") + axis + " is missing in \"" + order + "\"");
  if (seen.find("cp") == std::string::npos) plan.stride_c = 0;
  return {};
}

core::Result<void> set_shard_size(const work::Scenario& s, int scaleup, Plan& plan) {
  const int n = plan.data_ranks();
  switch (plan.shard) {
    case Shard::kDdp:
      plan.shard_size = 1;
      return {};
    case Shard::kFsdpHybrid:
    case Shard::kFsdp2Hybrid: {
      int size = s.parallel.shard_size;
      if (size <= 0) size = std::gcd(n, std::max(1, scaleup / plan.tp));
      if (size > n || n % size != 0)
        return inconsistent(
            s, "parallel.shard_size",
            "expected a divisor of the " + std::to_string(n) + " data-parallel ranks, found " + std::to_string(size));
      plan.shard_size = size;
      return {};
    }
    default:
      plan.shard_size = n;
      return {};
  }
}

}  // namespace

Coordinates Plan::coordinates(int rank) const {
  Coordinates x;
  x.t = rank / stride_t % tp;
  x.c = stride_c > 0 ? rank / stride_c % cp : 0;
  x.d = rank / stride_d % dp;
  x.p = rank / stride_p % pp;
  return x;
}

bool Plan::fsdp() const { return shard >= Shard::kZero3; }
bool Plan::gathers_parameters() const {
  return shard == Shard::kZero3 || shard == Shard::kFsdpFull || shard == Shard::kFsdp2Full || hybrid();
}
bool Plan::hybrid() const { return shard == Shard::kFsdpHybrid || shard == Shard::kFsdp2Hybrid; }

core::Result<Plan> make_plan(const work::Scenario& s, int world, int scaleup) {
  Plan plan;
  const auto& x = s.parallel;
  plan.tp = x.tp, plan.cp = x.cp, plan.pp = x.pp, plan.vpp = x.vpp, plan.world = world;
  plan.shard = x.shard;
  if (auto e = work::validate_scenario(s, world); !e) return e.error();
  plan.dp = world / (x.tp * x.cp * x.pp);
  plan.sp = x.sp < 0 ? x.tp > 1 : (x.sp > 0 && x.tp > 1);
  plan.schedule = x.schedule;
  if (plan.schedule == work::Schedule::kNone && plan.pp > 1)
    plan.schedule = plan.vpp > 1 ? work::Schedule::kInterleaved1f1b : work::Schedule::k1f1b;
  plan.accumulation = s.batch.global / (s.batch.micro * plan.dp);
  plan.layout = x.layout.empty() ? work::auto_layout(static_cast<int>(s.model.layers), plan.chunks()) : x.layout;
  if (auto e = set_strides(s, plan); !e) return e.error();
  if (auto e = set_shard_size(s, scaleup, plan); !e) return e.error();
  return plan;
}

EffectivePlan describe(const Plan& plan, const work::Scenario& s) {
  EffectivePlan e;
  e.tp = plan.tp, e.cp = plan.cp, e.pp = plan.pp, e.vpp = plan.vpp, e.dp = plan.dp, e.world = plan.world,
  e.sp = plan.sp;
  e.schedule = plan.pp > 1 ? work::name(plan.schedule) : "none";
  e.shard = work::name(plan.shard);
  e.order = s.parallel.order;
  e.precision = work::name(s.precision);
  e.recompute = work::name(s.recompute);
  e.layout = plan.layout;
  e.global = s.batch.global, e.micro = s.batch.micro, e.accumulation = plan.accumulation, e.seq = s.batch.seq;
  return e;
}

}  // namespace twin::step
