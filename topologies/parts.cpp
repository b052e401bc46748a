// Readers of the catalog's accelerators, nodes and fabrics. Every number is range-checked; unknown keys are errors.
#include "topologies/parts.hpp"
#include "sim/core/json_reader.hpp"
#include "topologies/catalog.hpp"
#include "topologies/cluster.hpp"

namespace twin::topo {
namespace {

using core::JsonReader;
using core::Result;

constexpr double kMaxRate = 1e14;  // bytes/s; keeps the fixed-point rate in range
const char* const kDtypes[] = {"fp32", "tf32", "bf16", "fp16", "fp8", "fp4"};

void read_dtypes(JsonReader& r, const std::string& key, std::array<double, 6>& out) {
  auto sub = r.object(key);
  if (!sub) return;
  for (std::size_t i = 0; i < out.size(); ++i) sub->optional(kDtypes[i], out[i], 0, 1e6);
  r.absorb(*sub);
}

// Keys that document an entry and that the simulator does not use.
void read_documentation(JsonReader& r) {
  for (const char* key : {"name", "aliases", "vendor", "sources", "note", "help"}) r.any(key);
}

void read_scaleup(JsonReader& r, NodeKind& node) {
  auto s = r.object("scaleup");
  if (!s) return;
  const std::vector<std::string> kinds = {"nvswitch", "nvlink-mesh", "xgmi-mesh", "pcie", "ethernet", "ici"};
  int kind = 0;
  s->choice("kind", kind, kinds);
  node.scaleup_kind = kinds[static_cast<std::size_t>(kind)];
  double us = 0.5;
  s->optional("bandwidth", node.scaleup_bytes_per_s, 1e6, kMaxRate).optional("latency_us", us, 0, 1e6);
  s->optional("domain_nodes", node.domain_nodes, 1, 100000).optional("nvls", node.nvls);
  node.scaleup_latency_s = us * 1e-6;
  r.absorb(*s);
}

void read_nics(JsonReader& r, NodeKind& node) {
  auto s = r.object("nics");
  if (!s) return;
  const std::vector<std::string> kinds = {"infiniband", "roce", "efa", "slingshot", "omnipath", "ethernet", "ici"};
  int kind = 0;
  double us = 1.5, gbit = 0;
  s->required("count", node.nics, 1, 1024).required("gbit_per_s", gbit, 0.001, 1e5);
  s->choice("kind", kind, kinds).optional("latency_us", us, 0, 1e6);
  node.nic_kind = kinds[static_cast<std::size_t>(kind)];
  node.nic_bytes_per_s = gbit * 1e9 / 8;
  node.nic_latency_s = us * 1e-6;
  r.absorb(*s);
}

}  // namespace

// Cut-through switch, port to port: InfiniBand QM8700/QM9700 90-130 ns, Omni-Path 100-110 ns, Slingshot (Rosetta) 350
// ns (vendors' data sheets; De Sensi et al. 2020), Ethernet (Tomahawk class with RoCE buffers, also assumed for EFA)
// 700 ns.
double switch_latency_s(const std::string& scaleout) {
  if (scaleout == "infiniband") return 130e-9;
  if (scaleout == "omnipath") return 110e-9;
  if (scaleout == "slingshot") return 350e-9;
  return 700e-9;
}

Result<device::Spec> parse_accelerator(const nlohmann::json& object, const std::string& where) {
  JsonReader r(object, where);
  device::Spec spec;
  r.required("name", spec.name).required("family", spec.family).optional("source", spec.source);
  read_dtypes(r, "peak_tflops", spec.peak_tflops);
  read_dtypes(r, "mamf_tflops", spec.mamf_tflops);
  r.required("hbm_bytes", spec.hbm_bytes, 1e6, 1e15).required("usable_bytes", spec.usable_bytes, 1e6, 1e15);
  r.required("hbm_bytes_per_s", spec.hbm_bytes_per_s, 1e6, 1e16);
  r.optional("hbm_stream_bytes_per_s", spec.hbm_stream_bytes_per_s, 0, 1e16)
      .optional("l2_bytes", spec.l2_bytes, 0, 1e12);
  r.required("sms", spec.sms, 1, 100000).optional("tdp_w", spec.tdp_w, 0, 1e5).optional("idle_w", spec.idle_w, 0, 1e5);
  r.optional("scaleup_bytes_per_s", spec.scaleup_bytes_per_s, 0, kMaxRate);
  read_documentation(r);
  if (auto done = r.finish(); !done) return done.error();
  return spec;
}

Result<device::Spec> find_accelerator(const std::string& name) {
  auto entry = resolve("accelerators", nlohmann::json(name), "accelerator");
  if (!entry) return entry.error();
  return parse_accelerator(entry->json, entry->file);
}

Result<NodeKind> read_node(const nlohmann::json& reference, const std::string& where) {
  auto entry = resolve("nodes", reference, where);
  if (!entry) return entry.error();
  JsonReader r(entry->json, entry->file);
  NodeKind node;
  node.name = entry->name;
  std::string source;
  r.required("per_node", node.per_node, 1, 1024).optional("unit_nodes", node.unit_nodes, 1, 100000);
  r.optional("pcie_bytes_per_s", node.pcie_bytes_per_s, 0, kMaxRate);
  r.optional("host_memory_bytes", node.host_memory_bytes, 0, 1e16).optional("cpu", node.cpu).optional("source", source);
  read_scaleup(r, node);
  read_nics(r, node);
  if (const auto* fabric = r.any("fabric")) node.fabric = *fabric;
  const auto* accelerator = r.any("accelerator");
  if (accelerator == nullptr) r.fail("accelerator", "expected the name of an accelerator or an object, found none");
  read_documentation(r);
  if (auto done = r.finish(); !done) return done.error();
  auto device = resolve("accelerators", *accelerator, entry->file + ": accelerator");
  if (!device) return device.error();
  auto spec = parse_accelerator(device->json, device->file);
  if (!spec) return spec.error();
  node.spec = *spec;
  if (node.scaleup_bytes_per_s <= 0) node.scaleup_bytes_per_s = node.spec.scaleup_bytes_per_s;
  if (node.scaleup_bytes_per_s <= 0) node.scaleup_bytes_per_s = node.pcie_bytes_per_s;
  if (node.scaleup_bytes_per_s <= 0)
    return core::Error{core::ErrorCode::kRange, entry->file + ": scaleup.bandwidth",
                       "expected bytes/s (the accelerator states none), found none", ""};
  if (node.nic_bytes_per_s <= 0)
    return core::Error{core::ErrorCode::kRange, entry->file + ": nics",
                       "expected {count, gbit_per_s, kind}, found none", ""};
  return node;
}

Result<Fabric> read_fabric(const nlohmann::json& reference, const std::string& where) {
  auto entry = resolve("fabrics", reference, where);
  if (!entry) return entry.error();
  JsonReader r(entry->json, entry->file);
  Fabric f;
  f.name = entry->name;
  const std::vector<std::string> types = {"single-switch", "rail-optimized", "leaf-spine", "fat-tree-3", "torus-3d"};
  int type = -1, attach = -1, routing = 0;
  std::string source;
  r.choice("type", type, types).choice("attach", attach, {"node", "rail"}).choice("routing", routing, {"even", "ecmp"});
  r.optional("nodes_per_leaf", f.nodes_per_leaf, 1, 200000).optional("spines", f.spines, 1, 4096);
  r.optional("leaf_groups_per_pod", f.leaf_groups_per_pod, 1, 100000);
  r.optional("cores_per_spine", f.cores_per_spine, 1, 4096);
  r.optional("leaf_oversubscription", f.leaf_oversubscription, 0.01, 1000);
  r.optional("agg_oversubscription", f.agg_oversubscription, 0.01, 1000);
  double switch_us = -1, edge_ns = 50, trunk_ns = 150, core_ns = 500;
  r.optional("switch_latency_us", switch_us, 0, 1e6).optional("edge_wire_ns", edge_ns, 0, 1e9);
  r.optional("trunk_wire_ns", trunk_ns, 0, 1e9).optional("core_wire_ns", core_ns, 0, 1e9);
  r.optional("scaleout", f.scaleout).optional("sharp", f.sharp).optional("keep_unbindable", f.keep_unbindable);
  r.optional("source", source);
  read_documentation(r);
  if (type < 0) r.fail("type", "expected single-switch, rail-optimized, leaf-spine or fat-tree-3, found none");
  if (auto done = r.finish(); !done) return done.error();
  f.type = static_cast<FabricType>(type);
  f.rail = attach >= 0 ? attach == 1 : f.type == FabricType::kRailOptimized;
  f.ecmp = routing == 1;
  f.switch_latency_s = switch_us < 0 ? -1 : switch_us * 1e-6;
  f.edge_wire_s = edge_ns * 1e-9;
  f.trunk_wire_s = trunk_ns * 1e-9;
  f.core_wire_s = core_ns * 1e-9;
  if (f.type == FabricType::kFatTree3 && (f.leaf_groups_per_pod < 1 || f.cores_per_spine < 1))
    return core::Error{core::ErrorCode::kRange, entry->file,
                       "a fat-tree-3 needs leaf_groups_per_pod and cores_per_spine", ""};
  return f;
}

}  // namespace twin::topo
