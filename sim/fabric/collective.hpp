// Collectives lowered to the fluid: which links carry how much (pattern), how much the busiest link carries per byte,
// which latency and which rate cap. All integers, so that folded and explicit runs agree bit for bit.
//
// A communicator's *pattern* (ring, tree, nvls, sharp, all-to-all, p2p) gives its normalised link weights; an *op* on
// it (all-gather of B bytes, ...) gives bytes on the busiest link, latency and cap. One pattern serves several ops.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>
#include "sim/core/ids.hpp"
#include "sim/core/result.hpp"
#include "sim/core/time.hpp"
#include "sim/device/constants.hpp"
#include "sim/fabric/view.hpp"

namespace twin::fabric {

enum class CollectiveOp : std::uint8_t { kAllReduce, kAllGather, kReduceScatter, kBroadcast, kAllToAll, kSendRecv };
// kPairwise: all-to-all, or with two members the message from the first to the second. kExchange: an all-to-all of any
// size, also of two (choose() returns it for those).
enum class Algorithm : std::uint8_t { kRing, kTree, kNvls, kNvlsTree, kSharp, kPairwise, kExchange };
enum class Protocol : std::uint8_t { kLl, kLl128, kSimple };
const char* name(CollectiveOp op);
const char* name(Algorithm a);
const char* name(Protocol p);

// The facts of a communicator that cost depends on; equal for groups that may share a class (hash all of it).
struct Geometry {
  std::int32_t ranks = 0;
  std::int32_t domains = 0;         // scale-up domains spanned
  std::int32_t max_per_domain = 0;  // members in the fullest
  std::int32_t min_per_domain = 0;
  Reach reach = Reach::kSelf;  // farthest pair of ring neighbours
  std::int64_t scale = kUnit;  // units on the busiest link when one ring edge (or one message) is kUnit
  friend bool operator==(const Geometry&, const Geometry&) = default;
};

struct Pattern {
  Geometry geometry;
  std::vector<LinkLoad> loads;  // merged by link, sorted by link, normalised: busiest = kUnit
};

// Members in rank order. p2p: members = {source, destination}. Error: no path between two members.
core::Result<Pattern> lower(const View& view, Algorithm algorithm, std::span<const core::DeviceId> members);

// bytes: as nccl-tests count them (all-gather and reduce-scatter: the full gathered buffer; all-reduce: the buffer;
// all-to-all: what one rank sends in total, own part included; send/recv: the message).
struct Choice {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  std::int32_t channels = 1;  // parallel flows: the weight phi in the max-min filling, and CTAs held
};

struct Cost {
  std::int64_t busiest_bytes = 0;  // bytes on the pattern's busiest link (x 1; the fluid's `remaining`)
  core::Time latency;              // before the fluid starts (launch not included)
  std::int64_t rate_cap = 0;       // 2^-32 byte/ns on the busiest link
};

// What NCCL's tuner would take here (constants of ../shared/published/facts/nccl_tuning_constants.json), with `family`
// and features of the view.
Choice choose(const View& view, CollectiveOp op, std::int64_t bytes, const Geometry& geometry,
              const device::Constants& constants);
Cost cost(const View& view, CollectiveOp op, std::int64_t bytes, const Choice& choice, const Geometry& geometry,
          const device::Constants& constants);
// SMs held by a posted kernel of this choice (0: copy engine).
int ctas(const View& view, CollectiveOp op, const Choice& choice);
// nccl-tests' bus-bandwidth factor: all-reduce 2(n-1)/n, all-gather and reduce-scatter (n-1)/n, ...
double busbw_factor(CollectiveOp op, int ranks);

}  // namespace twin::fabric
