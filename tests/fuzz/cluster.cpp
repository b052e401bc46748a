// Fuzz target: a cluster object, built and routed between a few devices.
#include "topologies/cluster.hpp"
#include <algorithm>
#include <string>
#include "sim/core/check.hpp"
#include "tests/fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace twin;
  topo::ClusterRef ref;
  ref.inline_json.assign(reinterpret_cast<const char*>(data), size);
  ref.where = "fuzz.json: cluster";
  const auto cluster = topo::build_cluster(ref);
  if (!cluster) {
    TWIN_CHECK(!cluster.error().message.empty());
    return 0;
  }
  std::vector<fabric::LinkLoad> loads;
  const int n = std::min((*cluster)->devices(), 16);
  for (int d = 1; d < n; ++d) {
    loads.clear();
    if (!(*cluster)->route(core::DeviceId{0}, core::DeviceId{d}, fabric::kUnit, loads)) continue;
    for (const auto& load : loads)
      TWIN_CHECK(load.link.value >= 0 && load.link.value < (*cluster)->links() && load.units >= 0);
  }
  return 0;
}
