// The predicted curve against measured nccl-tests curves: median |error| over sizes per source, bounds held as numbers.
#include "tests/fabric/curves.hpp"
#include <fmt/format.h>
#include <catch2/catch.hpp>
#include <cmath>
#include "sim/fabric/collective_table.hpp"

namespace twin::fabric {
namespace {

std::vector<double> errors(const Curve& c) {
  const FakeView v(c.shape);
  const auto& constants = device::Constants::builtin();
  std::vector<double> out;
  for (const auto& [bytes, us] : c.points) {
    const auto rows = collective_table(v, {c.op, c.members(), bytes, bytes, 2}, constants);
    REQUIRE(rows);
    const double launch = c.kernel ? constants.get("nccl.launch_us") : 0;
    out.push_back(std::fabs((rows->back().time_us - launch) / us - 1));
  }
  std::sort(out.begin(), out.end());
  return out;
}
double median(const std::vector<double>& sorted) { return sorted[sorted.size() / 2]; }

TEST_CASE("measured nccl-tests curves", "[shared][slow]") {
  if (!std::filesystem::exists(shared_folder() / "traces/nccl_tests")) {
    WARN("skipped: ../shared/traces/nccl_tests is absent");
    return;
  }
  std::vector<double> all, nvlink, between;
  std::string table;
  for (const Curve& c : measured_curves()) {
    const auto e = errors(c);
    table += fmt::format("{:<48} {:3} sizes  median {:5.1f} %  p90 {:5.1f} %{}\n", c.source, e.size(), 100 * median(e),
                         100 * e[e.size() * 9 / 10], c.tuned ? "" : "  (reported, not bounded)");
    if (!c.tuned) continue;
    all.insert(all.end(), e.begin(), e.end());
    auto& group = c.shape.nodes == 1 ? nvlink : between;
    if (c.shape.scaleout != "slingshot" || c.shape.nodes == 1) group.insert(group.end(), e.begin(), e.end());
    // Slingshot: libfabric's rendezvous makes 16 KiB to 1 MiB up to eight times slower than 2 MiB; the model has no
    // such step.
    CHECK(median(e) < (c.shape.nodes == 1 ? 0.20 : c.shape.scaleout == "slingshot" ? 0.60 : 0.12));
  }
  for (auto* v : {&all, &nvlink, &between}) std::sort(v->begin(), v->end());
  fmt::print("{}all {:.1f} %, inside a node {:.1f} %, InfiniBand and EFA {:.1f} %\n", table, 100 * median(all),
             100 * median(nvlink), 100 * median(between));
  CHECK(nvlink.size() > 300);
  CHECK(median(all) < 0.11);
  CHECK(median(nvlink) < 0.05);
  CHECK(median(between) < 0.07);
}

}  // namespace
}  // namespace twin::fabric
