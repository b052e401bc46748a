#include "sim/step/interval.hpp"
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include "sim/core/embedded.hpp"
#include "sim/device/kernel_time.hpp"

namespace twin::step {
namespace {

struct Widths {
  double seen = 0.15, accelerator = 0.25, unseen = 0.35;  // until a calibration file says better: physics.md section 1
  std::set<std::string> accelerators, pairs;              // "h100-sxm", "h100-sxm/megatron-core"
};

Widths read_widths() {
  Widths w;
  const auto json = nlohmann::json::parse(core::embedded("validate/calibration.json"), nullptr, false);
  if (json.is_discarded() || !json.contains("interval")) return w;
  const auto& i = json["interval"];
  w.seen = i.value("seen", w.seen);
  w.accelerator = i.value("accelerator", w.accelerator);
  w.unseen = i.value("new", w.unseen);
  for (const auto& pair : json.value("seen", std::vector<std::string>{})) {
    w.pairs.insert(pair);
    w.accelerators.insert(pair.substr(0, pair.find('/')));
  }
  return w;
}

}  // namespace

void fill_interval(const work::Scenario& s, const device::Spec& spec, const Timeline& timeline, StepResult& r) {
  static const Widths widths = read_widths();
  const std::string key = device::accelerator_key(spec);
  const std::string stack = s.stack.calibration.empty() ? s.stack.name : s.stack.calibration;
  double half = widths.unseen;
  if (widths.pairs.count(key + "/" + stack) > 0)
    half = widths.seen;
  else if (widths.accelerators.count(key) > 0)
    half = widths.accelerator;
  double left = 0;
  for (const auto v : timeline.rank_variance) left = std::max(left, static_cast<double>(v));
  const double jitter = r.step_time_s > 0 ? 1.645 * std::sqrt(left) * 1e-9 / r.step_time_s : 0;
  half = std::sqrt(half * half + jitter * jitter);
  r.interval_s[0] = std::max(r.lower_bound_s, r.step_time_s * std::exp(-half));
  r.interval_s[1] = r.step_time_s * std::exp(half);
}

}  // namespace twin::step
