// The same equality as fold_test.cpp, on whole scenarios: every op of every rank of the explicit run is posted, starts
// and ends when its class's does. Merged runs equal unmerged ones, threads give the same bits, and a pipeline without
// communication has the bubble (p - 1) / m.
#include <catch2/catch.hpp>
#include <thread>
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

}  // namespace

TEST_CASE("folded equals explicit on a few random scenarios", "[step][fold][fast]") {
  Tally tally;
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    compare(seed, {.most_ranks = 64, .most_ops = 20000, .healthy = seed % 2 == 0}, tally);
  CHECK(tally.differing + tally.failed == 0);
}

TEST_CASE("folded equals explicit on 500 random scenarios of 16 to 128 ranks", "[step][fold][slow]") {
  Tally tally;
  for (std::uint64_t seed = 1001; seed <= 1500; ++seed)
    compare(seed, {.most_ops = 60000, .healthy = seed % 4 < 2}, tally);
  CHECK(tally.differing + tally.failed == 0);
  CHECK(tally.folding * 2 >= tally.cases);
}

TEST_CASE("folded equals explicit on random scenarios of 256 to 1,024 ranks", "[step][fold][slow]") {
  Tally tally;
  for (std::uint64_t seed = 5001; seed <= 5040; ++seed)
    compare(seed, {.least_ranks = 256, .most_ranks = 1024, .most_ops = 300000, .healthy = seed % 4 < 2}, tally);
  CHECK(tally.differing + tally.failed == 0);
  CHECK(tally.folding * 2 >= tally.cases);
}
