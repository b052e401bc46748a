#include "sim/step/explain.hpp"
#include <fmt/format.h>

namespace twin::step {
namespace {

std::string kernel_table(const ProgramContext& c) {
  std::string out;
  const auto& m = c.timing.device;
  const auto rows = [&](const char* pass, const KernelList& list) {
    for (const auto& k : list) {
      const double t = device::seconds(k, m, m.spec.sms) * c.timing.multiplier;
      const double rate = k.flops > 0 ? k.flops / t * 1e-12 : k.bytes / t * 1e-12;
      out += fmt::format("{:<9} {:<28} {:>9.1f} us  {:>8.1f} {}\n", pass, k.label, t * 1e6, rate,
                         k.flops > 0 ? "TFLOP/s" : "TB/s");
    }
  };
  for (const auto* h : {&c.block.attention, &c.block.mlp})
    for (const auto* l : {&h->pre, &h->first_gemm, &h->core, &h->last_gemm, &h->post}) rows("forward", *l);
  for (const auto* h : {&c.block.mlp_backward, &c.block.attention_backward})
    for (const auto* l :
         {&h->post, &h->last_dgrad, &h->last_wgrad, &h->core, &h->first_dgrad, &h->first_wgrad, &h->pre})
      rows("backward", *l);
  return out;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> explain_constants(const device::Constants& constants,
                                                                   const work::Scenario& scenario,
                                                                   const device::Spec& spec,
                                                                   const ProgramContext& context) {
  std::string used;
  for (const int i : constants.used()) {
    const auto& k = constants.all()[static_cast<std::size_t>(i)];
    used += fmt::format("{:<36} {:>12.5g} {:<8} prior {:<10.4g} level {}  {}\n", k.name, k.value, k.unit, k.prior,
                        k.level, k.source);
  }
  return {{fmt::format("one layer on {}, micro batch {} x {} tokens, tp {}", spec.name, scenario.batch.micro,
                       scenario.batch.seq, context.plan->tp),
           kernel_table(context)},
          {"constants used", used}};
}

}  // namespace twin::step
