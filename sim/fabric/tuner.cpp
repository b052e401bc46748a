// NCCL's choice of algorithm, protocol and channels: time = latency + bytes / (busbw x ratio) per (algorithm,
// protocol), the least wins. These are the tuner's own constants and deliberate simplifications; the *speed* comes from
// cost.cpp. Source: NVIDIA/nccl src/graph/tuning.cc at 5067397c (tables, formulas), src/enqueue.cc (channels by message
// size). Range: one kind of accelerator per communicator, NVLink-class scale-up.
#include <algorithm>
#include <array>
#include <cmath>
#include "sim/fabric/collective.hpp"
#include "sim/fabric/rates.hpp"

namespace twin::fabric {
namespace {

enum Family { kVolta, kAmpere, kHopper, kBlackwell };
Family family_of(const View& view) {
  const std::string& f = view.features().family;
  if (f == "volta") return kVolta;
  if (f == "hopper") return kHopper;
  if (f.starts_with("blackwell")) return kBlackwell;
  return kAmpere;
}

// us; [protocol] = LL, LL128, Simple.
constexpr std::array<double, 3> kBaseRing = {6.6, 14.0, 8.4}, kBaseTree = {6.8, 14.0, 8.4};
constexpr std::array<double, 3> kNvlinkRing = {0.6, 1.9, 3.4}, kNvlinkTree = {0.6, 1.25, 4.0};
constexpr std::array<double, 3> kNetRing = {2.7, 4.0, 14.0}, kNetTree = {5.0, 8.5, 14.0};
constexpr double kNvlinkNvls = 25, kNetNvlsTree = 20.9, kNetCollnet = 31, kNvlinkCollnet = 3.7;
// GB/s; [family][1, 2, 4+ nodes].
constexpr double kLlMax[4][3] = {{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}};
constexpr double kRingLl128[4][3] = {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {40, 40, 40}};
constexpr double kTreeLl128[4][3] = {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}};
constexpr double kTreeSimple[4][3] = {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}};
constexpr double kNvlsTree[4][3] = {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80}};
constexpr double kNvlsEfficiency[4] = {0, 0, 0.85, 0.74};
constexpr double kNvlinkSearch =
    0.82;  // share of the NVLink wire rate that the graph search books (20.6 of 25 GB/s a link)
constexpr double kNetSearch = 0.96;                                       // 12 of 12.5 GB/s per 100 Gb/s
constexpr int kChannels[4][2] = {{12, 8}, {24, 16}, {16, 16}, {32, 32}};  // one node, more

struct Setting {
  Family family;
  int nodes_index, ranks, nodes, channels;
  int graph;       // channels of the searched graph, before they are doubled
  double ring_bw;  // GB/s: busbw that the ring graph reaches
  double tree_bw;  // on two nodes NCCL books the tree's rate inside a node
  double nvls_bw;
  double steps;  // of the ring
};

double ring_time(const Setting& s, CollectiveOp op, int p, double bytes) {
  double bw = s.ring_bw;
  if (p == 0) bw = std::min(kLlMax[s.family][s.nodes_index], bw * 0.5);
  if (p == 1) bw = std::min(bw * 0.92, s.graph * kRingLl128[s.family][s.nodes_index]);
  const bool reduce = op == CollectiveOp::kAllReduce;
  const double inter = s.nodes > 1 ? (reduce ? 2 : 1) * (s.nodes - 1) : 0;
  const double overhead = s.nodes > 1 ? (p == 2 ? 3.0 : 1.0) : 0;
  const auto i = static_cast<std::size_t>(p);
  const double intra_hop = std::max(kNvlinkRing[i], overhead);
  double latency = kBaseRing[i] + (s.steps - inter) * intra_hop + inter * kNetRing[i];
  if (p == 2 && s.nodes > 1 && reduce && bytes / (s.channels * s.ranks) >= 64)
    latency *= s.family < kAmpere ? 1.9 : 1.4;
  return latency + bytes / (1000 * bw * s.ranks / s.steps);
}

double tree_time(const Setting& s, int p, double bytes) {
  const int f = s.family, n = s.nodes_index;
  double bw = std::min(s.tree_bw * 0.92, s.graph * kTreeSimple[f][n]);
  if (p == 0) bw = std::min(bw / 3.8, kLlMax[f][n]);
  if (p == 1) bw = std::min(bw * (s.nodes == 1 ? 7.0 / 9 : 120.0 / 128), s.graph * kTreeLl128[f][n]);
  if (s.nodes == 1) bw *= 0.85;
  const auto i = static_cast<std::size_t>(p);
  const double per_node = static_cast<double>(s.ranks) / s.nodes;
  const double latency = kBaseTree[i] + 2 * ((per_node - 1) * kNvlinkTree[i] + std::log2(s.nodes) * kNetTree[i]);
  return latency + bytes / (1000 * bw * 0.5);
}

double nvls_time(const Setting& s, double bytes) {
  double bw = s.nvls_bw * kNvlsEfficiency[s.family] * 5.0 / 6;
  if (s.nodes == 1) return kNvlinkNvls + bytes / (1000 * bw);
  bw = std::min(bw, s.graph * kNvlsTree[s.family][s.nodes_index] * 0.5);
  return kNvlinkNvls + 2 * std::log2(s.nodes) * kNetNvlsTree + bytes / (1000 * bw);
}

int protocol_channels(const Setting& s, const Choice& c, std::int64_t bytes) {
  static constexpr int kThreads[3] = {512, 640, 512}, kThreshold[3] = {8, 8, 64};
  const auto p = static_cast<std::size_t>(c.protocol);
  if (c.algorithm == Algorithm::kNvls || c.algorithm == Algorithm::kNvlsTree) return s.family == kBlackwell ? 32 : 16;
  std::int64_t threshold = static_cast<std::int64_t>(kThreads[p]) * kThreshold[p];
  if (c.algorithm == Algorithm::kRing && c.protocol == Protocol::kLl) threshold *= s.ranks;
  return static_cast<int>(std::clamp<std::int64_t>(bytes / threshold, 1, s.channels));
}

Setting setting(const View& view, CollectiveOp op, const Geometry& g) {
  const WireRates wire = probe(view);
  Setting s{};
  s.family = family_of(view);
  s.ranks = g.ranks;
  s.nodes = std::max(1, g.domains);
  s.nodes_index = s.nodes == 1 ? 0 : s.nodes < 4 ? 1 : 2;
  s.channels = kChannels[s.family][s.nodes > 1];
  const double scaleup = wire.scaleup * 1e-9 * kNvlinkSearch;
  const double nics = wire.nic * 1e-9 * kNetSearch * std::max(1, g.min_per_domain) / wire.nic_share;
  s.ring_bw = s.nodes == 1 ? scaleup : g.max_per_domain > 1 && scaleup > 0 ? std::min(scaleup, nics) : nics;
  s.nvls_bw = s.nodes == 1 ? scaleup : std::min(scaleup, 2 * nics);
  s.ring_bw = std::max(s.ring_bw, 1e-3);
  s.tree_bw = s.nodes == 2 && g.max_per_domain > 1 ? std::max(scaleup, 1e-3) : s.ring_bw;
  s.graph = s.channels;
  if (s.nodes > 1) {  // a channel per NIC, two for the fast ones
    const int per_nic = s.family >= kHopper && wire.nic > 40e9 ? 2 : 1;
    s.graph = std::clamp(per_nic * std::max(1, g.min_per_domain / wire.nic_share), 2, s.channels);
  }
  s.nvls_bw = std::max(s.nvls_bw, 1e-3);
  s.steps = std::max(1, (op == CollectiveOp::kAllReduce ? 2 : 1) * (g.ranks - 1));
  return s;
}

// LL128 needs 128-byte stores to arrive whole and in order: off between Volta nodes, and over libfabric's CXI, where
// the measured curves (Alps) leave LL for Simple.
bool ll128_between(const View& view, Family f) { return f != kVolta && view.features().scaleout != "slingshot"; }

}  // namespace

Choice choose(const View& view, CollectiveOp op, std::int64_t bytes, const Geometry& g, const device::Constants&) {
  const Setting s = setting(view, op, g);
  const auto b = static_cast<double>(bytes);
  if (op == CollectiveOp::kSendRecv || op == CollectiveOp::kAllToAll) {
    Choice c{op == CollectiveOp::kAllToAll && g.ranks == 2 ? Algorithm::kExchange : Algorithm::kPairwise,
             Protocol::kSimple, 1};
    const std::int64_t message = op == CollectiveOp::kAllToAll ? bytes / std::max(1, g.ranks) : bytes;
    if (message <= (s.nodes > 1 ? 8192 : 16384)) c.protocol = Protocol::kLl;  // NCCL: p2p LL up to a fixed threshold
    const std::int64_t parts = op == CollectiveOp::kAllToAll ? std::min(g.ranks - 1, s.channels) : 1;
    const std::int64_t per_message = std::clamp<std::int64_t>(message / (64 << 10), 1, s.nodes > 1 ? 2 : s.channels);
    c.channels = static_cast<int>(std::clamp<std::int64_t>(parts * per_message, 1, s.channels));
    return c;
  }
  Choice best;
  double least = 1e300;
  const auto consider = [&](Algorithm a, int p, double time) {
    if (time < least) {
      least = time;
      best = {a, static_cast<Protocol>(p), s.channels};
    }
  };
  for (int p = 0; p < 3; ++p) {
    if (p == 1 && s.nodes > 1 && !ll128_between(view, s.family)) continue;
    consider(Algorithm::kRing, p, ring_time(s, op, p, b));
    if (op == CollectiveOp::kAllReduce) consider(Algorithm::kTree, p, tree_time(s, p, b));
  }
  const bool nvls =
      view.features().nvls && kNvlsEfficiency[s.family] > 0 && g.min_per_domain > 2 && op != CollectiveOp::kBroadcast;
  if (nvls && (s.nodes == 1 || op == CollectiveOp::kAllReduce))
    consider(s.nodes == 1 ? Algorithm::kNvls : Algorithm::kNvlsTree, 2, nvls_time(s, b));
  if (view.features().sharp && s.nodes > 1 && op == CollectiveOp::kAllReduce)
    consider(Algorithm::kSharp, 2, kNvlinkCollnet * 2 + kNetCollnet + b / (1000 * s.nvls_bw * 0.75));
  best.channels = protocol_channels(s, best, bytes);
  return best;
}

}  // namespace twin::fabric
