// Routes of a regular cluster, and which links they leave out because these can never bind.
// Even split: every path that is alive on both sides carries the same integer share, round(units / paths).
#include <algorithm>
#include "topologies/regular.hpp"

namespace twin::topo {
namespace {

using fabric::LinkLoad;

std::uint64_t mix(std::uint64_t x) {  // SplitMix64's finaliser
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::int64_t share(std::int64_t units, std::int64_t parts) { return (units + parts / 2) / parts; }

}  // namespace

bool Regular::route(core::DeviceId a, core::DeviceId b, std::int64_t units, std::vector<LinkLoad>& out) const {
  if (a == b) return true;
  if (scaleup_domain_of(a) == scaleup_domain_of(b)) {
    const int egress = at_.egress + a.value, ingress = at_.ingress + b.value;
    if (!healthy_ && (!alive(egress) || !alive(ingress))) return false;
    load(egress, units, out);
    load(ingress, units, out);
    return true;
  }
  const int na = nic_of(a.value), nb = nic_of(b.value);
  if (na < 0 || nb < 0) return false;
  const std::size_t before = out.size();
  load(at_.tx + na, units, out);
  const int from = leaf_of_nic(group_of(a.value), na), to = leaf_of_nic(group_of(b.value), nb);
  const auto pair = (static_cast<std::uint64_t>(a.value) << 32) | static_cast<std::uint32_t>(b.value);
  if (!climb(from, to, units, fabric_.ecmp ? mix(pair + 0x9e3779b97f4a7c15ULL) : 0, out)) {
    out.resize(before);
    return false;
  }
  load(at_.rx + nb, units, out);
  return true;
}

bool Regular::climb(int from, int to, std::int64_t units, std::uint64_t hash, std::vector<LinkLoad>& out) const {
  if (from == to || at_.spines == 0) return true;
  if (pod_of_leaf(from) == pod_of_leaf(to)) return over_spines(from, to, units, hash, out);
  return over_cores(from, to, units, hash, out);
}

int Regular::alive_spines(int from, int to) const {
  int n = 0;
  for (int s = 0; s < at_.spines; ++s)
    n += alive(at_.up + from * at_.spines + s) && alive(at_.down + to * at_.spines + s);
  return n;
}

bool Regular::over_spines(int from, int to, std::int64_t units, std::uint64_t hash, std::vector<LinkLoad>& out) const {
  const bool up = keep_up_[static_cast<std::size_t>(from)] != 0, down = keep_down_[static_cast<std::size_t>(to)] != 0;
  if (!dead_ && !up && !down) return true;
  const int n = dead_ ? alive_spines(from, to) : at_.spines;
  if (n == 0) return false;
  const int chosen = fabric_.ecmp ? static_cast<int>(hash % static_cast<std::uint64_t>(n)) : -1;
  const std::int64_t each = fabric_.ecmp ? units : share(units, n);
  for (int s = 0, i = 0; s < at_.spines; ++s) {
    const int u = at_.up + from * at_.spines + s, d = at_.down + to * at_.spines + s;
    if (dead_ && (!alive(u) || !alive(d))) continue;
    if (i++ != chosen && chosen >= 0) continue;
    if (up) load(u, each, out);
    if (down) load(d, each, out);
  }
  return true;
}

// Each switch splits evenly over the next hops that lead to the destination, as ECMP with withdrawn routes does.
bool Regular::over_cores(int from, int to, std::int64_t units, std::uint64_t hash, std::vector<LinkLoad>& out) const {
  const int p = pod_of_leaf(from), q = pod_of_leaf(to);
  const bool up = keep_up_[static_cast<std::size_t>(from)] != 0, down = keep_down_[static_cast<std::size_t>(to)] != 0;
  const bool out_of = keep_agg_up_[static_cast<std::size_t>(p)] != 0,
             into = keep_agg_down_[static_cast<std::size_t>(q)] != 0;
  if (!dead_ && !up && !down && !out_of && !into) return true;
  const auto core_up = [&](int s, int c) { return at_.agg_up + (p * at_.spines + s) * at_.cores + c; };
  const auto core_down = [&](int s, int c) { return at_.agg_down + (q * at_.spines + s) * at_.cores + c; };
  const auto open = [&](int s, int c) { return !dead_ || (alive(core_up(s, c)) && alive(core_down(s, c))); };
  const auto cores = [&](int s) {  // ways on from aggregation switch s
    if (!dead_) return at_.cores;
    if (!alive(at_.up + from * at_.spines + s) || !alive(at_.down + to * at_.spines + s)) return 0;
    int n = 0;
    for (int c = 0; c < at_.cores; ++c) n += open(s, c);
    return n;
  };
  int n = 0;
  for (int s = 0; s < at_.spines; ++s) n += cores(s) > 0;
  if (n == 0) return false;
  const int chosen = fabric_.ecmp ? static_cast<int>(hash % static_cast<std::uint64_t>(n)) : -1;
  for (int s = 0, i = 0; s < at_.spines; ++s) {
    const int m = cores(s);
    if (m == 0 || (i++ != chosen && chosen >= 0)) continue;
    const std::int64_t each = fabric_.ecmp ? units : share(units, n);
    const std::int64_t each_core = fabric_.ecmp ? units : share(units, std::int64_t{n} * m);
    const int chosen_core = fabric_.ecmp ? static_cast<int>((hash >> 32) % static_cast<std::uint64_t>(m)) : -1;
    if (up) load(at_.up + from * at_.spines + s, each, out);
    for (int c = 0, k = 0; c < at_.cores && (out_of || into); ++c) {
      if (!open(s, c) || (k++ != chosen_core && chosen_core >= 0)) continue;
      if (out_of) load(core_up(s, c), each_core, out);
      if (into) load(core_down(s, c), each_core, out);
    }
    if (down) load(at_.down + to * at_.spines + s, each, out);
  }
  return true;
}

// A node whose NIC is down sends over the next NIC of the node that is up, as NCCL does when it finds ports at start.
void Regular::find_detours() {
  if (std::all_of(capacity_.begin() + at_.tx, capacity_.begin() + at_.up, [](std::int64_t c) { return c > 0; })) return;
  std::vector<int> in_use(static_cast<std::size_t>(at_.devices));
  for (const auto& g : groups_)
    for (int i = 0; i < g.nodes * g.kind.per_node; ++i) {
      const int first = nic_of(g.first_device + i), node_first = first - (first - g.first_nic) % g.bundles;
      int found = -1;
      for (int k = 0; k < g.bundles && found < 0; ++k) {
        const int nic = node_first + (first - node_first + k) % g.bundles;
        if (alive(at_.tx + nic) && alive(at_.rx + nic)) found = nic;
      }
      in_use[static_cast<std::size_t>(g.first_device + i)] = found;
    }
  nic_in_use_ = std::move(in_use);
}

// Nominal capacities, in rate units, of the NICs that a leaf really has.
std::vector<double> Regular::leaf_sums() const {
  std::vector<double> sums(static_cast<std::size_t>(at_.leaves), 0);
  for (const auto& g : groups_) {
    const auto each = static_cast<double>(fabric::to_rate(g.kind.nic_bytes_per_s));
    for (int nic = g.first_nic; nic < g.first_nic + g.nodes * g.bundles; ++nic)
      sums[static_cast<std::size_t>(leaf_of_nic(g, nic))] += each;
  }
  return sums;
}

// Largest share of a leaf's traffic on one spine is 1 over this: the fewest spines that it has in common with a leaf.
std::vector<int> Regular::fewest_paths(bool up) const {
  std::vector<int> fewest(static_cast<std::size_t>(at_.leaves), fabric_.ecmp ? 1 : at_.spines);
  if (fabric_.ecmp || !dead_) return fewest;
  if (at_.cores > 0) return std::vector<int>(static_cast<std::size_t>(at_.leaves), 1);
  std::vector<int> broken;  // leaves with a dead link; towards any other leaf only the own ones count
  for (int leaf = 0; leaf < at_.leaves; ++leaf) {
    bool whole = true;
    for (int s = 0; s < at_.spines; ++s)
      whole = whole && alive(at_.up + leaf * at_.spines + s) && alive(at_.down + leaf * at_.spines + s);
    if (!whole) broken.push_back(leaf);
  }
  for (int leaf = 0; leaf < at_.leaves; ++leaf)
    for (std::size_t i = 0; i <= broken.size(); ++i) {
      const int other = i < broken.size() ? broken[i] : leaf;
      const int n = up ? alive_spines(leaf, other) : alive_spines(other, leaf);
      if (n > 0) fewest[static_cast<std::size_t>(leaf)] = std::min(fewest[static_cast<std::size_t>(leaf)], n);
    }
  return fewest;
}

// Links above switch `index` of a tier: kept in routes when one of those in use could bind.
bool Regular::may_bind(int first, int count, double below, double parts) const {
  for (int i = 0; i < count; ++i) {
    const auto c = static_cast<double>(capacity_[static_cast<std::size_t>(first + i)]);
    if (c > 0 && (c + 1) * parts < below) return true;  // + 1: capacities are rounded
  }
  return false;
}

void Regular::prune() {
  const char all = fabric_.keep_unbindable ? 1 : 0;
  const auto leaves = static_cast<std::size_t>(at_.leaves), pods = static_cast<std::size_t>(at_.pods);
  keep_up_.assign(leaves, all);
  keep_down_.assign(leaves, all);
  keep_agg_up_.assign(pods, all);
  keep_agg_down_.assign(pods, all);
  dead_ = std::any_of(capacity_.begin() + at_.up, capacity_.end(), [](std::int64_t c) { return c == 0; });
  if (fabric_.keep_unbindable || at_.spines == 0) return;
  const auto sums = leaf_sums();
  const auto up = fewest_paths(true), down = fewest_paths(false);
  std::vector<double> pod_sums(pods, 0);
  for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
    const int first = static_cast<int>(leaf) * at_.spines;
    keep_up_[leaf] = may_bind(at_.up + first, at_.spines, sums[leaf], up[leaf]);
    keep_down_[leaf] = may_bind(at_.down + first, at_.spines, sums[leaf], down[leaf]);
    pod_sums[static_cast<std::size_t>(pod_of_leaf(static_cast<int>(leaf)))] += sums[leaf];
  }
  const int per_pod = at_.spines * at_.cores;
  for (std::size_t pod = 0; at_.cores > 0 && pod < pods; ++pod) {
    const double parts = fabric_.ecmp || dead_ ? 1 : per_pod;
    const int first = static_cast<int>(pod) * per_pod;
    keep_agg_up_[pod] = may_bind(at_.agg_up + first, per_pod, pod_sums[pod], parts);
    keep_agg_down_[pod] = may_bind(at_.agg_down + first, per_pod, pod_sums[pod], parts);
  }
}

}  // namespace twin::topo
