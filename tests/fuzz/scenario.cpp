// Fuzz target: scenario JSON, from text to the checked scenario and back.
#include <string_view>
#include "sim/core/check.hpp"
#include "tests/fuzz/target.hpp"
#include "workloads/scenario_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace twin;
  const auto scenario = work::read_scenario({reinterpret_cast<const char*>(data), size}, "fuzz.json");
  if (!scenario) {
    TWIN_CHECK(!scenario.error().message.empty());
    return 0;
  }
  const auto checked = work::validate_scenario(*scenario, 64);
  if (!checked) TWIN_CHECK(!checked.error().message.empty());
  // What we print is what we read.
  const auto dumped = work::scenario_to_json(*scenario);
  const auto again = work::scenario_from_json(dumped, "dump.json");
  TWIN_CHECK(again);
  TWIN_CHECK(work::scenario_to_json(*again) == dumped);
  return 0;
}
