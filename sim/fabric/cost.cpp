// Time of a collective alone: latency + busiest_bytes / min(capacity, rate_cap).
//   busiest_bytes = bytes of a unit edge x geometry.scale / efficiency: what the wire carries for headers, acks and
//   gaps of
//     the transport counts as bytes, so that contention stays physical and no link ever exceeds its wire rate.
//   latency = base(protocol) + hops inside x hop(scale-up, protocol) + hops between x (hop(net, protocol) + wire) +
//   fill;
//     hops as in NCCL's tuner (ring: its steps; tree: up and down). fill = F b/(b + H): chunks grow with the message up
//     to the staging buffer, and the pipeline fills and drains once; b = bytes on the busiest link.
//   rate_cap = channels x per-channel rate.
// Constants (level E) are fitted to nccl-tests curves only; constants.json has each with prior and source.
#include <algorithm>
#include <bit>
#include <cmath>
#include "sim/fabric/collective.hpp"
#include "sim/fabric/flows.hpp"
#include "sim/fabric/rates.hpp"

namespace twin::fabric {
namespace {

__extension__ typedef __int128 i128;

struct Lookup {
  const device::Constants& constants;
  std::string nvlink, net;
  double scaleup(const std::string& key) const { return constants.get(nvlink + key); }
  double network(const std::string& key) const { return constants.get(net + key); }
};

Lookup lookup(const View& view, const device::Constants& constants) {
  const DomainFeatures& f = view.features();
  return {constants, "nvlink." + (f.family.empty() ? std::string("*") : f.family) + ".",
          "net." + (f.scaleout.empty() ? std::string("*") : f.scaleout) + "."};
}

bool in_switch(Algorithm a) { return a == Algorithm::kNvls || a == Algorithm::kNvlsTree; }

// Bytes on a unit edge of the pattern (lower.cpp).
i128 edge_bytes(CollectiveOp op, std::int64_t bytes, Algorithm a, const Geometry& g) {
  const i128 b = bytes, n = std::max(1, g.ranks);
  const bool reduce = op == CollectiveOp::kAllReduce;
  switch (a) {
    case Algorithm::kRing:
      return op == CollectiveOp::kBroadcast ? b : (reduce ? 2 : 1) * b * (n - 1) / n;
    case Algorithm::kNvls:
      return reduce && g.domains <= 1 ? b + b / n : b;
    case Algorithm::kTree:
    case Algorithm::kNvlsTree:
    case Algorithm::kSharp:
      return reduce ? b : (b + 1) / 2;
    case Algorithm::kPairwise:
    case Algorithm::kExchange:
      return b;
  }
  return b;
}

struct Hops {
  double inside = 0, between = 0;
};
Hops hops(CollectiveOp op, Algorithm a, const Geometry& g) {
  const double n = g.ranks, domains = std::max(1, g.domains);
  const double twice = op == CollectiveOp::kAllReduce ? 2 : 1;
  const double depth = domains > 1 ? std::ceil(std::log2(domains)) : 0;
  switch (a) {
    case Algorithm::kRing: {
      const double between = domains > 1 ? twice * (domains - 1) : 0;
      return {twice * (n - 1) - between, between};
    }
    case Algorithm::kTree:
      return {twice * (n / domains - 1), twice * depth};
    case Algorithm::kNvls:
    case Algorithm::kNvlsTree:
      return {1, twice * depth};
    case Algorithm::kSharp:
      return {2, 2};
    case Algorithm::kPairwise:
    case Algorithm::kExchange:
      return domains > 1 ? Hops{0, 1} : Hops{1, 0};
  }
  return {};
}

const char* suffix(Protocol p) { return p == Protocol::kLl ? "ll_" : p == Protocol::kLl128 ? "ll128_" : "simple_"; }

double protocol_share(const Lookup& c, Protocol p, bool network) {
  if (p == Protocol::kSimple) return 1;
  const char* key = p == Protocol::kLl ? "ll_share" : "ll128_share";
  return network ? c.network(key) : c.scaleup(key);
}

// The side that bounds this collective on a healthy cluster, NICs or scale-up links, and the share of its wire that
// payload gets there. Loads per unit of buffer: 1/k on a NIC, (k-1)/k inside (in the switch 1 + 1/k, a tree's chain
// twice).
struct Side {
  bool network = false;
  double efficiency = 1;
};
Side binding_side(const View& view, const Lookup& c, const Choice& choice, const Geometry& g) {
  const bool nvls = in_switch(choice.algorithm);
  const double inside = c.scaleup(nvls ? "nvls_efficiency" : "efficiency") * protocol_share(c, choice.protocol, false);
  if (g.domains <= 1) return {false, inside};
  const WireRates w = probe(view);
  double outside = c.network("efficiency") * protocol_share(c, choice.protocol, true);
  if (w.nic_share > 1)
    outside *= c.network("shared_nic_share");  // some of its devices reach it through the host's root
  const double k = std::max(1, g.min_per_domain);
  const double twice = choice.algorithm == Algorithm::kTree || choice.algorithm == Algorithm::kSharp ? 2 : 1;
  const double load = nvls ? (k + 1) / k : twice * (k - 1) / k;
  const double scaleup = w.scaleup > 0 ? load / (w.scaleup * inside) : 0;
  double edges = 1;  // buffers that leave a domain per unit: a double tree's inner nodes send up half and down one
  if (g.domains > 2 && (nvls || choice.algorithm == Algorithm::kTree)) edges = 2;
  const double nic = w.nic > 0 ? edges * w.nic_share / (k * w.nic * outside) : 0;
  return nic >= scaleup ? Side{true, outside} : Side{false, inside};
}

}  // namespace

Cost cost(const View& view, CollectiveOp op, std::int64_t bytes, const Choice& choice, const Geometry& g,
          const device::Constants& constants) {
  Cost out;
  const Lookup c = lookup(view, constants);
  out.rate_cap = std::max<std::int64_t>(1, to_rate(choice.channels * c.scaleup("channel_gbs") * 1e9));
  if (g.ranks < 2 || bytes <= 0) return out;
  const Side side = binding_side(view, c, choice, g);
  const auto parts = static_cast<std::int64_t>(side.efficiency * static_cast<double>(kUnit) + 0.5);
  const i128 units = edge_bytes(op, bytes, choice.algorithm, g) * g.scale;
  out.busiest_bytes = std::max<std::int64_t>(1, static_cast<std::int64_t>((units + parts - 1) / parts));

  const std::string p = suffix(choice.protocol);
  const Hops h = hops(op, choice.algorithm, g);
  const bool message = op == CollectiveOp::kSendRecv;  // one sender: no rounds to fill
  double us = c.scaleup(message ? "base_p2p_us" : "base_" + p + "us");
  us += h.inside * c.scaleup(in_switch(choice.algorithm) ? "hop_nvls_us" : "hop_" + p + "us");
  if (g.domains > 1) {
    const double wire = view.latency(g.reach).seconds() * 1e6;
    us += c.network("base_us") + h.between * (c.network("hop_" + p + "us") + wire);
  }
  if (op == CollectiveOp::kAllToAll)
    us += (g.ranks - 1) * (g.domains > 1 ? c.network("peer_us") : c.scaleup("peer_us"));
  if (choice.protocol == Protocol::kSimple && !message) {
    const auto b = static_cast<double>(out.busiest_bytes);
    const double fill =
        g.domains > 1 ? c.network("fill_us") : c.scaleup(in_switch(choice.algorithm) ? "nvls_fill_us" : "fill_us");
    us += fill * b / (b + 1e6 * (g.domains > 1 ? c.network("fill_mb") : c.scaleup("fill_mb")));
  }
  out.latency = core::Time::from_seconds(us * 1e-6);
  return out;
}

FlowOptions flow_options(const View& view, CollectiveOp op, const Choice& choice, const Geometry& g,
                         const device::Constants& constants) {
  const Lookup c = lookup(view, constants);
  const std::string p = suffix(choice.protocol);
  FlowOptions o;
  double base = c.scaleup(op == CollectiveOp::kSendRecv ? "base_p2p_us" : "base_" + p + "us");
  o.latency_inside = core::Time::from_seconds(c.scaleup("hop_" + p + "us") * 1e-6);
  o.efficiency_inside = c.scaleup("efficiency") * protocol_share(c, choice.protocol, false);
  if (g.domains > 1) {
    base += c.network("base_us");
    o.latency_between = core::Time::from_seconds(c.network("hop_" + p + "us") * 1e-6) + view.latency(g.reach);
    o.efficiency_between = c.network("efficiency") * protocol_share(c, choice.protocol, true);
    if (probe(view).nic_share > 1) o.efficiency_between *= c.network("shared_nic_share");
  }
  if (op == CollectiveOp::kAllToAll)
    base += (g.ranks - 1) * (g.domains > 1 ? c.network("peer_us") : c.scaleup("peer_us"));
  o.base = core::Time::from_seconds(base * 1e-6);
  std::int32_t channels = 1;  // of one lane: a message may use all, an all-to-all divides them over the peers
  if (op == CollectiveOp::kSendRecv) channels = choice.channels;
  if (op == CollectiveOp::kAllToAll && g.ranks > 1) channels = (choice.channels + g.ranks - 2) / (g.ranks - 1);
  o.rate_cap = to_rate(c.scaleup("channel_gbs") * 1e9 * channels);
  return o;
}

int ctas(const View&, CollectiveOp, const Choice& choice) { return choice.channels; }

}  // namespace twin::fabric
