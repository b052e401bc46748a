// Fuzz target: Hugging Face config.json.
#include "workloads/hf_config.hpp"
#include "sim/core/check.hpp"
#include "sim/core/json_reader.hpp"
#include "tests/fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace twin;
  const auto json = core::parse_json({reinterpret_cast<const char*>(data), size}, "fuzz.json");
  if (!json) return 0;
  (void)work::is_hf_config(*json);
  const auto model = work::model_from_hf(*json, "fuzz.json");
  if (!model)
    TWIN_CHECK(!model.error().message.empty());
  else
    TWIN_CHECK(model->parameters() > 0);
  return 0;
}
