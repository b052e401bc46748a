#include "sim/step/structure.hpp"
#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_map>
#include "sim/core/check.hpp"

namespace twin::step {
namespace {

using core::DeviceId;
using fabric::Algorithm;
using fabric::Geometry;

struct GeometryHash {
  std::size_t operator()(const Geometry& g) const {
    std::uint64_t h = 1469598103934665603ull;
    const auto mix = [&h](std::int64_t v) { h = (h ^ static_cast<std::uint64_t>(v)) * 1099511628211ull; };
    mix(g.ranks), mix(g.domains), mix(g.max_per_domain), mix(g.min_per_domain), mix(static_cast<int>(g.reach)),
        mix(g.scale);
    return h;
  }
};

class Builder {
 public:
  Builder(const Plan& plan, const topo::Cluster& cluster) : plan_(plan), cluster_(cluster) {}

  core::Result<Structure> build(const std::vector<work::Fault>& faults, const StructureOptions& options) {
    declare_kinds(options);
    auto& s = out_.system;
    const auto n = static_cast<std::size_t>(plan_.world);
    s.program.resize(n);
    s.speed.assign(n, 1 << 20);
    s.population.assign(n, 1);
    s.group_of.assign(n * static_cast<std::size_t>(s.memberships), -1);
    for (int r = 0; r < plan_.world; ++r) s.program[static_cast<std::size_t>(r)] = plan_.coordinates(r).p;
    for (const auto& f : faults) {
      if (f.kind != work::Fault::Kind::kSlow) continue;
      if (f.rank < 0 || f.rank >= plan_.world)
        return core::Error{
            core::ErrorCode::kRange, "faults.slow.rank",
            "expected a rank in 0.." + std::to_string(plan_.world - 1) + ", found " + std::to_string(f.rank), ""};
      auto& speed = s.speed[static_cast<std::size_t>(f.rank)];
      speed = static_cast<std::int32_t>(std::llround(speed * f.factor));
    }
    s.capacity.resize(static_cast<std::size_t>(cluster_.links()));
    for (int l = 0; l < cluster_.links(); ++l)
      s.capacity[static_cast<std::size_t>(l)] = cluster_.capacity(core::LinkId{l});
    s.load_start.push_back(0);
    s.slot_start.push_back(0);
    if (auto e = add_groups(); !e) return e.error();
    return std::move(out_);
  }

 private:
  int kind(const std::string& name, Algorithm algorithm, bool p2p) {
    auto& s = out_.system;
    s.kinds.push_back({.name = name, .algorithm = algorithm, .p2p = p2p, .phi = 1});
    s.membership_of_kind.push_back(s.memberships);
    s.memberships += p2p ? 2 : 1;
    return static_cast<int>(s.kinds.size()) - 1;
  }

  void declare_kinds(const StructureOptions& options) {
    auto& k = out_.kinds;
    if (plan_.tp > 1) k.tp = kind("tp", Algorithm::kRing, false);
    const bool hybrid = plan_.shard_size < plan_.data_ranks() && plan_.hybrid();
    if (plan_.data_ranks() > 1 && (!hybrid || plan_.shard_size > 1))
      k.data = kind(hybrid ? "dp shard" : "dp", Algorithm::kRing, false);
    if (hybrid) k.replica = kind("dp replica", Algorithm::kRing, false);
    if (plan_.pp > 1) {
      k.forward = kind("pp forward", Algorithm::kPairwise, true);
      k.backward = kind("pp backward", Algorithm::kPairwise, true);
      if (options.tied_embeddings) k.embedding = kind("embedding", Algorithm::kRing, false);
    }
    if (plan_.world > 1) k.world = kind("world", Algorithm::kTree, false);
  }

  // Enumerates the groups of a kind: every combination of the other axes.
  void each(bool t, bool d, bool p, const std::function<void(Coordinates)>& visit) const {
    for (int ip = 0; ip < (p ? plan_.pp : 1); ++ip)
      for (int id = 0; id < (d ? plan_.dp : 1); ++id)
        for (int it = 0; it < (t ? plan_.tp : 1); ++it) visit({.t = it, .c = 0, .d = id, .p = ip});
  }

  core::Result<void> add_groups() {
    const auto& k = out_.kinds;
    core::Result<void> status;
    std::vector<int> members;
    const auto emit = [&](int kind_index, bool loads) {
      if (status) status = add_group(kind_index, members, loads);
    };
    if (k.tp >= 0)
      each(false, true, true, [&](Coordinates x) {
        members.clear();
        for (x.t = 0; x.t < plan_.tp; ++x.t) members.push_back(plan_.rank(x));
        emit(k.tp, true);
      });
    const int shard = k.replica >= 0 ? plan_.shard_size : plan_.dp;
    if (k.data >= 0)
      each(true, false, true, [&](Coordinates x) {
        for (int first = 0; first < plan_.dp; first += shard) {
          members.clear();
          for (int i = 0; i < shard; ++i) members.push_back(plan_.rank({x.t, 0, first + i, x.p}));
          emit(k.data, true);
        }
      });
    if (k.replica >= 0)
      each(true, false, true, [&](Coordinates x) {
        for (int i = 0; i < shard; ++i) {
          members.clear();
          for (int d = i; d < plan_.dp; d += shard) members.push_back(plan_.rank({x.t, 0, d, x.p}));
          emit(k.replica, true);
        }
      });
    if (k.forward >= 0) add_pipeline(members, emit);
    if (k.embedding >= 0)
      each(true, true, false, [&](Coordinates x) {
        members = {plan_.rank({x.t, 0, x.d, 0}), plan_.rank({x.t, 0, x.d, plan_.pp - 1})};
        emit(k.embedding, true);
      });
    if (k.world >= 0) {
      members.resize(static_cast<std::size_t>(plan_.world));
      for (int r = 0; r < plan_.world; ++r) members[static_cast<std::size_t>(r)] = r;
      emit(k.world, false);
    }
    return status;
  }

  template <class Emit>
  void add_pipeline(std::vector<int>& members, const Emit& emit) {
    const int last = plan_.vpp > 1 ? plan_.pp : plan_.pp - 1;  // interleaving wraps from the last stage to the first
    for (int p = 0; p < last; ++p)
      each(true, true, false, [&](Coordinates x) {
        const int a = plan_.rank({x.t, 0, x.d, p}), b = plan_.rank({x.t, 0, x.d, (p + 1) % plan_.pp});
        members = {a, b};
        emit(out_.kinds.forward, true);
        members = {b, a};
        emit(out_.kinds.backward, true);
      });
  }

  core::Result<void> add_group(int kind_index, const std::vector<int>& members, bool with_loads) {
    auto& s = out_.system;
    const auto& kind = s.kinds[static_cast<std::size_t>(kind_index)];
    devices_.clear();
    for (int r : members) devices_.push_back(DeviceId{r});
    fabric::Pattern pattern;
    if (with_loads) {
      auto lowered = fabric::lower(cluster_, kind.algorithm, devices_);
      if (!lowered) return lowered.error();
      pattern = std::move(*lowered);
    } else {
      pattern.geometry = control_geometry(members);
    }
    const auto [it, fresh] =
        geometry_index_.try_emplace(pattern.geometry, static_cast<std::int32_t>(s.geometries.size()));
    if (fresh) s.geometries.push_back(pattern.geometry);
    const auto group = static_cast<std::int32_t>(s.group_kind.size());
    s.group_kind.push_back(kind_index);
    s.group_geometry.push_back(it->second);
    for (const auto& load : pattern.loads) {
      s.load_link.push_back(load.link.value);
      s.load_weight.push_back(load.units);
    }
    s.load_start.push_back(static_cast<std::int64_t>(s.load_link.size()));
    for (std::size_t i = 0; i < members.size(); ++i) {
      const auto role = static_cast<std::uint8_t>(kind.p2p ? i : 0);
      const auto rank = static_cast<std::size_t>(members[i]);
      const auto membership =
          static_cast<std::size_t>(s.membership_of_kind[static_cast<std::size_t>(kind_index)] + role);
      auto& cell = s.group_of[rank * static_cast<std::size_t>(s.memberships) + membership];
      TWIN_CHECK(cell < 0);
      cell = group;
      s.slots.push_back({.rank = members[i], .role = role, .count = 1});
    }
    s.slot_start.push_back(static_cast<std::int64_t>(s.slots.size()));
    return {};
  }

  // Control messages of a few bytes: latency counts, link loads do not.
  Geometry control_geometry(const std::vector<int>& members) const {
    Geometry g;
    g.ranks = static_cast<std::int32_t>(members.size());
    g.reach = cluster_.reach(DeviceId{members.front()}, DeviceId{members.back()});
    const int domain = cluster_.scaleup_domain_of(DeviceId{members.front()});
    std::int32_t in_first = 0;
    while (in_first < g.ranks &&
           cluster_.scaleup_domain_of(DeviceId{members[static_cast<std::size_t>(in_first)]}) == domain)
      ++in_first;
    g.max_per_domain = g.min_per_domain = in_first;
    g.domains = (g.ranks + in_first - 1) / in_first;
    return g;
  }

  const Plan& plan_;
  const topo::Cluster& cluster_;
  Structure out_;
  std::vector<DeviceId> devices_;
  std::unordered_map<Geometry, std::int32_t, GeometryHash> geometry_index_;
};

}  // namespace

core::Result<Structure> build_structure(const Plan& plan, const topo::Cluster& cluster,
                                        const std::vector<work::Fault>& faults, const StructureOptions& options) {
  return Builder(plan, cluster).build(faults, options);
}

}  // namespace twin::step
