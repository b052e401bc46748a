// The same equality as fold_test.cpp, on whole scenarios: every op of every rank of the explicit run is posted, starts
// and ends when its class's does. Merged runs equal unmerged ones, threads give the same bits, and a pipeline without
// communication has the bubble (p - 1) / m.
#include <catch2/catch.hpp>
#include <thread>
#include <utility>
#include <vector>
#include "sim/step/step.hpp"
#include "tests/step/fold_case.hpp"
#include "tests/step/scenario_draw.hpp"

using namespace twin;
using namespace twin::step;
using namespace twin::step::test;

namespace {

struct Tally {
  int cases = 0, differing = 0, folding = 0, failed = 0;
  std::int64_t ranks = 0, classes = 0;
};

StepResult run(const work::Scenario& s, StepOptions options) {
  auto r = simulate_step(s, options);
  if (!r) throw std::runtime_error(r.error().text());
  return std::move(*r);
}

// Largest difference in ns over all ops of all ranks; -1: programs differ.
std::int64_t fold_difference(const work::Scenario& s, Tally& tally) {
  const auto folded = run(s, {.record = true}), every = run(s, {.fold = false, .record = true});
  Partition p;
  p.rank_class = folded.class_of_rank;
  ++tally.cases;
  tally.folding += folded.classes < folded.ranks;
  tally.ranks += folded.ranks;
  tally.classes += folded.classes;
  return difference(*every.timeline, *folded.timeline, p);
}

void compare(std::uint64_t seed, const ScenarioDraw& draw, Tally& tally) {
  std::string text;
  try {
    const auto scenario = random_scenario(seed, draw, &text);
    const auto off = fold_difference(scenario, tally);
    tally.differing += off != 0;
    if (off == 0) return;
    CAPTURE(seed, off, text);
    CHECK(off == 0);
  } catch (const std::exception& e) {
    ++tally.failed;
    const std::string what = e.what();
    CAPTURE(seed, what, text);
    CHECK(what.empty());
  }
}

// Ends of passes: runs of ops of one micro batch and chunk on the streams that a merged pass stands for.
std::vector<std::int64_t> pass_ends(const StepResult& r, std::size_t cls) {
  std::vector<std::int64_t> ends;
  const auto& program = (*r.programs)[static_cast<std::size_t>(r.system->program[cls])];
  const auto first = static_cast<std::size_t>(r.timeline->op_offset[cls]);
  std::pair<std::int32_t, std::int16_t> last{-2, -2};
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const auto& op = program.ops[i];
    if (op.micro_batch < 0 || (op.stream != Stream::kCompute && op.stream != Stream::kTp)) continue;
    if (std::pair now{op.micro_batch, op.chunk}; std::exchange(last, now) != now) ends.push_back(0);
    ends.back() = std::max(ends.back(), r.timeline->finish[first + i]);
  }
  return ends;
}

// Largest difference of pass ends and of the step's end; -1: other passes.
std::int64_t merge_difference(const work::Scenario& s, int& merged) {
  const auto fine = run(s, {.merge = MergeMode::kOff, .record = true}),
             coarse = run(s, {.record = true, .merge_recorded = true});
  merged += coarse.timeline->stats.ops < fine.timeline->stats.ops;
  std::int64_t off = std::abs((fine.timeline->end - coarse.timeline->end).count());
  for (std::size_t c = 0; c < fine.system->ranks(); ++c) {
    const auto a = pass_ends(fine, c), b = pass_ends(coarse, c);
    if (a.size() != b.size()) return -1;
    for (std::size_t i = 0; i < a.size(); ++i) off = std::max(off, std::abs(a[i] - b[i]));
  }
  return off;
}

}  // namespace

TEST_CASE("folded equals explicit on a few random scenarios", "[step][fold][fast]") {
  Tally tally;
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    compare(seed, {.most_ranks = 64, .most_ops = 20000, .healthy = seed % 2 == 0}, tally);
  CHECK(tally.differing + tally.failed == 0);
}

TEST_CASE("folded equals explicit on 1,500 random scenarios of 16 to 128 ranks", "[step][fold][slow]") {
  Tally tally;
  for (std::uint64_t seed = 1001; seed <= 2500; ++seed)
    compare(seed, {.most_ops = 60000, .healthy = seed % 4 < 2}, tally);
  CHECK(tally.differing + tally.failed == 0);
  CHECK(tally.folding * 2 >= tally.cases);
}

TEST_CASE("folded equals explicit on random scenarios of 256 to 1,024 ranks", "[step][fold][slow]") {
  Tally tally;
  for (std::uint64_t seed = 5001; seed <= 5080; ++seed)
    compare(seed, {.least_ranks = 256, .most_ranks = 1024, .most_ops = 300000, .healthy = seed % 4 < 2}, tally);
  CHECK(tally.differing + tally.failed == 0);
  CHECK(tally.folding * 2 >= tally.cases);
}

TEST_CASE("merged passes end within 1 ns of unmerged ones", "[step][merge][slow]") {
  int cases = 0, merged = 0;
  for (std::uint64_t seed = 7001; seed <= 8500; ++seed) {
    std::string text;
    const auto scenario = random_scenario(seed, {.most_ops = 60000, .healthy = seed % 2 == 0}, &text);
    const auto off = merge_difference(scenario, merged);
    ++cases;
    if (off >= 0 && off <= 1) continue;
    CAPTURE(seed, off, text);
    CHECK(off == 0);
  }
  CAPTURE(cases, merged);
  CHECK(merged >= 200);
}

TEST_CASE("scenarios have the same bits from two threads at once", "[step][fold][fast]") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const auto scenario = random_scenario(seed, {.most_ranks = 64, .most_ops = 20000});
    const auto alone = run(scenario, {.record = true});
    StepResult other[2];
    std::thread threads[2];
    for (int i = 0; i < 2; ++i) threads[i] = std::thread([&, i] { other[i] = run(scenario, {.record = true}); });
    for (auto& thread : threads) thread.join();
    for (const auto& r : other) {
      CHECK(r.timeline->finish == alone.timeline->finish);
      CHECK(r.timeline->rank_variance == alone.timeline->rank_variance);
      CHECK(r.class_of_rank == alone.class_of_rank);
      CHECK(r.step_time_s == alone.step_time_s);
    }
  }
}

// Even layers without embedding or head costs to speak of (one word), links of 10^15 byte/s and picosecond latencies.
TEST_CASE("a pipeline without communication has the bubble (p - 1) / m", "[step][fast]") {
  const auto time = [](int pp, int micro_batches, const char* schedule) {
    const std::string text =
        R"({"model": {"layers": )" + std::to_string(8 * pp) +
        R"(, "hidden": 2048, "heads": 16, "kv_heads": 16, "ffn": 8192, "vocab": 1, "max_positions": 8192},
      "cluster": {"node": "dgx-h100", "nodes": )" +
        std::to_string(pp) + R"(, "fabric": "single-switch",
        "override": {"nic.bandwidth": "x1000", "nic.latency": "x0.001"}},
      "parallel": {"tp": 8, "pp": )" +
        std::to_string(pp) + R"(, "schedule": ")" + schedule + R"("},
      "batch": {"global": )" +
        std::to_string(micro_batches) + R"(, "micro": 1, "seq": 4096}})";
    auto r = run(scenario_of(text), {.jitter = false, .record = true});
    // The pipeline alone: from the first op to the end of the last pass of stage 0.
    std::int64_t end = 0;
    for (const auto t : pass_ends(r, 0)) end = std::max(end, t);
    return static_cast<double>(end);
  };
  for (const char* schedule : {"1f1b", "gpipe"})
    for (const int pp : {2, 4, 8}) {
      const double few = time(pp, 8, schedule), many = time(pp, 24, schedule);
      const double pass = (many - few) / 16;  // forward and backward of one micro batch on one stage
      CAPTURE(schedule, pp, few, many, pass);
      CHECK((few - 8 * pass) / (8 * pass) == Approx((pp - 1) / 8.0).epsilon(0.03));
    }
}
