// What `traintwin step` prints for people; see the header.
#include "sim/report/step_summary.hpp"
#include <fmt/format.h>
#include <algorithm>
#include "sim/report/format.hpp"
#include "sim/report/table.hpp"

namespace twin::report {
namespace {

constexpr int kBarWidth = 32;

std::string cluster_name(const topo::ClusterRef& c) {
  if (!c.name.empty()) return c.name;
  std::string name = c.nodes > 0 && !c.node.empty() ? fmt::format("{} x {}", format_count(c.nodes), c.node) : c.node;
  if (!c.fabric.empty()) name += " on " + c.fabric;
  return name.empty() ? "a cluster of its own" : name;
}

std::string plan_line(const step::EffectivePlan& p) {
  std::string out;
  const auto axis = [&](const char* name, int n, bool always = false) {
    if (n > 1 || always) out += fmt::format("{}{} {}", out.empty() ? "" : " · ", name, n);
  };
  axis("tp", p.tp);
  axis("cp", p.cp);
  axis("ep", p.ep);
  axis("pp", p.pp);
  axis("vpp", p.vpp);
  axis("dp", p.dp, true);
  if (p.sp) out += " · sequence parallel";
  if (!p.schedule.empty() && p.pp > 1) out += " · " + p.schedule;
  return out + " · " + p.shard + " · " + p.precision + (p.recompute == "none" ? "" : " · recompute " + p.recompute);
}

// "9 chunks of 8, 2 of 7"-like form of layers per chunk; all of them when they are few.
std::string layout_line(const std::vector<int>& layout) {
  if (layout.empty()) return {};
  const auto [low, high] = std::minmax_element(layout.begin(), layout.end());
  if (*low == *high) return fmt::format("{} chunks of {} layers", layout.size(), *low);
  std::string out = fmt::format("{} chunks, layers", layout.size());
  if (layout.size() > 32) return out + fmt::format(" {}..{}", *low, *high);
  for (const int n : layout) out += fmt::format(" {}", n);
  return out;
}

std::string breakdown_table(const step::Breakdown& b, double total) {
  const std::pair<const char*, double> parts[] = {{"compute", b.compute},
                                                  {"optimizer", b.optimizer},
                                                  {"exposed tp", b.exposed_tp},
                                                  {"exposed cp", b.exposed_cp},
                                                  {"exposed ep", b.exposed_ep},
                                                  {"exposed pp", b.exposed_pp},
                                                  {"exposed dp", b.exposed_dp},
                                                  {"bubble", b.bubble},
                                                  {"straggler", b.straggler},
                                                  {"data", b.data},
                                                  {"other", b.other}};
  Table table({"", "", "", ""}, "lrrl");
  for (const auto& [name, s] : parts)
    if (s > 0)
      table.add({name, format_seconds(s), format_percent(total > 0 ? s / total : 0),
                 bar(total > 0 ? s / total : 0, kBarWidth)});
  return table.text("  ");
}

std::string memory_lines(const step::MemoryReport& m) {
  std::string out = fmt::format("memory     {} of {} on the fullest device: {}\n", format_bytes(m.peak_bytes),
                                format_bytes(m.capacity_bytes), m.fits ? "fits" : "DOES NOT FIT");
  if (!m.fits && !m.advice.empty()) out += "           " + m.advice + "\n";
  Table table({"", "", "", ""}, "lrrl");
  const double whole = std::max(m.peak_bytes, 1.0);
  for (const auto& [category, bytes] : m.by_category)
    if (bytes > 0)
      table.add({category, format_bytes(bytes), format_percent(bytes / whole), bar(bytes / whole, kBarWidth)});
  return out + table.text("  ");
}

}  // namespace

std::string step_summary(const step::StepResult& r, const work::Scenario& s) {
  const auto& p = r.plan;
  std::string out = fmt::format("{} on {} ({} devices)\n", s.model.name.empty() ? "a model of its own" : s.model.name,
                                cluster_name(s.cluster), format_count(p.world));
  out += "plan       " + plan_line(p) + "\n";
  out += fmt::format("batch      {} sequences of {} tokens, micro batch {}, {} micro batches per replica\n",
                     format_count(p.global), format_count(p.seq), p.micro, format_count(p.accumulation));
  if (p.pp > 1) out += "layout     " + layout_line(p.layout) + "\n";
  out += fmt::format("\nstep       {}  (90 % interval {} to {})\n", format_seconds(r.step_time_s),
                     format_seconds(r.interval_s[0]), format_seconds(r.interval_s[1]));
  out += fmt::format("MFU        {}  ({} model TFLOP/s per device; {} with attention counted full; HFU {})\n",
                     format_percent(r.mfu), format_digits(r.model_tflops_per_device),
                     format_percent(r.mfu_full_attention), format_percent(r.hfu));
  out += fmt::format("speed      {} tokens/s, {} per device\n", format_si(r.tokens_per_s),
                     format_si(p.world > 0 ? r.tokens_per_s / p.world : 0));
  if (r.energy_j_per_device > 0) {
    out += fmt::format("energy     {} per device and step", format_unit(r.energy_j_per_device, "J"));
    if (r.step_time_s > 0)
      out += fmt::format(", {} on average", format_unit(r.energy_j_per_device / r.step_time_s, "W"));
    out += "\n";
  }
  out += "\nwhere the time goes, on the critical class of ranks\n" + breakdown_table(r.breakdown, r.step_time_s);
  out += "\n" + memory_lines(r.memory);
  if (!r.assumed.empty()) {
    out += "\nassumed\n";
    for (const auto& a : r.assumed) out += "  - " + a + "\n";
  }
  out += fmt::format("\nsimulated {} ranks as {} {}, {} events\n", format_count(r.ranks), format_count(r.classes),
                     r.classes == 1 ? "class" : "classes", format_count(r.events));
  return out;
}

}  // namespace twin::report
