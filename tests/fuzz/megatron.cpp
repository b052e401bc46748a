// Fuzz target: Megatron-LM launch scripts and argument lists.
#include "sim/core/check.hpp"
#include "tests/fuzz/target.hpp"
#include "workloads/megatron_args.hpp"
#include "workloads/scenario_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace twin;
  auto import = work::read_megatron_args({reinterpret_cast<const char*>(data), size}, "fuzz.sh");
  if (!import) {
    TWIN_CHECK(!import.error().message.empty());
    return 0;
  }
  import->scenario["cluster"] = "dgx-h100x8";
  const auto scenario = work::scenario_from_json(import->scenario, "fuzz.sh");
  if (!scenario) TWIN_CHECK(!scenario.error().message.empty());
  return 0;
}
