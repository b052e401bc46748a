// zero-2 reduces the gradients of every micro batch, also where nothing overlaps the reduction: then it costs more.
#include <catch2/catch.hpp>
#include "sim/step/step.hpp"
#include "tests/step/scenario_draw.hpp"

using namespace twin;

namespace {

double step_time(const std::string& shard, const std::string& overlap) {
  const auto result =
      step::simulate_step(step::test::scenario_of(R"({"model": "llama3-8b", "cluster": {"node": "dgx-h100", "nodes": 2},
          "parallel": {"tp": 2, "pp": 2, "shard": ")" +
                                                  shard + R"("}, "batch": {"global": 64, "micro": 1, "seq": 2048},
          "overlap": {"dp_grad": )" + overlap + "}}"),
                          {}, device::Constants::builtin());
  REQUIRE(result);
  return result->step_time_s;
}

}  // namespace

TEST_CASE("zero-2 reduces each micro batch with and without overlap", "[fast][data]") {
  CHECK(step_time("zero-2", "false") > step_time("zero-2", "true"));
  // 15 reductions more than zero-1's one, of 2 GB a rank: tens of milliseconds.
  CHECK(step_time("zero-2", "false") > step_time("zero-1", "false") + 0.05);
}
