#include "topologies/overrides.hpp"
#include <fmt/format.h>
#include <charconv>
#include <cmath>
#include "sim/core/json_reader.hpp"

namespace twin::topo {
namespace {

using core::Error;
using core::ErrorCode;
using core::Result;
using device::Dtype;

struct Target {
  NodeKind& node;
  Fabric& fabric;
};
using Get = double (*)(const Target&);
using Set = void (*)(Target&, double);

struct Row {
  const char* name;
  const char* unit;  // of a plain number: byte/s, s, TFLOP/s, byte, W, count, ratio, flag
  double min, max;
  Get get;
  Set set;
  const char* help;
};

template <Dtype D>
Row peak(const char* name) {
  constexpr auto i = static_cast<std::size_t>(D);
  return {name,
          "TFLOP/s",
          0.001,
          1e6,
          [](const Target& t) { return t.node.spec.peak_tflops[i]; },
          [](Target& t, double v) {
            auto& s = t.node.spec;
            if (s.peak_tflops[i] > 0) s.mamf_tflops[i] *= v / s.peak_tflops[i];
            s.peak_tflops[i] = v;
          },
          "dense peak of a dtype; the achievable rate follows in proportion"};
}

template <Dtype D>
Row mamf(const char* name) {
  constexpr auto i = static_cast<std::size_t>(D);
  return {name,
          "TFLOP/s",
          0.001,
          1e6,
          [](const Target& t) { return t.node.spec.mamf_tflops[i]; },
          [](Target& t, double v) { t.node.spec.mamf_tflops[i] = v; },
          "best achievable matmul rate of a dtype"};
}

void set_hbm_bandwidth(Target& t, double v) {
  auto& s = t.node.spec;
  s.hbm_stream_bytes_per_s *= v / s.hbm_bytes_per_s;
  s.hbm_bytes_per_s = v;
}

void set_hbm_capacity(Target& t, double v) {
  auto& s = t.node.spec;
  s.usable_bytes *= v / s.hbm_bytes;
  s.hbm_bytes = v;
}

#define TWIN_FIELD(expression)                                       \
  [](const Target& t) { return static_cast<double>(t.expression); }, \
      [](Target& t, double v) { t.expression = static_cast<decltype(t.expression)>(v); }

const std::vector<Row>& table() {
  static const std::vector<Row> rows = {
      {"nic.bandwidth", "byte/s", 1e6, 1e14, TWIN_FIELD(node.nic_bytes_per_s), "each NIC, per direction"},
      {"nic.latency", "s", 0, 1, TWIN_FIELD(node.nic_latency_s), "both ends of a message: PCIe, NIC"},
      {"nic.count", "count", 1, 1024, TWIN_FIELD(node.nics), "NICs of a node"},
      {"nvlink.bandwidth", "byte/s", 1e6, 1e14, TWIN_FIELD(node.scaleup_bytes_per_s),
       "scale-up, per device and direction"},
      {"nvlink.latency", "s", 0, 1, TWIN_FIELD(node.scaleup_latency_s), "scale-up, device to device"},
      {"nvlink.domain", "count", 1, 1e5, TWIN_FIELD(node.domain_nodes), "nodes in a scale-up domain"},
      {"nvlink.sharp", "flag", 0, 1, TWIN_FIELD(node.nvls), "1: in-switch reduction (NVLS)"},
      peak<Dtype::kFp32>("gpu.peak.fp32"),
      peak<Dtype::kTf32>("gpu.peak.tf32"),
      peak<Dtype::kBf16>("gpu.peak.bf16"),
      peak<Dtype::kFp16>("gpu.peak.fp16"),
      peak<Dtype::kFp8>("gpu.peak.fp8"),
      peak<Dtype::kFp4>("gpu.peak.fp4"),
      mamf<Dtype::kFp32>("gpu.mamf.fp32"),
      mamf<Dtype::kTf32>("gpu.mamf.tf32"),
      mamf<Dtype::kBf16>("gpu.mamf.bf16"),
      mamf<Dtype::kFp16>("gpu.mamf.fp16"),
      mamf<Dtype::kFp8>("gpu.mamf.fp8"),
      mamf<Dtype::kFp4>("gpu.mamf.fp4"),
      {"gpu.hbm.bandwidth", "byte/s", 1e6, 1e16, [](const Target& t) { return t.node.spec.hbm_bytes_per_s; },
       set_hbm_bandwidth, "data sheet rate; the stream rate follows in proportion"},
      {"gpu.hbm.stream", "byte/s", 1e6, 1e16, TWIN_FIELD(node.spec.hbm_stream_bytes_per_s), "measured stream rate"},
      {"gpu.hbm.capacity", "byte", 1e6, 1e15, [](const Target& t) { return t.node.spec.hbm_bytes; }, set_hbm_capacity,
       "memory; the usable part follows in proportion"},
      {"gpu.hbm.usable", "byte", 1e6, 1e15, TWIN_FIELD(node.spec.usable_bytes), "what the runtime can allocate"},
      {"gpu.l2", "byte", 0, 1e12, TWIN_FIELD(node.spec.l2_bytes), "last-level cache"},
      {"gpu.sms", "count", 1, 1e5, TWIN_FIELD(node.spec.sms), "SMs or compute units"},
      {"gpu.tdp", "W", 1, 1e5, TWIN_FIELD(node.spec.tdp_w), "power limit"},
      {"gpu.idle", "W", 0, 1e5, TWIN_FIELD(node.spec.idle_w), "idle power"},
      {"host.memory", "byte", 0, 1e16, TWIN_FIELD(node.host_memory_bytes), "of a node"},
      {"pcie.bandwidth", "byte/s", 1e6, 1e14, TWIN_FIELD(node.pcie_bytes_per_s), "device to host, per direction"},
      {"leaf.oversubscription", "ratio", 0.01, 1000, TWIN_FIELD(fabric.leaf_oversubscription),
       "NICs over uplinks of a leaf"},
      {"leaf.nodes", "count", 1, 2e5, TWIN_FIELD(fabric.nodes_per_leaf),
       "nodes on a leaf (rail: on a set of rail leaves)"},
      {"spine.count", "count", 1, 4096, TWIN_FIELD(fabric.spines),
       "spines; three tiers: aggregation switches of a pod"},
      {"agg.oversubscription", "ratio", 0.01, 1000, TWIN_FIELD(fabric.agg_oversubscription),
       "three tiers: above a pod"},
      {"agg.uplinks", "count", 1, 4096, TWIN_FIELD(fabric.cores_per_spine), "core uplinks of an aggregation switch"},
      {"pod.leaves", "count", 1, 1e5, TWIN_FIELD(fabric.leaf_groups_per_pod),
       "three tiers: leaves (sets of rail leaves) of a pod"},
      {"switch.latency", "s", 0, 1, TWIN_FIELD(fabric.switch_latency_s), "one switch, port to port"},
      {"fabric.sharp", "flag", 0, 1, TWIN_FIELD(fabric.sharp), "1: in-network reduction (SHARP)"},
  };
  return rows;
}

struct Unit {
  const char* suffix;
  const char* kind;
  double scale;
};
constexpr Unit kUnits[] = {
    {"Gb/s", "byte/s", 1e9 / 8},
    {"Gbit/s", "byte/s", 1e9 / 8},
    {"Gbps", "byte/s", 1e9 / 8},
    {"Tb/s", "byte/s", 1e12 / 8},
    {"Mb/s", "byte/s", 1e6 / 8},
    {"B/s", "byte/s", 1},
    {"MB/s", "byte/s", 1e6},
    {"GB/s", "byte/s", 1e9},
    {"TB/s", "byte/s", 1e12},
    {"GiB/s", "byte/s", 1073741824.0},
    {"s", "s", 1},
    {"ms", "s", 1e-3},
    {"us", "s", 1e-6},
    {"ns", "s", 1e-9},
    {"TFLOP/s", "TFLOP/s", 1},
    {"TFLOPS", "TFLOP/s", 1},
    {"PFLOP/s", "TFLOP/s", 1e3},
    {"B", "byte", 1},
    {"KiB", "byte", 1024},
    {"MiB", "byte", 1048576},
    {"GiB", "byte", 1073741824.0},
    {"TiB", "byte", 1099511627776.0},
    {"MB", "byte", 1e6},
    {"GB", "byte", 1e9},
    {"TB", "byte", 1e12},
    {"W", "W", 1},
    {"kW", "W", 1e3},
};

std::string units_of(const std::string& kind) {
  std::string text;
  for (const auto& u : kUnits)
    if (kind == u.kind) text += (text.empty() ? "" : ", ") + std::string(u.suffix);
  return text;
}

// "x2" multiplies; a suffix of the right kind scales; true and false are flags.
Result<double> value_of(const Row& row, const std::string& text, double now, const std::string& where) {
  const std::string range = fmt::format("{:g}..{:g} {}", row.min, row.max, row.unit);
  const auto wrong = [&](ErrorCode code, const std::string& found) {
    const std::string units = units_of(row.unit);
    return Error{code, where, "expected \"xFACTOR\" or " + range + ", found " + found,
                 units.empty() ? "" : "units: " + units};
  };
  if (text == "true" || text == "false") {
    if (std::string(row.unit) != "flag") return wrong(ErrorCode::kType, text);
    return text == "true" ? 1.0 : 0.0;
  }
  const bool factor = text.size() > 1 && text[0] == 'x';
  const char* begin = text.data() + (factor ? 1 : 0);
  const char* end = text.data() + text.size();
  double v = 0;
  auto [rest, problem] = std::from_chars(begin, end, v);
  if (problem != std::errc() || !std::isfinite(v)) return wrong(ErrorCode::kType, "\"" + text + "\"");
  while (rest != end && *rest == ' ') ++rest;
  const std::string suffix(rest, end);
  if (factor) {
    if (!suffix.empty()) return wrong(ErrorCode::kType, "\"" + text + "\"");
    v *= now;
  } else if (!suffix.empty()) {
    const Unit* unit = nullptr;
    for (const auto& u : kUnits)
      if (suffix == u.suffix && std::string(row.unit) == u.kind) unit = &u;
    if (unit == nullptr) return wrong(ErrorCode::kType, "\"" + text + "\"");
    v *= unit->scale;
  }
  const std::string unit = row.unit;
  if ((unit == "count" || unit == "flag") && v != std::floor(v)) v = factor ? std::round(v) : -1;
  if (!(v >= row.min && v <= row.max))
    return wrong(ErrorCode::kRange, factor ? fmt::format("\"{}\" of {:g}", text, now) : "\"" + text + "\"");
  return v;
}

}  // namespace

std::vector<OverrideHelp> override_table() {
  std::vector<OverrideHelp> help;
  for (const auto& r : table()) help.push_back({r.name, r.unit, r.help, r.min, r.max});
  return help;
}

Result<void> apply_overrides(const std::map<std::string, std::string>& overrides, const std::string& where,
                             NodeKind& node, Fabric& fabric) {
  std::vector<std::string> names;
  for (const auto& r : table()) names.emplace_back(r.name);
  for (const auto& [name, value] : overrides) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string close = core::nearest(name, names);
    std::string all;
    for (const auto& n : names) all += (all.empty() ? "known: " : ", ") + n;
    return Error{ErrorCode::kNotFound, where, "expected the name of a constant, found \"" + name + "\"",
                 close.empty() ? all : "did you mean \"" + close + "\"?"};
  }
  if (fabric.switch_latency_s < 0)
    fabric.switch_latency_s = switch_latency_s(fabric.scaleout.empty() ? node.nic_kind : fabric.scaleout);
  Target target{node, fabric};
  for (const auto& row : table()) {
    auto found = overrides.find(row.name);
    if (found == overrides.end()) continue;
    auto value = value_of(row, found->second, row.get(target), where + "." + row.name);
    if (!value) return value.error();
    row.set(target, *value);
  }
  return {};
}

}  // namespace twin::topo
