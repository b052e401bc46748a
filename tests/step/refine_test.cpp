// Partition refinement: the worklist against whole-graph rounds, and against a check without hashes.
#include <catch2/catch.hpp>
#include "sim/step/incidence.hpp"
#include "tests/step/fold_case.hpp"

using namespace twin::step;
using namespace twin::step::test;

TEST_CASE("worklist and rounds agree, and the partition is equitable", "[step][refine][fast]") {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    std::mt19937_64 random(seed);
    const auto c = build(random_config(random, {.round_sizes = seed % 2 == 0, .healthy = seed % 3 == 0}));
    CAPTURE(seed);
    const auto worklist = refine(c.system), rounds = refine_rounds(c.system);
    CHECK(worklist.rank_class == rounds.rank_class);
    CHECK(worklist.group_class == rounds.group_class);
    CHECK(worklist.link_class == rounds.link_class);
    CHECK(is_equitable(c.system, worklist));
    for (const RefineOptions options :
         {RefineOptions{.use_links = false}, RefineOptions{.use_roles = false}, RefineOptions{.refine_links = false}}) {
      const auto a = refine(c.system, options), b = refine_rounds(c.system, options);
      CHECK(a.rank_class == b.rank_class);
      CHECK(a.group_class == b.group_class);
    }
  }
}

TEST_CASE("a partition that is too coarse is not equitable", "[step][refine][fast]") {
  Config config{.tp = 8, .dp = 4, .pp = 2};
  const auto healthy = build(config);
  const auto partition = refine(healthy.system);
  config.slow = {{9, 1300}};
  const auto broken = build(config);
  CHECK(is_equitable(healthy.system, partition));
  CHECK_FALSE(is_equitable(broken.system, partition));
  CHECK_FALSE(is_equitable(broken.system, refine(broken.system, {.use_links = false})));
}

TEST_CASE("a healthy job has one class per stage, one fault four", "[step][refine][fast]") {
  // tp8 pp2 dp8 over leaves whose links never bind would give 2 and 8; here every leaf link is kept, and the pods'
  // pairs of replicas that exchange over the spine are classes of their own.
  Config config{.tp = 8, .dp = 8, .pp = 2, .pod_nodes = 16};
  config.world_reduce = false;  // a single ring enters a node at its first GPU: breaks the symmetry of rails
  CHECK(refine(build(config).system).rank_classes == 2);
  config.slow = {{3, 1300}};
  // pp x (position hit, others) x (replica hit, others), tensor peers of the slow rank's replica included
  CHECK(refine(build(config).system).rank_classes == 8);
}

TEST_CASE("the quotient keeps populations, slots and summed weights", "[step][refine][fast]") {
  Config config{.tp = 8, .dp = 4, .pp = 2, .pod_nodes = 8};
  config.world_reduce = false;
  const auto c = build(config);
  const auto partition = refine(c.system);
  const auto q = quotient(c.system, partition);
  REQUIRE(q.ranks() == 2);
  CHECK(q.population == std::vector<std::int64_t>{32, 32});
  for (std::size_t g = 0; g < q.groups(); ++g) {
    std::int64_t members = 0;
    for (auto i = q.slot_start[g]; i < q.slot_start[g + 1]; ++i) members += q.slots[static_cast<std::size_t>(i)].count;
    CHECK(members == q.geometries[static_cast<std::size_t>(q.group_geometry[g])].ranks);
  }
}
