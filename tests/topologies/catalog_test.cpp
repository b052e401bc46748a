// The catalog is complete, readable, and found under every name that the measured rows use.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include "sim/core/json_reader.hpp"
#include "topologies/cluster.hpp"
#include "topologies/parts.hpp"

using namespace twin;
using topo::build_cluster;
using topo::ClusterRef;
using topo::find_accelerator;

TEST_CASE("every catalog entry reads", "[fast]") {
  REQUIRE(topo::catalog_names("accelerators").size() >= 25);
  for (const auto& name : topo::catalog_names("accelerators")) {
    INFO(name);
    auto spec = find_accelerator(name);
    if (!spec) FAIL(spec.error().text());
    CHECK(spec->name == name);
    CHECK_FALSE(spec->source.empty());
    CHECK(spec->usable_bytes > 0.9 * spec->hbm_bytes);
    CHECK(spec->usable_bytes < 1.1 * spec->hbm_bytes);
    CHECK(spec->hbm_stream_bytes_per_s < spec->hbm_bytes_per_s);
    for (std::size_t i = 0; i < spec->peak_tflops.size(); ++i) CHECK(spec->mamf_tflops[i] <= spec->peak_tflops[i]);
  }
  for (const auto& name : topo::catalog_names("nodes")) {
    auto node = topo::read_node(name, "test");
    if (!node) FAIL(node.error().text());
  }
  for (const auto& name : topo::catalog_names("fabrics")) {
    auto fabric = topo::read_fabric(name, "test");
    if (!fabric) FAIL(fabric.error().text());
  }
  for (const auto& name : topo::catalog_names("clusters")) {
    auto cluster = build_cluster({.name = name});
    if (!cluster) FAIL(cluster.error().text());
    CHECK((*cluster)->name() == name);
  }
}

TEST_CASE("accelerators of the measured rows have names", "[fast]") {
  const std::map<std::string, std::string> expected = {
      {"A100-SXM (memory size not stated)", "a100-sxm-80gb"},
      {"A100-class (Ampere, >10000 GPU cluster; exact SKU not stated)", "a100-sxm-80gb"},
      {"A100-SXM-40GB", "a100-sxm-40gb"},
      {"A100-SXM-80GB", "a100-sxm-80gb"},
      {"H100-SXM-80GB", "h100-sxm"},
      {"H100-SXM-96GB-HBM2e-500W", "h100-96gb-hbm2e-500w"},
      {"H200", "h200"},
      {"B200", "b200"},
      {"B300", "b300"},
      {"GB200", "gb200"},
      {"GB300", "gb300"},
      {"Gaudi2", "gaudi2"},
      {"L40S", "l40s"},
      {"MI300X", "mi300x"},
      {"MI325X", "mi325x"},
      {"MI350X", "mi350x"},
      {"MI355X", "mi355x"},
      {"TPU-v4", "tpu-v4"},
      {"TPU-v5e", "tpu-v5e"},
      {"TPU-v5p", "tpu-v5p"},
      {"TPU-v6e-Trillium", "tpu-v6e"},
      {"TPU-v7-Ironwood", "tpu-v7"}};
  for (const auto& [name, canonical] : expected) {
    INFO(name);
    auto spec = find_accelerator(name);
    if (!spec) FAIL(spec.error().text());
    CHECK(spec->name == canonical);
  }
}

TEST_CASE("data sheet numbers", "[fast]") {
  const auto h100 = *find_accelerator("H100");
  CHECK(h100.peak(device::Dtype::kBf16) == Approx(989.4));
  CHECK(h100.mamf(device::Dtype::kBf16) == Approx(794.5));
  CHECK(h100.sms == 132);
  CHECK(h100.tdp_w == 700);
  CHECK(find_accelerator("h100_96gb")->tdp_w == 500);
  CHECK(find_accelerator("gb200")->peak(device::Dtype::kBf16) == Approx(2475).margin(25));
  CHECK(find_accelerator("h800")->scaleup_bytes_per_s == Approx(200e9));
}

TEST_CASE("an unknown accelerator names the nearest", "[fast]") {
  auto spec = find_accelerator("h100-sxn");
  REQUIRE_FALSE(spec);
  CHECK(spec.error().hint.find("h100-sxm") != std::string::npos);
}
