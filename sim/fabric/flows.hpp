// `--network flows`: a collective as its point-to-point messages on the fluid solver, stepped one by one. The check on
// the fluid lowering: alone, ring and all-to-all end when the fluid says, a tree within one chunk per level.
//
// Vocabulary. A *lane* is a sender-receiver pair of one channel; its messages go out one after another. Message s of a
// lane may start when each lane that feeds it has delivered s + lead messages (ring: lead 0, the own chunk goes first;
// tree and chain: lead 1). A message occupies its route from start to end (cut-through), and is delivered its latency
// after the end.
//   ring      channel c: the members of each domain rotated by c; 2 (n-1) messages a lane (all-gather, reduce-scatter
//   n-1) broadcast the same order as a chain from the first member, in chunks tree      NCCL's double tree over
//   domains, chain inside; each tree carries half, in chunks, up and down pairwise  one message per pair, all at once;
//   across domains through the PXN member (two routes, one message)
// In-switch reduction (NVLS, SHARP) has no such messages: kUnsupported.
#pragma once
#include <cstdint>
#include <span>
#include "sim/core/result.hpp"
#include "sim/core/time.hpp"
#include "sim/fabric/collective.hpp"

namespace twin::fabric {

struct FlowOptions {
  core::Time base;                                       // before the first message
  core::Time latency_inside, latency_between;            // of one message
  double efficiency_inside = 1, efficiency_between = 1;  // share of the wire that payload gets; bytes are divided by it
  std::int64_t rate_cap = 0;                             // of one lane; 0: none
  std::int64_t chunk_bytes = 512 << 10;                  // tree and broadcast
};

struct FlowRun {
  core::Time time;            // last delivery, base included
  std::int64_t messages = 0;  // stepped through
  std::int64_t solves = 0;    // time stamps at which rates were solved
  std::int64_t chunk_bytes = 0;
  int depth = 0;  // tree: lanes from a leaf up to the root and down again
};

core::Result<FlowRun> run_flows(const View& view, CollectiveOp op, std::int64_t bytes,
                                std::span<const core::DeviceId> members, const Choice& choice,
                                const FlowOptions& options = {});

// What cost() knows, per message: hop latencies, efficiencies, per-channel cap, base. (Not the fill: messages have
// their own.)
FlowOptions flow_options(const View& view, CollectiveOp op, const Choice& choice, const Geometry& geometry,
                         const device::Constants& constants);

}  // namespace twin::fabric
