#include "topologies/graph_cluster.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <mutex>
#include "sim/core/json_reader.hpp"
#include "topologies/catalog.hpp"
#include "topologies/graph.hpp"
#include "topologies/overrides.hpp"

namespace twin::topo {
namespace {

using core::Error;
using core::ErrorCode;
using core::JsonReader;
using core::Result;
using core::Time;
using fabric::Reach;

const std::vector<std::string> kKinds = {"gpu", "nvswitch", "nic", "leaf", "spine", "core", "host", "storage"};

struct Description {
  std::string where, name = "graph";
  device::Spec spec;
  double host_memory = 0;
  fabric::DomainFeatures features;
  std::vector<std::string> ids;  // by vertex
  std::map<std::string, int> number;
  std::vector<VertexKind> kind;
  std::vector<std::int32_t> gpu, node, domain;  // by device
  std::vector<RawEdge> edges;                   // edge i is link i
};

void read_vertices(JsonReader& r, Description& d) {
  for (auto& v : r.objects("vertices")) {
    std::string id;
    int kind = -1, node = 0, domain = -1;
    v.required("id", id).choice("kind", kind, kKinds);
    v.optional("node", node, 0, 1'000'000).optional("domain", domain, 0, 1'000'000);
    if (kind < 0) v.fail("kind", "expected gpu, nvswitch, nic, leaf, spine, core, host or storage, found none");
    if (!d.number.emplace(id, static_cast<int>(d.ids.size())).second)
      v.fail("id", "expected each id once, found \"" + id + "\" again");
    r.absorb(v);
    d.ids.push_back(id);
    d.kind.push_back(static_cast<VertexKind>(std::max(kind, 0)));
    if (kind != 0) continue;
    const int last = d.node.empty() ? -1 : d.node.back();
    if (node != last && node != last + 1) {
      v.fail("node", fmt::format("expected GPUs node by node ({} or {}), found {}", std::max(last, 0), last + 1, node));
      r.absorb(v);
    }
    d.gpu.push_back(static_cast<int>(d.ids.size()) - 1);
    d.node.push_back(node);
    d.domain.push_back(domain < 0 ? node : domain);
  }
}

int end_of(JsonReader& e, const std::string& key, const Description& d) {
  std::string id;
  e.required(key, id);
  auto found = d.number.find(id);
  if (found != d.number.end()) return found->second;
  const std::string close = core::nearest(id, d.ids);
  e.fail(key, "expected the id of a vertex, found \"" + id + "\"",
         close.empty() ? "" : "did you mean \"" + close + "\"?");
  return 0;
}

void read_edges(JsonReader& r, Description& d) {
  for (auto& e : r.objects("edges")) {
    double gbit = 0, us = 0;
    bool one_way = false;
    const int from = end_of(e, "from", d), to = end_of(e, "to", d);
    e.required("gbit_per_s", gbit, 1e-3, 1e6).optional("latency_us", us, 0, 1e6).optional("one_way", one_way);
    r.absorb(e);
    for (const auto& [a, b] : {std::pair(from, to), std::pair(to, from)}) {
      if (one_way && a != from) continue;
      const auto id = static_cast<std::int32_t>(d.edges.size());
      d.edges.push_back({a, b, {core::LinkId{id}, fabric::to_rate(gbit * 1e9 / 8), std::llround(us * 1e3)}});
    }
  }
}

Result<Description> read_description(const Request& q) {
  auto entry = resolve("clusters", q.graph, q.where + ".graph");
  if (!entry) return entry.error();
  Description d;
  d.where = entry->file;
  JsonReader r(entry->json, entry->file);
  for (const char* key : {"help", "source", "note"}) r.any(key);
  r.optional("name", d.name).optional("host_memory_bytes", d.host_memory, 0, 1e16);
  d.features.scaleout = "infiniband";
  r.optional("scaleout", d.features.scaleout).optional("sharp", d.features.sharp).optional("nvls", d.features.nvls);
  const auto* accelerator = r.any("accelerator");
  if (accelerator == nullptr) r.fail("accelerator", "expected the name of an accelerator or an object, found none");
  read_vertices(r, d);
  read_edges(r, d);
  if (d.gpu.empty()) r.fail("vertices", "expected at least one vertex of kind gpu, found none");
  if (auto done = r.finish(); !done) return done.error();
  auto device = resolve("accelerators", *accelerator, entry->file + ": accelerator");
  if (!device) return device.error();
  auto spec = parse_accelerator(device->json, device->file);
  if (!spec) return spec.error();
  d.spec = *spec;
  d.features.family = d.spec.family;
  if (!q.name.empty()) d.name = q.name;
  return d;
}

Result<void> override_spec(const Request& q, Description& d) {
  for (const auto& [name, value] : q.overrides)
    if (!name.starts_with("gpu."))
      return Error{ErrorCode::kUnsupported, q.where + ".override." + name,
                   "expected a constant \"gpu...\" for a cluster from a graph", "change the edges in the file"};
  NodeKind node;
  node.spec = d.spec;
  Fabric none;
  auto done = apply_overrides(q.overrides, q.where + ".override", node, none);
  d.spec = node.spec;
  return done;
}

Result<void> break_edges(Description& d, std::vector<LinkFault> faults) {
  std::sort(faults.begin(), faults.end(),
            [](const LinkFault& a, const LinkFault& b) { return a.capacity < b.capacity; });
  std::vector<double> factor(d.edges.size(), 1);
  const auto fits = [](const std::string& part, const std::string& id) { return part == "*" || part == id; };
  for (const auto& f : faults) {
    const std::string where = "faults: link \"" + f.match + "\"";
    const auto slash = f.match.find('/');
    const bool edge = f.match.starts_with("edge:") && slash != std::string::npos;
    if (!edge && f.match != "*")
      return Error{ErrorCode::kParse, where,
                   "expected edge:FROM/TO for a cluster from a graph, found \"" + f.match + "\"", ""};
    if (!(f.capacity >= 0 && f.capacity <= 1))
      return Error{ErrorCode::kRange, where, fmt::format("expected a capacity in 0..1, found {:g}", f.capacity), ""};
    const std::string a = edge ? f.match.substr(5, slash - 5) : "*", b = edge ? f.match.substr(slash + 1) : "*";
    bool any = false;
    for (std::size_t i = 0; i < d.edges.size(); ++i) {
      const auto &from = d.ids[static_cast<std::size_t>(d.edges[i].from)],
                 &to = d.ids[static_cast<std::size_t>(d.edges[i].to)];
      if (!(fits(a, from) && fits(b, to)) && !(fits(a, to) && fits(b, from))) continue;
      factor[i] *= f.capacity;
      any = true;
    }
    if (!any)
      return Error{ErrorCode::kNotFound, where, "expected a selector that matches a link, found one that matches none",
                   ""};
  }
  for (std::size_t i = 0; i < factor.size(); ++i) {
    auto& c = d.edges[i].edge.capacity;
    if (factor[i] == 0) c = 0;
    if (factor[i] > 0 && factor[i] < 1) c = std::max<std::int64_t>(1, std::llround(static_cast<double>(c) * factor[i]));
  }
  return {};
}

class GraphCluster final : public Cluster {
 public:
  explicit GraphCluster(Description d)
      : d_(std::move(d)), graph_(std::make_shared<const LinkGraph>(make_graph(d_.kind, d_.gpu, d_.edges))) {
    for (std::size_t first = 0; first < d_.node.size();) {
      std::size_t last = first;
      while (last < d_.node.size() && d_.node[last] == d_.node[first]) ++last;
      per_node_ = std::max(per_node_, static_cast<int>(last - first));
      first = last;
    }
    measure_latencies();
  }
  int devices() const override { return static_cast<int>(d_.gpu.size()); }
  int links() const override { return static_cast<int>(d_.edges.size()); }
  int nodes() const override { return d_.node.back() + 1; }
  std::int64_t capacity(core::LinkId l) const override { return d_.edges[l.index()].edge.capacity; }
  std::string link_name(core::LinkId l) const override {
    const auto& e = d_.edges[l.index()];
    return "edge:" + d_.ids[static_cast<std::size_t>(e.from)] + "/" + d_.ids[static_cast<std::size_t>(e.to)];
  }
  core::NodeId node_of(core::DeviceId d) const override { return {d_.node[d.index()]}; }
  int scaleup_domain_of(core::DeviceId d) const override { return d_.domain[d.index()]; }
  int rail_of(core::DeviceId d) const override {
    int rail = 0;
    while (d.value - rail > 0 && d_.node[d.index() - static_cast<std::size_t>(rail) - 1] == d_.node[d.index()]) ++rail;
    return rail;
  }
  Reach reach(core::DeviceId a, core::DeviceId b) const override {
    if (a == b) return Reach::kSelf;
    if (d_.domain[a.index()] == d_.domain[b.index()]) return Reach::kScaleUp;
    if (d_.node[a.index()] == d_.node[b.index()]) return Reach::kNode;
    Reach farthest = Reach::kLeaf;
    for (const auto l : path(a, b).links) {
      const auto kind = d_.kind[static_cast<std::size_t>(d_.edges[l.index()].from)];
      if (kind == VertexKind::kSpine) farthest = std::max(farthest, Reach::kPod);
      if (kind == VertexKind::kCore) farthest = Reach::kCore;
    }
    return farthest;
  }
  Time latency(Reach r) const override { return latency_[static_cast<std::size_t>(r)]; }
  bool route(core::DeviceId a, core::DeviceId b, std::int64_t units,
             std::vector<fabric::LinkLoad>& out) const override {
    if (a == b) return true;
    const Path p = path(a, b);
    for (const auto l : p.links) out.push_back({l, units});
    return p.found;
  }
  const fabric::DomainFeatures& features() const override { return d_.features; }
  const device::Spec& spec(core::DeviceId) const override { return d_.spec; }
  const std::string& name() const override { return d_.name; }
  int devices_per_node() const override { return per_node_; }
  double host_memory_bytes() const override { return d_.host_memory; }
  bool regular() const override { return false; }
  std::vector<std::string> assumed() const override { return {}; }
  std::shared_ptr<const LinkGraph> graph() const override { return graph_; }

 private:
  struct Path {
    bool found = false;
    std::vector<core::LinkId> links;
    std::int64_t ns = 0;
  };
  Path path(core::DeviceId a, core::DeviceId b) const {
    const std::lock_guard lock(mutex_);
    if (tree_of_ != a.value) {
      tree_ = std::make_unique<ShortestPaths>(*graph_, d_.gpu[a.index()]);
      tree_of_ = a.value;
    }
    const auto to = d_.gpu[b.index()];
    if (!tree_->reaches(to)) return {};
    return {true, tree_->links(to), tree_->latency_ns(to)};
  }
  // The longest of each reach, over at most 256 sources; a reach that does not occur takes the one below.
  void measure_latencies() {
    const int step = std::max(1, devices() / 256);
    for (int a = 0; a < devices(); a += step)
      for (int b = 0; b < devices(); ++b) {
        auto& longest = latency_[static_cast<std::size_t>(reach({a}, {b}))];
        if (a != b) longest = std::max(longest, Time::ns(path({a}, {b}).ns));
      }
    for (std::size_t r = 1; r < latency_.size(); ++r)
      if (latency_[r] == Time::zero()) latency_[r] = latency_[r - 1];
  }

  Description d_;
  std::shared_ptr<const LinkGraph> graph_;
  int per_node_ = 0;
  std::array<Time, 6> latency_{};
  mutable std::mutex mutex_;
  mutable std::unique_ptr<ShortestPaths> tree_;
  mutable int tree_of_ = -1;
};

}  // namespace

Result<std::unique_ptr<Cluster>> build_graph_cluster(const Request& request, const std::vector<LinkFault>& faults) {
  auto d = read_description(request);
  if (!d) return d.error();
  if (auto done = override_spec(request, *d); !done) return done.error();
  if (auto done = break_edges(*d, faults); !done) return done.error();
  return std::unique_ptr<Cluster>(std::make_unique<GraphCluster>(std::move(*d)));
}

}  // namespace twin::topo
