// Instances of communications and the critical path, on a hand-made step of two stages.
#include "sim/report/explain.hpp"
#include <catch2/catch.hpp>
#include "sim/report/critical_path.hpp"
#include "sim/report/instances.hpp"
#include "tests/report/recorded_step.hpp"

using namespace twin;
using report::PathSegment;

TEST_CASE("sender and receiver of a message are one instance, groups of one class are another", "[fast]") {
  const auto r = report::test::recorded_step();
  const report::Instances instances(r);
  CHECK(instances.count() == 3);
  CHECK(instances.of(0, 0) == -1);
  CHECK(instances.of(0, 2) == instances.of(1, 0));
  CHECK(instances.of(0, 1) != instances.of(1, 3));
  const auto& members = instances.members(instances.of(0, 2));
  REQUIRE(members.size() == 2);
  CHECK(members[0].rank == 0);
  CHECK(members[1].op == 0);
}

TEST_CASE("the critical path crosses to the peer that posted last and covers the step", "[fast]") {
  const auto r = report::test::recorded_step();
  const auto path = report::critical_path(r);
  // stage 0 compute [0,100], tp [100,140], send [140,190]; stage 1 compute [190,310], gap [310,315] (host), compute
  // [315,400]
  REQUIRE(path.size() == 6);
  const int ranks[] = {0, 0, 0, 1, 1, 1}, ops[] = {0, 1, 2, 1, -1, 2};
  std::int64_t total = 0;
  for (std::size_t i = 0; i < path.size(); ++i) {
    CHECK(path[i].rank == ranks[i]);
    CHECK(path[i].op == ops[i]);
    CHECK(path[i].begin == total);
    total += path[i].length();
  }
  CHECK(total == 400);
  CHECK(path[4].length() == 5);
}

TEST_CASE("exposure counts what compute hides and what waits", "[fast]") {
  const auto r = report::test::recorded_step();
  const auto exposed = report::exposures(r, 1);
  REQUIRE(exposed.size() == 2);
  CHECK(exposed[0].category == step::Category::kTp);
  CHECK(exposed[0].busy == 10);
  CHECK(exposed[0].hidden == 10);
  CHECK(exposed[1].category == step::Category::kPp);
  CHECK(exposed[1].busy == 190);
  CHECK(exposed[1].waiting == 150);
  CHECK(exposed[1].exposed() == 190);
}

TEST_CASE("the explanation names ops, classes and communication", "[fast]") {
  const std::string path = report::explain_critical_path(report::test::recorded_step());
  CHECK(path.find("6 ops, 1 changes of class, 400 ns") == 0);
  CHECK(path.find("waiting to be issued") != std::string::npos);
  CHECK(path.find("30.0 %    1  compute  block forward") != std::string::npos);
  const std::string exposure = report::explain_exposure(report::test::recorded_step());
  CHECK(exposure.find("on stage 1") == 0);
  CHECK(exposure.find("150 ns") != std::string::npos);
}
