#include "validate/cases.hpp"
#include <exception>
#include <nlohmann/json.hpp>
#include "sim/device/kernel_time.hpp"
#include "topologies/cluster.hpp"
#include "validate/parallel.hpp"
#include "workloads/catalog.hpp"
#include "workloads/scenario_reader.hpp"

namespace twin::validate {
namespace {

using work::Shard;

// A bug met by one row (TWIN_CHECK throws) becomes that row's skip reason, counted in the report, instead of the end of
// it.
template <class T, class F>
core::Result<T> reported(const F& call) {
  try {
    return call();
  } catch (const std::exception& e) {
    return core::Error{core::ErrorCode::kInconsistent, "internal error", e.what(), ""};
  }
}

std::string size_class(double parameters) {
  const double b = parameters / 1e9;
  for (const auto& [limit, name] :
       {std::pair{3.0, "<3B"}, {10.0, "<10B"}, {40.0, "<40B"}, {100.0, "<100B"}, {250.0, "<250B"}, {600.0, "<600B"}})
    if (b < limit) return name;
  return ">=600B";
}

std::string scale_class(int world) {
  for (const auto& [limit, name] : {std::pair{8, "<=8"}, {64, "<=64"}, {512, "<=512"}, {2048, "<=2048"}})
    if (world <= limit) return name;
  return ">2048";
}

bool sharded(Shard s) { return s >= Shard::kZero3; }

std::string strategy(const work::Parallel& p) {
  std::string out;
  const auto add = [&out](const char* part) { out += (out.empty() ? "" : "+") + std::string(part); };
  if (p.pp > 1) add(p.vpp > 1 ? "ppv" : "pp");
  if (p.tp > 1) add("tp");
  if (sharded(p.shard)) add("fsdp");
  return out.empty() ? "dp" : out;
}

std::string precision_class(work::Precision p) {
  switch (p) {
    case work::Precision::kBf16:
      return "bf16";
    case work::Precision::kFp16:
      return "fp16";
    case work::Precision::kFp32:
      return "fp32";
    case work::Precision::kMxfp8:
      return "mxfp8";
    default:
      return "fp8";
  }
}

std::string device_of(const std::string& node) {
  auto text = topo::catalog_json("nodes", node);
  if (!text) return node;
  const auto json = nlohmann::json::parse(*text, nullptr, false, true);
  if (!json.is_object() || !json.contains("accelerator") || !json["accelerator"].is_string()) return node;
  auto spec = topo::find_accelerator(json["accelerator"].get<std::string>());
  return spec ? device::accelerator_key(*spec) : json["accelerator"].get<std::string>();
}

}  // namespace

Prepare step_simulator() {
  return [](const work::Scenario& scenario) -> core::Result<Run> {
    using Prepared = std::shared_ptr<const step::PreparedStep>;
    auto prepared =
        reported<Prepared>([&] { return step::prepare_step(scenario, {.merge = step::MergeMode::kApproximate}); });
    if (!prepared) return prepared.error();
    return Run([held = *prepared](const device::Constants& constants) {
      return reported<step::StepResult>([&] { return step::run_step(*held, constants); });
    });
  };
}

StackFinder stack_catalog() {
  return [](const std::string& name) { return work::find_stack(name); };
}

const std::vector<std::string>& special_strata() {
  static const std::vector<std::string> names = {"m v / p < 4", "step < 0.3 s", "> 512 GPUs", "seq > 8K",
                                                 "DP not overlapped"};
  return names;
}

void fill_strata(Case& c) {
  const work::Scenario& s = *c.row.scenario;
  const work::Parallel& p = s.parallel;
  c.strata = {{"accelerator", c.row.accelerator},
              {"size", size_class(static_cast<double>(s.model.parameters()))},
              {"strategy", strategy(p)},
              {"scale", scale_class(c.row.world)},
              {"precision", precision_class(s.precision)}};
  const auto& names = special_strata();
  const std::int64_t m = s.batch.global / (s.batch.micro * p.dp);
  if (p.pp > 1 && m * p.vpp < 4 * p.pp) c.special.push_back(names[0]);
  if (c.row.measured_s.value_or(1) < 0.3) c.special.push_back(names[1]);
  if (c.row.world > 512) c.special.push_back(names[2]);
  if (s.batch.seq > 8192) c.special.push_back(names[3]);
  if (p.dp > 1 && !sharded(p.shard) && !s.overlap.dp_grad) c.special.push_back(names[4]);
}

double model_flops(const work::Scenario& s) {
  return 3 * s.model.forward_flops_per_token(s.batch.seq, true) * static_cast<double>(s.batch.global) *
         static_cast<double>(s.batch.seq);
}

std::vector<Case> make_cases(const std::vector<Row>& rows, const Prepare& prepare, const StackFinder& stacks,
                             int threads) {
  std::vector<const Row*> steps;
  for (const Row& row : rows)
    if (row.kind.empty() || row.kind == "step") steps.push_back(&row);
  std::vector<Case> cases(steps.size());
  std::vector<std::string> keys(steps.size());
  parallel_for(steps.size(), threads, [&](std::size_t i, int) {
    Case& c = cases[i];
    c.row = normalise(*steps[i], stacks);
    c.skipped = c.row.skipped;
    if (!c.row.scenario) return;
    fill_strata(c);
    c.device = device_of(c.row.scenario->cluster.node);
    work::Scenario bare = *c.row.scenario;
    bare.assumed.clear();
    bare.model.name = "row", bare.model.source.clear();
    keys[i] = work::scenario_to_json(bare).dump() + (bare.parallel.layout.empty() ? "" : "+");
  });
  std::map<std::string, std::size_t> first;
  std::vector<std::size_t> representative(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) representative[i] = first.try_emplace(keys[i], i).first->second;
  parallel_for(steps.size(), threads, [&](std::size_t i, int) {
    Case& c = cases[i];
    if (!c.row.scenario || representative[i] != i) return;
    auto run = prepare(*c.row.scenario);
    if (run) {
      c.run = std::make_shared<const Run>(*std::move(run));
    } else {
      c.skipped = "simulator: " + run.error().text();
    }
  });
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!cases[i].row.scenario) continue;
    cases[i].run = cases[representative[i]].run;
    cases[i].skipped = cases[representative[i]].skipped;
  }
  return cases;
}

}  // namespace twin::validate
