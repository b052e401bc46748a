// The JSON object of `traintwin step --json`; see the header.
#include "sim/report/step_json.hpp"

namespace twin::report {
namespace {

using Json = nlohmann::ordered_json;

Json breakdown_json(const step::Breakdown& b) {
  return {{"compute", b.compute},
          {"optimizer", b.optimizer},
          {"exposed_tp", b.exposed_tp},
          {"exposed_cp", b.exposed_cp},
          {"exposed_ep", b.exposed_ep},
          {"exposed_pp", b.exposed_pp},
          {"exposed_dp", b.exposed_dp},
          {"bubble", b.bubble},
          {"straggler", b.straggler},
          {"data", b.data},
          {"other", b.other}};
}

Json memory_json(const step::MemoryReport& m) {
  Json by_category = Json::object();
  for (const auto& [category, bytes] : m.by_category) by_category[category] = bytes;
  Json out = {{"peak_bytes", m.peak_bytes},
              {"capacity_bytes", m.capacity_bytes},
              {"fits", m.fits},
              {"by_category", by_category},
              {"by_stage", m.by_stage}};
  if (!m.advice.empty()) out["advice"] = m.advice;
  return out;
}

}  // namespace

Json plan_json(const step::EffectivePlan& p) {
  return {{"tp", p.tp},
          {"sp", p.sp},
          {"cp", p.cp},
          {"ep", p.ep},
          {"etp", p.etp},
          {"pp", p.pp},
          {"vpp", p.vpp},
          {"dp", p.dp},
          {"schedule", p.schedule},
          {"layout", p.layout},
          {"shard", p.shard},
          {"order", p.order},
          {"global", p.global},
          {"micro", p.micro},
          {"accumulation", p.accumulation},
          {"seq", p.seq},
          {"precision", p.precision},
          {"recompute", p.recompute},
          {"world", p.world}};
}

Json step_json(const step::StepResult& r, const RunCost& cost) {
  return {{"schema_version", kSchemaVersion},
          {"step_time_s", r.step_time_s},
          {"step_time_interval_s", {r.interval_s[0], r.interval_s[1]}},
          {"lower_bound_s", r.lower_bound_s},
          {"tokens_per_s", r.tokens_per_s},
          {"tokens_per_s_per_device", r.plan.world > 0 ? r.tokens_per_s / r.plan.world : 0.0},
          {"model_tflops_per_device", r.model_tflops_per_device},
          {"mfu", r.mfu},
          {"mfu_full_attention", r.mfu_full_attention},
          {"hfu", r.hfu},
          {"energy_j_per_device", r.energy_j_per_device},
          {"plan", plan_json(r.plan)},
          {"assumed", r.assumed},
          {"memory", memory_json(r.memory)},
          {"breakdown_s", breakdown_json(r.breakdown)},
          {"classes", r.classes},
          {"ranks", r.ranks},
          {"events", r.events},
          {"wall_s", cost.wall_s},
          {"peak_rss_bytes", cost.peak_rss_bytes}};
}

}  // namespace twin::report
