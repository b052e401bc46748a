// What a plan's switches must do to a step: directions that follow from their meaning, sums that must close.
#include <catch2/catch.hpp>
#include "sim/core/json_reader.hpp"
#include "sim/step/step.hpp"
#include "workloads/scenario_reader.hpp"

using namespace twin;

namespace {

const char* const kBase = R"({
  "model": {"name": "small", "layers": 8, "hidden": 4096, "heads": 32, "ffn": 16384, "vocab": 51200, "max_positions": 2048},
  "cluster": "dgx-h100x2", "software": "megatron-core",
  "parallel": {"tp": 2, "pp": 2}, "batch": {"global": 64, "micro": 1, "seq": 2048}, "precision": "bf16"})";

step::StepResult run(std::initializer_list<const char*> sets, step::StepOptions options = {}) {
  auto json = core::parse_json(kBase, "base");
  REQUIRE(json);
  for (const char* set : sets) {
    INFO(set);
    REQUIRE(work::apply_set(*json, set));
  }
  const auto scenario = work::scenario_from_json(*json, "base");
  if (!scenario) FAIL(scenario.error().text());
  const auto result = step::simulate_step(*scenario, options);
  if (!result) FAIL(result.error().text());
  return *result;
}

double seconds(std::initializer_list<const char*> sets) { return run(sets).step_time_s; }

}  // namespace

TEST_CASE("recomputation costs up to a forward pass, selective less than full", "[fast]") {
  const double none = seconds({}), selective = seconds({"recompute=selective"}), full = seconds({"recompute=full"});
  CHECK(none < selective);
  CHECK(selective < full);
  CHECK(full < none * 1.40);
  CHECK(full > none * 1.20);
  CHECK(seconds({"recompute=full", R"(software={"base":"megatron-core","recompute_early_stop":true})"}) < full);
}

TEST_CASE("more pipeline stages at few micro batches cost a bubble, virtual stages shrink it", "[fast]") {
  const double flat = seconds({"parallel.pp=4", "batch.global=16", "parallel.tp=1"});
  const double interleaved = seconds({"parallel.pp=4", "batch.global=16", "parallel.tp=1", "parallel.vpp=2"});
  CHECK(interleaved < flat);
}

TEST_CASE("overlap never makes a step slower", "[fast]") {
  CHECK(seconds({"overlap.tp=true"}) <= seconds({"overlap.tp=false"}));
  CHECK(seconds({"overlap.dp_grad=true", "overlap.dp_param=true"}) <=
        seconds({"overlap.dp_grad=false", "overlap.dp_param=false"}));
}

TEST_CASE("sharding moves what it says it moves", "[fast]") {
  const char* dp_only = "parallel.pp=1";
  const auto zero1 = run({dp_only, "parallel.shard=zero-1"}), zero2 = run({dp_only, "parallel.shard=zero-2"});
  const auto full = run({dp_only, "parallel.shard=fsdp2-full"}), grad = run({dp_only, "parallel.shard=fsdp2-grad-op"});
  CHECK(zero2.step_time_s > zero1.step_time_s);  // a reduction per micro batch
  CHECK(full.step_time_s >= grad.step_time_s);   // gathers again in backward
  CHECK(full.memory.by_category.at("parameters") < zero2.memory.by_category.at("parameters"));
  CHECK(zero2.memory.peak_bytes < zero1.memory.peak_bytes);
  CHECK(zero1.memory.peak_bytes < run({dp_only, "parallel.shard=ddp"}).memory.peak_bytes);
}

TEST_CASE("a slow rank slows the step by at most its factor, and bandwidth helps", "[fast]") {
  const double healthy = seconds({});
  const double slow = seconds({R"(faults=[{"slow":{"rank":5,"factor":1.5}}])"});
  CHECK(slow > healthy);
  CHECK(slow < healthy * 1.5);
  CHECK(seconds({"cluster.node=dgx-h100", "cluster.nodes=2", "cluster.override.nic.bandwidth=x0.1"}) > healthy);
}

TEST_CASE("blocking launches and an unfused accumulation cost time", "[fast]") {
  const double plain = seconds({});
  CHECK(seconds({R"(software={"base":"megatron-core","launch_blocking":true})"}) > plain);
  CHECK(seconds({R"(software={"base":"megatron-core","fused_grad_accumulation":false})"}) > plain);
}

TEST_CASE("the breakdown partitions the step", "[fast]") {
  for (const auto& sets :
       {std::initializer_list<const char*>{}, {"parallel.vpp=2"}, {"parallel.shard=fsdp2-full", "parallel.pp=1"}}) {
    step::StepOptions options;
    options.record = true;
    const auto r = run(sets, options);
    const auto& b = r.breakdown;
    const double sum = b.compute + b.optimizer + b.exposed_tp + b.exposed_cp + b.exposed_ep + b.exposed_pp +
                       b.exposed_dp + b.bubble + b.straggler + b.data + b.other;
    CHECK(sum == Approx(r.step_time_s).epsilon(1e-9));
    CHECK(b.compute > 0.5 * r.step_time_s);
    REQUIRE(r.memory_samples.size() == static_cast<std::size_t>(r.classes));
    double most = 0;
    for (const auto& sample : r.memory_samples.front()) most = std::max(most, sample.second);
    CHECK(most <= r.memory.by_stage.front() * (1 + 1e-9));
  }
}
