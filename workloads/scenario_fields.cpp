// The fields of a scenario (DESIGN.md, "Interfaces that are fixed"). Model, cluster, software, recompute and faults
// have forms of their own (scenario_forms.cpp); everything else is plain.
#include "workloads/names.hpp"
#include "workloads/scenario_forms.hpp"
#include "workloads/tables.hpp"

namespace twin::work::detail {

namespace {

using S = Scenario;
constexpr double kRanks = 1 << 22;

std::vector<Field<S>> parallel_fields() {
  const auto dp = [](auto& s) -> auto& { return s.parallel.dp; };
  const auto layout = [](auto& s) -> auto& { return s.parallel.layout; };
  return {
      integer<S>(
          "parallel.tp", [](auto& s) -> auto& { return s.parallel.tp; }, {1, kRanks}, "ranks", "tensor parallel"),
      integer<S>(
          "parallel.cp", [](auto& s) -> auto& { return s.parallel.cp; }, {1, kRanks}, "ranks", "context parallel"),
      integer<S>(
          "parallel.ep", [](auto& s) -> auto& { return s.parallel.ep; }, {1, kRanks}, "ranks", "expert parallel"),
      integer<S>(
          "parallel.etp", [](auto& s) -> auto& { return s.parallel.etp; }, {1, kRanks}, "ranks",
          "expert tensor parallel"),
      integer<S>(
          "parallel.pp", [](auto& s) -> auto& { return s.parallel.pp; }, {1, 65536}, "stages", "pipeline parallel"),
      integer<S>(
          "parallel.vpp", [](auto& s) -> auto& { return s.parallel.vpp; }, {1, 65536}, "chunks",
          "virtual stages of each rank"),
      or_word(integer<S>("parallel.dp", dp, {1, kRanks}, "replicas", "data parallel; auto: world / (tp cp pp)"), dp,
              "auto", 0),
      schedule_field("parallel.schedule"),
      layout_field("parallel.layout", layout),
      choice<S>(
          "parallel.shard", [](auto& s) -> auto& { return s.parallel.shard; }, shard_names(),
          "what is sharded over the data-parallel ranks"),
      integer<S>(
          "parallel.shard_size", [](auto& s) -> auto& { return s.parallel.shard_size; }, {0, kRanks}, "ranks",
          "hybrid: ranks of one shard group; 0: the scale-up domain"),
      tristate_field(
          "parallel.sp", [](auto& s) -> auto& { return s.parallel.sp; }, "sequence parallel; auto: tp > 1"),
      order_field(
          "parallel.order", [](auto& s) -> auto& { return s.parallel.order; }),
  };
}

std::vector<Field<S>> other_fields() {
  return {
      integer<S>(
          "batch.global", [](auto& s) -> auto& { return s.batch.global; }, {0, 1e12}, "sequences",
          "per optimizer step"),
      integer<S>(
          "batch.micro", [](auto& s) -> auto& { return s.batch.micro; }, {1, 1e6}, "sequences",
          "per micro batch and replica"),
      integer<S>(
          "batch.seq", [](auto& s) -> auto& { return s.batch.seq; }, {0, 1 << 24}, "tokens",
          "per sequence; 0: the model's max_positions"),
      precision_field("precision"),
      recompute_field("recompute"),
      boolean<S>(
          "overlap.tp", [](auto& s) -> auto& { return s.overlap.tp; },
          "tensor-parallel communication beside its GEMM (userbuffers, async TP)"),
      boolean<S>(
          "overlap.dp_grad", [](auto& s) -> auto& { return s.overlap.dp_grad; },
          "gradient reduction beside the backward pass"),
      boolean<S>(
          "overlap.dp_param", [](auto& s) -> auto& { return s.overlap.dp_param; },
          "parameter gather beside the forward pass"),
      boolean<S>(
          "overlap.pp", [](auto& s) -> auto& { return s.overlap.pp; }, "pipeline messages beside compute"),
      software_field("software"),
      faults_field("faults"),
      strings_field(
          "assumed", [](auto& s) -> auto& { return s.assumed; }, "what a reader filled in, one sentence each"),
  };
}

}  // namespace

const std::vector<Field<Scenario>>& scenario_fields() {
  static const std::vector<Field<S>> fields = [] {
    std::vector<Field<S>> all{required(model_field("model")), required(cluster_field("cluster"))};
    for (auto& f : parallel_fields()) all.push_back(std::move(f));
    for (auto& f : other_fields()) all.push_back(std::move(f));
    return all;
  }();
  return fields;
}

}  // namespace twin::work::detail
