// Memory of the published runs: every dense row took place, so nearly all must fit; SimuMax's measured peaks (Llama-3
// 405B cut to 4 layers on a B200) and Korthikanti's budgets within 5 % each.
#include <catch2/catch.hpp>
#include <cstdio>
#include <map>
#include "sim/step/memory.hpp"
#include "topologies/cluster.hpp"
#include "validate/cases.hpp"

using namespace twin;

namespace {

constexpr double kGib = 1073741824.0;

const std::vector<validate::Row>& rows() {
  static const std::vector<validate::Row> all = [] {
    auto read = validate::embedded_rows();
    REQUIRE(read);
    return *read;
  }();
  return all;
}

step::MemoryReport memory(const work::Scenario& s) {
  const auto cluster = topo::build_cluster(s.cluster);
  REQUIRE(cluster);
  const int world = (*cluster)->devices();
  const auto first = (*cluster)->scaleup_domain_of(core::DeviceId{0});
  int domain = 1;
  while (domain < world && (*cluster)->scaleup_domain_of(core::DeviceId{domain}) == first) ++domain;
  const auto plan = step::make_plan(s, world, domain);
  REQUIRE(plan);
  return step::report_memory(s, *plan, (*cluster)->spec(core::DeviceId{0}), world, domain);
}

}  // namespace

TEST_CASE("at least 95 % of the published dense runs fit", "[memory][slow]") {
  std::map<std::string, std::pair<int, int>> files;
  int fitting = 0, total = 0;
  for (const auto& row : rows()) {
    if (!row.kind.empty() && row.kind != "step") continue;
    const auto n = validate::normalise(row, validate::stack_catalog());
    if (!n.scenario || n.apart) continue;
    const bool fits = memory(*n.scenario).fits;
    fitting += fits, ++total;
    files[n.file].first += fits, ++files[n.file].second;
  }
  for (const auto& [file, share] : files)
    std::printf("fits %-28s %3d of %3d\n", file.c_str(), share.first, share.second);
  std::printf("fits %-28s %3d of %3d\n", "all", fitting, total);
  REQUIRE(total >= 400);
  CHECK(fitting >= 0.95 * total);
}

TEST_CASE("measured peaks of the SimuMax runs are met within 5 %", "[memory][slow]") {
  int compared = 0;
  for (const auto& row : rows()) {
    if (row.file != "simumax_b200" || !row.measured.peak_mem_gib) continue;
    const auto n = validate::normalise(row, validate::stack_catalog());
    if (!n.scenario) continue;
    CAPTURE(row.id);
    CHECK(memory(*n.scenario).peak_bytes / kGib == Approx(*row.measured.peak_mem_gib).epsilon(0.05));
    ++compared;
  }
  CHECK(compared >= 12);
}

TEST_CASE("Korthikanti's budgets are met within 5 %", "[memory][slow]") {
  int compared = 0;
  for (const auto& row : rows()) {
    if (row.kind != "memory" && row.kind != "memory_relative") continue;
    for (const auto& c : validate::memory_cases(row, rows(), validate::stack_catalog())) {
      CAPTURE(c.id, c.metric);
      REQUIRE(c.scenario);
      auto r = memory(*c.scenario).by_category;
      double predicted = r["activations"] / kGib;
      if (c.metric == "params_optimizer") predicted = (r["parameters"] + r["gradients"] + r["optimizer"]) / kGib;
      if (c.baseline) predicted = 100 * r["activations"] / memory(*c.baseline).by_category["activations"];
      CHECK(predicted == Approx(c.measured).epsilon(0.05));
      ++compared;
    }
  }
  CHECK(compared >= 24);
}
