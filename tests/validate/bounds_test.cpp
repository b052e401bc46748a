// No prediction lies below a physical bound: FLOPs of the busiest stage over the data sheet's peak.
#include <catch2/catch.hpp>
#include "sim/device/constants.hpp"
#include "validate/cases.hpp"
#include "validate/row.hpp"

using namespace twin;

TEST_CASE("every measured configuration is predicted above its physical bound", "[slow]") {
  const auto rows = validate::embedded_rows();
  REQUIRE(rows);
  const auto cases = validate::make_cases(*rows, validate::step_simulator(), validate::stack_catalog(), 2);
  int checked = 0;
  for (const auto& c : cases) {
    if (!c.run) continue;
    const auto result = (*c.run)(device::Constants::builtin());
    REQUIRE(result);
    INFO(c.row.id << ": predicted " << result->step_time_s << " s, bound " << result->lower_bound_s << " s");
    CHECK(result->step_time_s > result->lower_bound_s);
    CHECK(result->interval_s[0] >= result->lower_bound_s);
    CHECK(result->mfu < 1);
    ++checked;
  }
  CHECK(checked >= 400);
}
