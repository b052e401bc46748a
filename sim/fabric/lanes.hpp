// A collective expanded into lanes (flows.hpp has the vocabulary); what run_flows() executes.
#pragma once
#include <span>
#include <vector>
#include "sim/core/result.hpp"
#include "sim/fabric/flows.hpp"

namespace twin::fabric {

struct Lane {
  core::DeviceId from, via, to;  // via: the PXN member; invalid: direct
  std::int64_t bytes = 0;        // of one message
  std::int32_t messages = 0;
  std::int32_t lead = 0;
};

struct LaneGraph {
  std::vector<Lane> lanes;
  std::vector<std::int32_t> feed_begin, feeds;  // compressed rows: lanes that wait for lane i
  std::int64_t chunk_bytes = 0;
  int depth = 0;
};

core::Result<LaneGraph> expand(const View& view, CollectiveOp op, std::int64_t bytes,
                               std::span<const core::DeviceId> members, const Choice& choice,
                               const FlowOptions& options);

}  // namespace twin::fabric
