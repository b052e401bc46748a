// Folded and explicit runs agree to the bit: 0 ns on every op of every rank (reference: the theorem in
// sim/step/system.hpp). Cases are drawn by fold_draw.cpp; a seed in a failure message reproduces one.
#include <catch2/catch.hpp>
#include <thread>
#include "sim/step/incidence.hpp"
#include "tests/step/fold_case.hpp"

using namespace twin::step;
using namespace twin::step::test;

namespace {

struct Tally {
  int cases = 0, differing = 0, folding = 0;
  std::int64_t ranks = 0, classes = 0;
};

Config draw(std::uint64_t seed, int most_ranks = 128, int least_ranks = 16) {
  std::mt19937_64 random(seed);
  return random_config(
      random,
      {.least_ranks = least_ranks, .most_ranks = most_ranks, .round_sizes = seed % 2 == 0, .healthy = seed % 4 < 2});
}

void compare(std::uint64_t seed, int most_ranks, int least_ranks, Tally& tally) {
  auto c = build(draw(seed, most_ranks, least_ranks));
  c.options.check_max_min = seed % 8 == 0;
  const auto partition = refine(c.system);
  const auto off = fold_difference(c, partition);
  if (off != 0) {
    CAPTURE(seed, off);
    CHECK(off == 0);
  }
  ++tally.cases;
  tally.differing += off != 0;
  tally.folding += partition.rank_classes < static_cast<std::int32_t>(c.system.ranks());
  tally.ranks += static_cast<std::int64_t>(c.system.ranks());
  tally.classes += partition.rank_classes;
}

}  // namespace

TEST_CASE("folded equals explicit on a few random jobs", "[step][fold][fast]") {
  Tally tally;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) compare(seed, 64, 16, tally);
  CHECK(tally.differing == 0);
}

TEST_CASE("folded equals explicit on 1,000 random jobs of 16 to 128 ranks", "[step][fold][slow]") {
  Tally tally;
  for (std::uint64_t seed = 1001; seed <= 2000; ++seed) compare(seed, 128, 16, tally);
  CHECK(tally.differing == 0);
  CHECK(tally.folding * 2 >= tally.cases);  // else the comparison proves nothing
  CHECK(tally.classes * 10 <= tally.ranks * 6);
}

TEST_CASE("folded equals explicit on random jobs of 256 to 1,024 ranks", "[step][fold][slow]") {
  Tally tally;
  for (std::uint64_t seed = 5001; seed <= 5040; ++seed) compare(seed, 1024, 256, tally);
  CHECK(tally.differing == 0);
  CHECK(tally.folding * 2 >= tally.cases);
}

TEST_CASE("leaving links, roles or link colours out of the refinement is caught", "[step][fold][slow]") {
  int links = 0, colours = 0, roles = 0, cases = 0;
  for (std::uint64_t seed = 3001; seed <= 3100; ++seed) {
    const auto c = build(draw(seed, 64));
    links += fold_difference(c, refine(c.system, {.use_links = false})) != 0;
    colours += fold_difference(c, refine(c.system, {.refine_links = false})) != 0;
    ++cases;
  }
  for (std::uint64_t seed = 1; seed <= 100;
       ++seed) {  // one slow rank in a message ring: its two neighbours differ by role only
    auto config = draw(seed * 4, 64);
    config.cp = 4;
    config.context = ContextRing::kMessages;
    config.slow = {{static_cast<int>(seed) % config.ranks(), 1300}};
    const auto c = build(config);
    roles += fold_difference(c, refine(c.system, {.use_roles = false})) != 0;
  }
  CAPTURE(links, colours, roles, cases);
  CHECK(links >= 80);
  CHECK(colours >= 80);
  CHECK(roles >= 20);  // elsewhere the slow rank is hidden behind others, or both neighbours wait alike
}

TEST_CASE("two threads at once give the bits of one", "[step][fold][fast]") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const auto c = build(draw(seed, 64));
    const auto run = [&] { return *execute(c.system, c.cost, c.options); };
    const auto alone = run();
    Timeline other[2];
    std::thread threads[2];
    for (int i = 0; i < 2; ++i) threads[i] = std::thread([&, i] { other[i] = run(); });
    for (auto& thread : threads) thread.join();
    for (const auto& t : other) {
      CHECK(t.finish == alone.finish);
      CHECK(t.start == alone.start);
      CHECK(t.rank_variance == alone.rank_variance);
      CHECK(t.link_busy_bytes == alone.link_busy_bytes);
      CHECK(t.stats.events == alone.stats.events);
    }
  }
}
