// The registry of constants: reading, fallback, calibration over it, and messages that name what is wrong.
#include "sim/device/constants.hpp"
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include "sim/core/embedded.hpp"
#include "sim/device/kernel_table.hpp"

using namespace twin::device;
using twin::core::ErrorCode;

namespace {
const char* kSmall = R"({"constants": [
  {"name": "gemm.*.bf16", "prior": 0.9, "sd": 0.1, "level": "A", "unit": "share", "source": "test"},
  {"name": "gemm.h100-sxm.bf16", "prior": 0.9, "value": 0.8, "sd": 0.1, "level": "A", "source": "test"},
  {"name": "fusion.*", "prior": 1.1, "sd": 0.3, "level": "C", "source": "test"}]})";
// Start values of this layer: without fabric's and without fitted ones, which may rightly be warned of.
Constants device_only() {
  return *Constants::parse(twin::core::embedded("sim/device/constants.json"), "sim/device/constants.json");
}
Constants small() { return *Constants::parse(kSmall, "small.json"); }
}  // namespace

TEST_CASE("constants: exact name first, then the middle part as *", "[device][fast]") {
  Constants c = small();
  CHECK(c.get("gemm.h100-sxm.bf16") == 0.8);
  CHECK(c.get("gemm.z9.bf16") == 0.9);
  CHECK(c.get("fusion.anything") == 1.1);
  CHECK(c.index("gemm.z9.fp8") == -1);
  CHECK_THROWS_WITH(c.get("gemm.z9.fp8"), Catch::Contains("gemm.z9.fp8"));
}

TEST_CASE("constants: use is tracked by the entry that answered", "[device][fast]") {
  Constants c = small();
  c.get("fusion.x");
  CHECK(c.used().empty());
  c.start_tracking();
  c.get("fusion.x");
  c.get("gemm.h100-sxm.bf16");
  CHECK(c.used() == std::vector<int>{1, 2});
}

TEST_CASE("constants: JSON out reads back the same", "[device][fast]") {
  Constants c = small();
  c.set(c.index("fusion.*"), 1.25);
  auto again = Constants::parse(c.to_json(), "again");
  REQUIRE(again);
  CHECK(again->get("fusion.*") == 1.25);
  CHECK(again->to_json() == c.to_json());
}

TEST_CASE("constants: errors name file, entry, field", "[device][fast]") {
  auto twice = Constants::parse(R"({"constants": [{"name": "a.b", "prior": 1, "level": "D", "source": ""},
    {"name": "a.b", "prior": 1, "level": "D", "source": ""}]})",
                                "f.json");
  REQUIRE_FALSE(twice);
  CHECK_THAT(twice.error().text(), Catch::Contains("f.json") && Catch::Contains("a.b") && Catch::Contains("twice"));
  auto level =
      Constants::parse(R"({"constants": [{"name": "a.b", "prior": 1, "level": "Q", "source": ""}]})", "f.json");
  REQUIRE_FALSE(level);
  CHECK_THAT(level.error().text(), Catch::Contains("level") && Catch::Contains("Q"));
  auto key = Constants::parse(R"({"constants": [{"name": "a.b", "priro": 1, "level": "D", "source": ""}]})", "f.json");
  REQUIRE_FALSE(key);
  CHECK_THAT(key.error().text(), Catch::Contains("prior"));
  auto zero = Constants::parse(R"({"constants": [{"name": "a.b", "prior": 0, "sd": 0.1, "level": "D", "source": ""}]})",
                               "f.json");
  CHECK_FALSE(zero);
}

TEST_CASE("constants: a calibration file sets values that exist", "[device][fast]") {
  Constants c = small();
  REQUIRE(c.apply_calibration(R"({"values": {"fusion.*": 0.97}})", "cal.json"));
  CHECK(c.get("fusion.q") == 0.97);
  auto typo = c.apply_calibration(R"({"values": {"gemm.h100-smx.bf16": 0.97}})", "cal.json");
  REQUIRE_FALSE(typo);
  CHECK(typo.error().code == ErrorCode::kNotFound);
  CHECK_THAT(typo.error().text(), Catch::Contains("cal.json") && Catch::Contains("nearest: gemm.h100-sxm.bf16"));
  CHECK_FALSE(c.apply_calibration(R"({"values": {"fusion.*": -1}})", "cal.json"));
  CHECK_FALSE(c.apply_calibration(R"({"values": {"fusion.*": 0}})", "cal.json"));
  CHECK_FALSE(c.apply_calibration(R"({"values": {"fusion.*": "x"}})", "cal.json"));
}

TEST_CASE("constants: a calibration file that is not there is a user's error", "[device][fast]") {
  auto c = load_calibration("no/such/file.json");
  REQUIRE_FALSE(c);
  CHECK_THAT(c.error().text(), Catch::Contains("no/such/file.json"));
}

TEST_CASE("constants: a calibration file lies over the built-in values", "[device][fast]") {
  const auto path = std::filesystem::temp_directory_path() / "twin_device_calibration_test.json";
  std::ofstream(path) << R"({"values": {"stack.megatron-core": 1.0125}, // comments are allowed
    "tables": [{"accelerator": "b200", "op": "gemm", "dtype": "fp8", "rows": [[1, 2, 3, 1, 0.5]]}]})";
  auto c = load_calibration(path.string());
  std::filesystem::remove(path);
  REQUIRE(c);
  CHECK(c->get("stack.megatron-core") == 1.0125);
  CHECK(c->get("kernel.ramp_us") == Constants::builtin().get("kernel.ramp_us"));
  REQUIRE(c->table());
  CHECK(c->table()->accelerator("b200") == 0);
}

TEST_CASE("constants: built-in ones are sane", "[device][fast]") {
  const Constants& c = Constants::builtin();
  for (const Constant& k : c.all()) {
    INFO(k.name);
    CHECK_FALSE(k.source.empty());
    if (k.sd > 0) CHECK(k.value > 0);
  }
  for (const char* need : {"gemm.x.bf16", "gemm.x.fp8", "gemm.x.fp4", "attention.x", "fusion.x", "launch.x", "stack.x",
                           "step_fixed.x", "overlap.hbm_share", "overlap.slowdown_data", "overlap.slowdown_tp",
                           "tp_overlap.efficiency", "scale.doubling", "jitter.op", "jitter.persistent", "host.sync_us"})
    CHECK(c.index(need) >= 0);
  for (const auto& warning : structure_warnings(device_only())) FAIL_CHECK(warning);
}

TEST_CASE("constants: an efficiency above 1 and a working residual are reported", "[device][fast]") {
  Constants c = device_only();
  c.set(c.index("gemm.*.bf16"), 1.05);
  c.set(c.index("stack.*"), 1.3);
  const auto found = structure_warnings(c);
  REQUIRE(found.size() == 3);  // gemm above 1, stack as residual, stack out of its prior
  CHECK_THAT(found[0], Catch::Contains("gemm.*.bf16"));
  CHECK_THAT(found[1], Catch::Contains("stack.*"));
}
