// The fit and its folds on synthetic rows, whose times are a known function of known constants: what was put in comes
// out, a held-out row never reaches the fold that predicts it, priors hold where no row speaks.
#include "validate/fit.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <deque>

using namespace twin;
using validate::FitRow;
using validate::Run;

namespace {

device::Constants constants() {
  auto parsed = device::Constants::parse(R"({"constants": [
    {"name": "rate.a", "prior": 1.0, "sd": 0.3, "level": "A", "source": "test"},
    {"name": "rate.b", "prior": 1.0, "sd": 0.3, "level": "A", "source": "test"},
    {"name": "byte.x", "prior": 1.0, "sd": 0.3, "level": "C", "source": "test"},
    {"name": "frozen", "prior": 2.0, "sd": 0, "level": "D", "source": "test"},
    {"name": "fabric", "prior": 1.0, "sd": 0.5, "level": "E", "source": "test"}]})",
                                         "test.json");
  REQUIRE(parsed);
  return *parsed;
}

// time = work / rate.<device> + 0.3 byte.x (file x only) + 0.1 frozen + 0.05 fabric
Run run_of(const std::string& device, double work, bool x) {
  return [=](const device::Constants& c) -> core::Result<step::StepResult> {
    step::StepResult out;
    out.step_time_s = work / c.get("rate." + device) + (x ? 0.3 * c.get("byte.x") : 0.0) + 0.1 * c.get("frozen") +
                      0.05 * c.get("fabric");
    return out;
  };
}

struct Synthetic {
  std::deque<Run> runs;
  std::vector<FitRow> rows;
  void add(const std::string& device, double work, bool x, const std::string& group, const std::string& file,
           double factor = 1) {
    auto truth = constants();
    truth.set(truth.index("rate.a"), 0.8);
    truth.set(truth.index("rate.b"), 1.3);
    truth.set(truth.index("byte.x"), 1.5);
    runs.push_back(run_of(device, work, x));
    rows.push_back({nullptr, runs.back()(truth)->step_time_s * factor, 0.01, group, file});
    rows.back().run = &runs.back();
  }
};

Synthetic clean() {
  Synthetic s;
  for (int i = 0; i < 12; ++i) s.add("a", 1 + 0.4 * i, false, fmt::format("a{}", i), "first");
  for (int i = 0; i < 12; ++i) s.add("b", 0.4 + 0.5 * i, true, fmt::format("b{}", i), "second");
  return s;
}

double value(const validate::FitResult& fit, const char* name) { return fit.constants.get(name); }

}  // namespace

TEST_CASE("the fit recovers the constants that made the rows", "[validate][fast]") {
  const Synthetic s = clean();
  const auto fit = validate::fit(s.rows, constants());
  REQUIRE(fit.active.size() == 3);  // neither the frozen one nor level E
  CHECK(value(fit, "rate.a") == Approx(0.8).epsilon(0.01));
  CHECK(value(fit, "rate.b") == Approx(1.3).epsilon(0.03));
  CHECK(value(fit, "byte.x") == Approx(1.5).epsilon(0.06));
  CHECK(value(fit, "frozen") == 2.0);
  CHECK(value(fit, "fabric") == 1.0);
  for (std::size_t i = 0; i < s.rows.size(); ++i)
    CHECK(std::exp(fit.log_predicted[i]) == Approx(s.rows[i].measured_s).epsilon(0.02));
}

TEST_CASE("a row that is off by half does not drag the fit along", "[validate][fast]") {
  Synthetic s = clean();
  s.add("a", 2.0, false, "outlier", "first", 1.5);
  const auto fit = validate::fit(s.rows, constants());
  CHECK(value(fit, "rate.a") == Approx(0.8).epsilon(0.015));
}

TEST_CASE("groups and files are capped", "[validate][fast]") {
  std::vector<FitRow> rows;
  for (int i = 0; i < 8; ++i) rows.push_back({nullptr, 1, 0.01, "same", "small"});
  for (int i = 0; i < 60; ++i) rows.push_back({nullptr, 1, 0.01, fmt::format("g{}", i), "large"});
  const auto w = validate::fit_weights(rows, std::vector<char>(rows.size(), 1), {});
  CHECK(w[0] == Approx(0.5));        // 4 rows' worth over 8
  CHECK(w[8] == Approx(15.0 / 60));  // 15 rows' worth over 60
  std::vector<char> half(rows.size(), 1);
  std::fill(half.begin() + 38, half.end(), 0);
  const auto fewer = validate::fit_weights(rows, half, {});
  CHECK(fewer[8] == Approx(0.5));  // the cap counts included rows only
  CHECK(fewer[40] == 0);
}

TEST_CASE("folds keep a label together", "[validate][fast]") {
  const std::vector<std::string> labels = {"a", "b", "a", "c", "d", "b", "e", "f", "g"};
  const auto fold = validate::make_folds(labels, 3);
  CHECK(fold[0] == fold[2]);
  CHECK(fold[1] == fold[5]);
  CHECK(*std::max_element(fold.begin(), fold.end()) == 2);
  CHECK(validate::make_folds({"x", "y", "x"}, 0) == std::vector<int>{validate::make_folds({"x", "y", "x"}, 0)[0],
                                                                     validate::make_folds({"x", "y", "x"}, 0)[1],
                                                                     validate::make_folds({"x", "y", "x"}, 0)[0]});
}

TEST_CASE("leave-file-out falls back to the prior, and nothing leaks", "[validate][fast]") {
  const Synthetic s = clean();
  const auto full = validate::fit(s.rows, constants());
  std::vector<std::string> files;
  for (const FitRow& row : s.rows) files.push_back(row.file);
  const auto fold = validate::make_folds(files, 0);
  const auto predicted = validate::cross_validate(s.rows, full, fold);
  // Without its file no row knows rate.a: the prior 1.0 predicts work + 0.2 + 0.05.
  CHECK(predicted[0] == Approx(1.0 + 0.25).epsilon(1e-3));
  CHECK(predicted[11] == Approx(1 + 0.4 * 11 + 0.25).epsilon(1e-3));
  // A held-out measurement may be anything: the prediction of its own fold stays.
  Synthetic changed = clean();
  for (std::size_t i = 0; i < 12; ++i) changed.rows[i].measured_s *= 3;
  const auto other = validate::cross_validate(changed.rows, validate::fit(changed.rows, constants()), fold);
  for (std::size_t i = 0; i < 12; ++i) CHECK(other[i] == Approx(predicted[i]).epsilon(1e-3));
}

TEST_CASE("leave-group-out on clean rows predicts them", "[validate][fast]") {
  const Synthetic s = clean();
  const auto full = validate::fit(s.rows, constants());
  std::vector<std::string> groups;
  for (const FitRow& row : s.rows) groups.push_back(row.group);
  const auto predicted = validate::cross_validate(s.rows, full, validate::make_folds(groups, 8));
  for (std::size_t i = 0; i < s.rows.size(); ++i) CHECK(predicted[i] == Approx(s.rows[i].measured_s).epsilon(0.04));
}

TEST_CASE("one thread and two give the same fit", "[validate][fast]") {
  const Synthetic s = clean();
  validate::FitOptions one, two;
  one.threads = 1, two.threads = 2;
  CHECK(validate::fit(s.rows, constants(), one).theta == validate::fit(s.rows, constants(), two).theta);
}

TEST_CASE("a row that the simulator refuses is left out", "[validate][fast]") {
  Synthetic s = clean();
  s.runs.push_back([](const device::Constants&) -> core::Result<step::StepResult> {
    return core::Error{core::ErrorCode::kUnsupported, "x", "no", ""};
  });
  s.rows.push_back({&s.runs.back(), 1.0, 0.01, "bad", "second"});
  const auto fit = validate::fit(s.rows, constants());
  CHECK(value(fit, "rate.a") == Approx(0.8).epsilon(0.01));
  CHECK(std::isnan(fit.log_predicted.back()));
}
