#include "sim/fabric/lanes.hpp"
#include <algorithm>
#include "sim/fabric/members.hpp"

namespace twin::fabric {
namespace {

struct Builder {
  LaneGraph graph;
  std::vector<std::pair<std::int32_t, std::int32_t>> edges;  // feeder, fed

  std::int32_t add(const Lane& lane) {
    graph.lanes.push_back(lane);
    return static_cast<std::int32_t>(graph.lanes.size()) - 1;
  }
  LaneGraph finish() {
    const std::size_t n = graph.lanes.size();
    graph.feed_begin.assign(n + 1, 0);
    for (const auto& [a, b] : edges) ++graph.feed_begin[static_cast<std::size_t>(a) + 1];
    for (std::size_t i = 0; i < n; ++i) graph.feed_begin[i + 1] += graph.feed_begin[i];
    graph.feeds.resize(edges.size());
    auto at = graph.feed_begin;
    for (const auto& [a, b] : edges) graph.feeds[static_cast<std::size_t>(at[static_cast<std::size_t>(a)]++)] = b;
    return std::move(graph);
  }
};

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Members of all domains in ring order, each domain rotated so that channel c enters at c mod k.
std::vector<core::DeviceId> ring_order(const Members& m, int channel) {
  std::vector<core::DeviceId> order;
  for (const auto& domain : m.domains)
    for (std::size_t j = 0; j < domain.size(); ++j)
      order.push_back(domain[(j + static_cast<std::size_t>(channel)) % domain.size()]);
  return order;
}

void add_ring(Builder& b, const Members& m, int channel, std::int64_t bytes, std::int32_t messages) {
  const auto order = ring_order(m, channel);
  const std::size_t n = order.size();
  const auto first = static_cast<std::int32_t>(b.graph.lanes.size());
  for (std::size_t i = 0; i < n; ++i) {
    b.add({order[i], {}, order[(i + 1) % n], bytes, messages, 0});
    b.edges.emplace_back(first + static_cast<std::int32_t>(i), first + static_cast<std::int32_t>((i + 1) % n));
  }
}

void add_chain(Builder& b, const Members& m, int channel, std::int64_t bytes, std::int32_t messages) {
  const auto order = ring_order(m, channel);
  std::int32_t last = -1;
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    const auto lane = b.add({order[i], {}, order[i + 1], bytes, messages, i == 0 ? 0 : 1});
    if (last >= 0) b.edges.emplace_back(last, lane);
    last = lane;
  }
}

// Rank-level tree: the heads of the domains form the double tree, the others of a domain hang below their head as a
// chain.
struct RankTree {
  std::vector<core::DeviceId> device;
  std::vector<int> parent;
};
RankTree rank_tree(const Members& m, int channel, int tree) {
  RankTree t;
  std::vector<int> head(m.domains.size());
  for (std::size_t d = 0; d < m.domains.size(); ++d) {
    const auto& domain = m.domains[d];
    head[d] = static_cast<int>(t.device.size());
    for (std::size_t j = 0; j < domain.size(); ++j) {
      t.device.push_back(domain[(j + static_cast<std::size_t>(channel)) % domain.size()]);
      t.parent.push_back(j == 0 ? -1 : static_cast<int>(t.device.size()) - 2);
    }
  }
  const int n = static_cast<int>(m.domains.size());
  for (int d = 0; d < n; ++d)
    if (const int up = dtree_parent(n, d, tree); up >= 0)
      t.parent[static_cast<std::size_t>(head[static_cast<std::size_t>(d)])] = head[static_cast<std::size_t>(up)];
  return t;
}

void add_tree(Builder& b, const Members& m, int channel, int tree, std::int64_t bytes, std::int32_t messages) {
  const RankTree t = rank_tree(m, channel, tree);
  const std::size_t n = t.device.size();
  std::vector<std::int32_t> up(n, -1), down(n, -1);
  std::vector<int> children(n, 0);
  for (std::size_t r = 0; r < n; ++r)
    if (t.parent[r] >= 0) ++children[static_cast<std::size_t>(t.parent[r])];
  for (std::size_t r = 0; r < n; ++r) {
    if (t.parent[r] < 0) continue;
    const auto p = static_cast<std::size_t>(t.parent[r]);
    up[r] = b.add({t.device[r], {}, t.device[p], bytes, messages, children[r] > 0 ? 1 : 0});
    down[r] = b.add({t.device[p], {}, t.device[r], bytes, messages, 1});
  }
  for (std::size_t r = 0; r < n; ++r) {
    int depth = 0;
    for (int at = static_cast<int>(r); t.parent[static_cast<std::size_t>(at)] >= 0;
         at = t.parent[static_cast<std::size_t>(at)])
      ++depth;
    b.graph.depth = std::max(b.graph.depth, 2 * depth);
    if (t.parent[r] < 0) continue;
    const auto p = static_cast<std::size_t>(t.parent[r]);
    if (t.parent[p] >= 0) {
      b.edges.emplace_back(up[r], up[p]);
      b.edges.emplace_back(down[p], down[r]);
      continue;
    }
    for (std::size_t c = 0; c < n; ++c)  // the root turns round when all of its children have sent
      if (t.parent[c] == static_cast<int>(p)) b.edges.emplace_back(up[c], down[r]);
  }
}

void add_pairs(Builder& b, const Members& m, std::int64_t bytes) {
  for (std::size_t d = 0; d < m.domains.size(); ++d)
    for (const core::DeviceId from : m.domains[d])
      for (std::size_t e = 0; e < m.domains.size(); ++e)
        for (std::size_t j = 0; j < m.size(e); ++j) {
          const core::DeviceId to = m.domains[e][j];
          if (to == from) continue;
          const core::DeviceId proxy = m.domains[d][j % m.size(d)];
          b.add({from, e == d || proxy == from ? core::DeviceId{} : proxy, to, bytes, 1, 0});
        }
}

}  // namespace

core::Result<LaneGraph> expand(const View& view, CollectiveOp op, std::int64_t bytes,
                               std::span<const core::DeviceId> members, const Choice& choice,
                               const FlowOptions& options) {
  const Members m = group_by_domain(view, members);
  const std::int64_t n = m.ranks, channels = std::max(1, choice.channels);
  Builder b;
  if (n < 2) return b.finish();
  if (op == CollectiveOp::kSendRecv) {
    b.add({members[0], {}, members[1], bytes, 1, 0});
    return b.finish();
  }
  if (op == CollectiveOp::kAllToAll) {
    add_pairs(b, m, divide_up(bytes, n));
    return b.finish();
  }
  if (choice.algorithm != Algorithm::kRing && choice.algorithm != Algorithm::kTree)
    return core::Error{core::ErrorCode::kUnsupported, "--network",
                       std::string("flows cannot expand ") + name(choice.algorithm) + ", which reduces in the switch",
                       "ring, tree and pairwise have point-to-point messages; use --network fluid"};
  const bool tree = choice.algorithm == Algorithm::kTree && op == CollectiveOp::kAllReduce;
  const bool chunked = tree || op == CollectiveOp::kBroadcast;
  const std::int64_t share = divide_up(bytes, channels * (tree ? 2 : 1));
  const std::int64_t chunks = chunked ? divide_up(share, std::max<std::int64_t>(1, options.chunk_bytes)) : n;
  const std::int64_t message = divide_up(share, chunks);
  b.graph.chunk_bytes = message;
  const auto steps = static_cast<std::int32_t>(chunked ? chunks : (op == CollectiveOp::kAllReduce ? 2 : 1) * (n - 1));
  for (int c = 0; c < channels; ++c) {
    if (tree)
      for (int t = 0; t < 2; ++t) add_tree(b, m, c, t, message, steps);
    else if (op == CollectiveOp::kBroadcast)
      add_chain(b, m, c, message, steps);
    else
      add_ring(b, m, c, message, steps);
  }
  return b.finish();
}

}  // namespace twin::fabric
