// Definitions of the figures, the report's bookkeeping with a stand-in simulator, the JSON's keys, the gate.
#include <catch2/catch.hpp>
#include <cmath>
#include "validate/linear.hpp"
#include "validate/report_rows.hpp"
#include "validate/validate.hpp"

using namespace twin;
using namespace twin::validate;

namespace {

// Predicts model FLOPs at 45 % of 1e15/s: enough to exercise everything above it.
core::Result<Run> stand_in(const work::Scenario& s) {
  const double world = static_cast<double>(s.parallel.tp) * s.parallel.pp * s.parallel.dp;
  const double time = model_flops(s) / (world * 0.45e15);
  const bool fits = s.batch.micro < 100;
  return Run([time, fits](const device::Constants&) -> core::Result<step::StepResult> {
    step::StepResult r;
    r.step_time_s = time;
    r.interval_s[0] = 0.8 * time, r.interval_s[1] = 1.2 * time;
    r.memory.fits = fits;
    r.memory.peak_bytes = 50.0 * 1073741824;
    r.memory.by_category = {{"parameters", 10e9}, {"gradients", 20e9}, {"optimizer", 30e9}, {"activations", 40e9}};
    return r;
  });
}

ValidateOptions options() {
  ValidateOptions o;
  o.prepare = stand_in;
  o.stacks = [](const std::string& name) -> core::Result<work::Stack> {
    work::Stack stack;
    stack.name = name;
    return stack;
  };
  return o;
}

ReportRow row(const std::string& file, const std::string& id, double measured, double predicted) {
  ReportRow r;
  r.source = file + ".json", r.id = id, r.measured = measured, r.predicted = predicted,
  r.error = predicted / measured - 1;
  r.interval[0] = 0.9 * predicted, r.interval[1] = 1.1 * predicted;
  return r;
}

}  // namespace

TEST_CASE("median, p90 and bias", "[validate][fast]") {
  const auto s = error_stats({0.1, -0.2, 0.3, -0.4});
  CHECK(s.median == Approx(0.25));  // of 0.1 0.2 0.3 0.4
  CHECK(s.p90 == Approx(0.37));     // position 0.9 x 3 = 2.7
  CHECK(s.bias == Approx(-0.05));   // of -0.4 -0.2 0.1 0.3
  CHECK(s.mean == Approx(0.25));
  CHECK(std::isnan(percentile({}, 0.5)));
  CHECK(weighted_quantile({1, 2, 3}, {1, 1, 8}, 0.5) == 3);
  CHECK(weighted_quantile({3, 1, 2}, {1, 1, 1}, 0.9) == 3);
}

TEST_CASE("Cholesky solves, and refuses what is not positive definite", "[validate][fast]") {
  Matrix a(2, 2);
  a.at(0, 0) = 4, a.at(1, 0) = 2, a.at(1, 1) = 3;
  const auto x = solve_spd(a, {10, 8});  // 4x + 2y = 10, 2x + 3y = 8
  REQUIRE(x);
  CHECK((*x)[0] == Approx(1.75));
  CHECK((*x)[1] == Approx(1.5));
  a.at(1, 1) = 1;
  CHECK_FALSE(solve_spd(a, {1, 1}));
}

TEST_CASE("a summary counts skips by reason and takes peers on common rows", "[validate][fast]") {
  std::vector<ReportRow> rows = {row("korthikanti_2022", "korthikanti-22B-full", 1.42, 1.42 * 1.02),
                                 row("korthikanti_2022", "korthikanti-22B-sel", 1.1, 1.1 * 0.97),
                                 row("x", "unknown", 1, 1.5)};
  rows.emplace_back();
  rows.back().skipped = "TPU";
  std::vector<const ReportRow*> list;
  for (const ReportRow& r : rows) list.push_back(&r);
  const Summary s = summarise(list);
  CHECK(s.errors.count == 3);
  CHECK(s.skipped == 1);
  CHECK(s.skipped_by_reason.at("TPU") == 1);
  CHECK(s.coverage == Approx(2.0 / 3));
  REQUIRE(s.best_peer);
  CHECK(s.best_peer->name == "calculon");  // -1.7 and +3.3 %
  CHECK(s.best_peer->theirs.median == Approx(0.0253).margin(0.0005));
  CHECK(s.best_peer->ours.median == Approx(0.025));
  REQUIRE(s.prototype);
  CHECK(s.prototype->theirs.count == 2);
}

TEST_CASE("a validation of the published rows with a stand-in simulator", "[validate][fast]") {
  auto rows = embedded_rows();
  REQUIRE(rows);
  const auto report = validate::validate(*rows, device::Constants::builtin(), options());
  CHECK(report.all.errors.count == 435);
  CHECK(report.files.at("torchtitan.json").errors.count == 17);
  int sum = 0;
  for (const auto& [value, s] : report.strata.at("accelerator")) sum += s.errors.count;
  CHECK(sum == 435);
  CHECK(report.strata.at("special").at("> 512 GPUs").errors.count == 14);
  CHECK(report.strata.at("strategy").at("tp+fsdp").errors.count == 13);
  CHECK(report.memory.at("korthikanti_memory.json").errors.count == 24);
  CHECK(report.memory.at("simumax_b200.json").errors.count == 12);
  const auto json = to_json(report);
  const auto& first = json["rows"][0];
  for (const char* key : {"id", "source", "kind", "measured_s", "predicted_s", "error", "assumed", "fits"})
    CHECK(first.contains(key));
  CHECK(first["error"].get<double>() ==
        Approx(first["predicted_s"].get<double>() / first["measured_s"].get<double>() - 1));
  for (const char* key :
       {"count", "skipped", "median_abs_error", "p90_abs_error", "bias", "coverage", "best_peer", "null"})
    CHECK(json["summary"]["all"].contains(key));
  for (const auto& r : json["rows"])
    if (r["kind"] == "memory")
      CHECK((r.contains("metric") && r.contains("unit") && r.contains("measured") && r.contains("predicted")));
  const std::string text = to_text(report);
  CHECK(text.find("torchtitan.json") != std::string::npos);
  CHECK(text.find("accelerator gb200") != std::string::npos);
}

TEST_CASE("the null model predicts a row from others, never from its own group", "[validate][fast]") {
  auto rows = embedded_rows();
  REQUIRE(rows);
  const auto o = options();
  auto cases = make_cases(*rows, o.prepare, o.stacks, 1);
  auto report = step_rows(cases, device::Constants::builtin(), 1);
  const auto fold = group_folds(cases);
  add_null_errors(cases, fold, report);
  REQUIRE(report[0].null_error);
  const double before = 1 + *report[0].null_error;
  for (std::size_t i = 0; i < cases.size(); ++i)
    if (fold[i] == fold[0]) *cases[i].row.measured_s *= 2;
  add_null_errors(cases, fold, report);
  CHECK(1 + *report[0].null_error == Approx(before / 2));  // its prediction stayed, its measurement doubled
}

TEST_CASE("the gate fails when a recorded figure gets worse, and only then", "[validate][fast]") {
  auto rows = embedded_rows();
  REQUIRE(rows);
  auto report = validate::validate(*rows, device::Constants::builtin(), options());
  const auto recorded = record(report);
  CHECK(gate(report, recorded).empty());
  report.all.errors.median += 0.004;
  CHECK(gate(report, recorded).empty());  // within half a point
  report.all.errors.median += 0.002;
  const auto violations = gate(report, recorded);
  REQUIRE(violations.size() == 1);
  CHECK(violations[0].substr(0, 12) == "all: median ");
  report.files["torchtitan.json"].errors.count = 16;
  CHECK(gate(report, recorded).size() == 2);
}

TEST_CASE("a skipped row stays in the report with its reason", "[validate][fast]") {
  auto rows =
      parse_rows(R"([{"id":"m","completeness":"full","training_kind":"pretrain","model":{"experts":8}}])", "f.json");
  REQUIRE(rows);
  const auto report = validate::validate(*rows, device::Constants::builtin(), options());
  const auto json = to_json(report);
  CHECK(json["rows"][0]["skipped"] == "mixture of experts");
  CHECK_FALSE(json["rows"][0].contains("error"));
  CHECK(json["summary"]["all"]["skipped"] == 1);
}

TEST_CASE("cross-validation writes values, widths and what was seen", "[validate][fast]") {
  auto rows = embedded_rows();
  REQUIRE(rows);
  auto o = options();
  // Time scales with one real constant per accelerator: the fit has something to find.
  o.prepare = [](const work::Scenario& s) -> core::Result<Run> {
    const double base = model_flops(s) / (static_cast<double>(s.parallel.tp) * s.parallel.pp * s.parallel.dp * 0.5e15);
    return Run([base](const device::Constants& c) -> core::Result<step::StepResult> {
      step::StepResult r;
      r.step_time_s = base * 0.9 / c.get("gemm.h100-sxm.bf16");
      return r;
    });
  };
  auto result = cross_validated(*rows, device::Constants::builtin(), o);
  REQUIRE(result);
  CHECK(result->json["values"].size() == 1);
  CHECK(result->json["values"].contains("gemm.h100-sxm.bf16"));
  const auto& interval = result->json["interval"];
  CHECK(interval["seen"].get<double>() <= interval["accelerator"].get<double>());
  CHECK(interval["accelerator"].get<double>() <= interval["new"].get<double>());
  CHECK(result->json["seen"].size() > 10);
  CHECK(result->report.all.lgo->count == 435);
  CHECK(result->report.all.lfo->count == 435);
  auto constants = device::Constants::builtin();
  CHECK(constants.apply_calibration(result->json.dump(), "calibration.json"));
}
