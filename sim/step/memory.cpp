#include "sim/step/memory.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include "sim/step/schedule.hpp"

namespace twin::step {
namespace {

using work::Recompute;
using work::Shard;

struct StageParameters {
  double layers = 0, layer = 0, all = 0, largest_unit = 0;
  bool embedding = false, head = false;
};

StageParameters count_parameters(const work::Scenario& s, const Plan& plan, const work::Block& block,
                                 const work::Ends& ends, int stage) {
  StageParameters p;
  for (int v = 0; v < plan.vpp; ++v) {
    const int chunk = stage + plan.pp * v;
    p.layers += plan.layout[static_cast<std::size_t>(chunk)];
    p.embedding |= chunk == 0;
    p.head |= chunk == plan.chunks() - 1;
  }
  p.layer = block.parameters;
  p.all = p.layers * p.layer;
  p.largest_unit = p.layers > 0 ? p.layer : 0;
  double ends_parameters = p.embedding ? ends.embedding_parameters : 0;
  if (p.head)
    ends_parameters += ends.head_parameters - (s.model.tied_embeddings && p.embedding ? ends.table_parameters : 0);
  p.all += ends_parameters;
  p.largest_unit = std::max(p.largest_unit, ends_parameters);
  return p;
}

bool fp8(work::Precision p) { return p >= work::Precision::kFp8; }

// Bytes that a layer's parameter takes: 16-bit (or fp32) with fp8 copies for its GEMMs cached over the micro batches,
// or fp8 alone where the parameters themselves are fp8 (fp8_param_gather). A second fp8 copy, transposed or scaled
// along the other axis, serves the backward pass, except where the matrix units take either orientation.
double layer_parameter_bytes(const work::Scenario& s, const Plan& plan, bool fp8_second_copy) {
  const double stored = s.stack.params_fp32 ? 4 : 2, copies = fp8_second_copy ? 2 : 1;
  if (!fp8(s.precision) || plan.gathers_parameters()) return stored;
  if (s.stack.fp8_param_gather) return copies;
  return stored + (plan.accumulation > 1 ? copies : 0);
}

void add_states(const work::Scenario& s, const Plan& plan, const StageParameters& p, bool fp8_second_copy,
                StageMemory& m) {
  const double shard = p.all / plan.shard_size;
  const double grad_bytes = s.stack.main_grad_fp32 ? 4 : s.stack.params_fp32 && plan.fsdp() ? 4 : 2;
  const double optimizer_bytes = s.stack.params_fp32 ? 8 : 12;
  m.optimizer = optimizer_bytes * (plan.shard == Shard::kDdp ? p.all : shard);
  const double stored = s.stack.params_fp32 ? 4 : 2;
  if (plan.fsdp()) {
    m.parameters = stored * shard;
    const double gathered = plan.gathers_parameters() ? 2 * p.largest_unit + (p.all - p.layers * p.layer) : p.all;
    m.communication = plan.shard_size > 1 ? 2 * gathered : (s.stack.params_fp32 ? 2 * p.largest_unit : 0);
    m.gradients = grad_bytes * shard;
    if (plan.shard_size > 1) m.communication += (s.stack.grad_reduce_fp32 ? 4 : 2) * p.largest_unit;
  } else {
    m.parameters =
        stored * (p.all - p.layers * p.layer) + layer_parameter_bytes(s, plan, fp8_second_copy) * p.layers * p.layer;
    m.gradients = grad_bytes * (plan.shard == Shard::kZero2 ? shard : p.all);
    // DeepSpeed's BF16Optimizer keeps the 16-bit gradients that it adds into the fp32 ones; Megatron frees each at
    // once.
    if (s.stack.main_grad_fp32 && !s.stack.fused_grad_accumulation && plan.shard != Shard::kDdp)
      m.gradients += 2 * p.all;
  }
}

double saved_per_layer(const work::Scenario& s, const work::Block& b) {
  switch (s.recompute) {
    case Recompute::kNone:
      return static_cast<double>(b.saved_bytes_none);
    case Recompute::kSelective:
      return static_cast<double>(b.saved_bytes_selective);
    case Recompute::kFull:
      return static_cast<double>(b.saved_bytes_full);
  }
  return 0;
}

// Bytes that one micro batch of a chunk keeps from forward to backward, and how many of them belong to the model's
// ends.
struct ChunkSaved {
  double all = 0, ends = 0;
};

ChunkSaved saved_per_chunk(const work::Scenario& s, const Plan& plan, const work::Block& b, const work::Ends& e,
                           int chunk) {
  const int layers = plan.layout[static_cast<std::size_t>(chunk)];
  double bytes = layers * saved_per_layer(s, b);
  if (s.recompute == Recompute::kFull) {
    if (s.recompute_method == "block" && s.recompute_layers > 0) {
      const int again = std::min(layers, s.recompute_layers);
      bytes =
          again * static_cast<double>(b.saved_bytes_full) + (layers - again) * static_cast<double>(b.saved_bytes_none);
    } else if (s.recompute_layers > 1) {
      bytes = std::ceil(layers / static_cast<double>(s.recompute_layers)) * static_cast<double>(b.saved_bytes_full);
    }
  }
  double ends = chunk == 0 ? static_cast<double>(e.embedding_saved_bytes) : 0;
  if (chunk == plan.chunks() - 1) ends += static_cast<double>(e.head_saved_bytes);
  return {bytes + ends, ends};
}

// Transformer Engine accumulates weight gradients straight into the main gradients and hands autograd 16-bit
// placeholders of the weights' shapes: one of each shape of a layer, kept; Megatron makes the LM head's anew each time.
bool placeholders(const work::Scenario& s, const Plan& plan) {
  return work::fused_qkv(s.stack) && s.stack.fused_grad_accumulation && !plan.fsdp();
}

void add_working(const work::Scenario& s, const Plan& plan, const work::Block& b, const work::Ends& e,
                 const StageParameters& p, StageMemory& m) {
  double layer = static_cast<double>(b.working_bytes);
  if (s.recompute == Recompute::kFull) {
    const double unit = s.recompute_method == "uniform" && s.recompute_layers > 1 ? s.recompute_layers : 1;
    layer += unit * static_cast<double>(b.saved_bytes_none);
  }
  double head = static_cast<double>(e.logits_bytes);
  const double placeholder = placeholders(s, plan) ? 2 : 0;
  // At the LM head's backward the 16-bit gradient has replaced the fp32 loss (4 B a logit, counted as saved).
  head = std::max(head, placeholder * e.table_parameters - static_cast<double>(e.logits_bytes));
  m.working = std::max(p.layers > 0 ? layer : 0, p.head ? head : 0);
  if (p.layers > 0) m.working += placeholder * p.layer;
}

}  // namespace

StageMemory stage_memory(const work::Scenario& s, const Plan& plan, const work::Block& b, const work::Ends& e,
                         int stage, bool fp8_second_copy) {
  StageMemory m;
  const StageParameters p = count_parameters(s, plan, b, e, stage);
  add_states(s, plan, p, fp8_second_copy, m);
  std::vector<ChunkSaved> saved;
  std::vector<double> weight;
  for (int v = 0; v < plan.vpp; ++v) {
    saved.push_back(saved_per_chunk(s, plan, b, e, stage + plan.pp * v));
    weight.push_back(saved.back().all);
  }
  const auto passes =
      make_schedule(plan.schedule, {.pp = plan.pp, .vpp = plan.vpp, .micro_batches = plan.accumulation}, stage);
  const InFlight peak = peak_in_flight(passes, weight);
  for (std::size_t v = 0; v < weight.size(); ++v) {
    const auto alive = static_cast<double>(peak.per_virtual_stage[v]);
    m.activations += alive * (saved[v].all - saved[v].ends);
    m.ends += alive * saved[v].ends;
  }
  add_working(s, plan, b, e, p, m);
  return m;
}

double saved_bytes(const work::Scenario& s, const Plan& plan, const work::Block& b, const work::Ends& e, int chunk) {
  return saved_per_chunk(s, plan, b, e, chunk).all;
}

namespace {

MemoryReport measure(const work::Scenario& s, const Plan& plan, const device::Spec& spec) {
  const work::Shape shape{.micro = s.batch.micro, .seq = s.batch.seq, .tp = plan.tp, .sp = plan.sp};
  const auto block = work::make_block(s.model, shape, s.precision, s.stack, 1);
  const auto ends = work::make_ends(s.model, shape, s.precision, s.stack, 1);
  MemoryReport r;
  r.capacity_bytes = spec.usable_bytes > 0 ? spec.usable_bytes : spec.hbm_bytes;
  const bool fp8_second_copy = spec.family != "blackwell" || s.precision >= work::Precision::kFp8Blockwise;
  StageMemory worst;
  for (int stage = 0; stage < plan.pp; ++stage) {
    const StageMemory m = stage_memory(s, plan, block, ends, stage, fp8_second_copy);
    r.by_stage.push_back(m.total());
    if (m.total() > worst.total()) worst = m;
  }
  r.peak_bytes = worst.total();
  r.fits = r.peak_bytes <= r.capacity_bytes;
  r.by_category = {
      {"parameters", worst.parameters},      {"gradients", worst.gradients}, {"optimizer", worst.optimizer},
      {"activations", worst.activations},    {"logits", worst.ends},         {"working", worst.working},
      {"communication", worst.communication}};
  return r;
}

struct Remedy {
  std::string text;
  work::Scenario scenario;
};

std::vector<Remedy> remedies(const work::Scenario& s, const Plan& plan, int scaleup) {
  std::vector<Remedy> out;
  const auto add = [&](std::string text, auto change) {
    Remedy r{std::move(text), s};
    change(r.scenario);
    out.push_back(std::move(r));
  };
  if (s.recompute == Recompute::kNone)
    add("recompute \"selective\"", [](auto& x) { x.recompute = Recompute::kSelective; });
  if (plan.shard == Shard::kDdp) add("shard \"zero-1\"", [](auto& x) { x.parallel.shard = Shard::kZero1; });
  if (s.batch.micro > 1) add("micro batch 1", [](auto& x) { x.batch.micro = 1; });
  if (s.recompute != Recompute::kFull) add("recompute \"full\"", [](auto& x) { x.recompute = Recompute::kFull; });
  if (!plan.fsdp() && plan.data_ranks() > 1)
    add("shard \"fsdp2-full\"", [](auto& x) { x.parallel.shard = Shard::kFsdp2Full; });
  if (plan.tp * 2 <= scaleup && plan.dp % 2 == 0 && s.model.heads % (plan.tp * 2) == 0)
    add(fmt::format("tp {}", plan.tp * 2), [&](auto& x) { x.parallel.tp *= 2, x.parallel.dp = 0; });
  if (plan.dp % 2 == 0)
    add(fmt::format("pp {}", plan.pp * 2),
        [&](auto& x) { x.parallel.pp *= 2, x.parallel.dp = 0, x.parallel.layout.clear(); });
  return out;
}

std::string advise(const work::Scenario& s, const Plan& plan, const device::Spec& spec, int devices, int scaleup,
                   const MemoryReport& r) {
  std::string text = fmt::format("needs {:.1f} GB, {} can hold {:.1f} GB: {:.1f} GB too much", r.peak_bytes * 1e-9,
                                 spec.name, r.capacity_bytes * 1e-9, (r.peak_bytes - r.capacity_bytes) * 1e-9);
  const auto works = [&](const work::Scenario& x) {
    const auto p = make_plan(x, devices, scaleup);
    return p && measure(x, *p, spec).fits;
  };
  std::vector<std::string> found;
  const auto single = remedies(s, plan, scaleup);
  for (const auto& a : single)
    if (works(a.scenario)) found.push_back(a.text);
  for (std::size_t i = 0; i < single.size() && found.empty(); ++i) {
    const auto p = make_plan(single[i].scenario, devices, scaleup);
    if (!p) continue;
    for (const auto& b : remedies(single[i].scenario, *p, scaleup))
      if (b.text != single[i].text && works(b.scenario)) {
        found.push_back(single[i].text + " and " + b.text);
        break;
      }
  }
  if (found.empty())
    return text +
           "; neither recompute, sharding, nor twice the tp or pp alone or in pairs makes it fit: use more devices";
  text += "; it fits with " + found.front();
  for (std::size_t i = 1; i < found.size() && i < 4; ++i) text += ", or " + found[i];
  return text;
}

}  // namespace

MemoryReport report_memory(const work::Scenario& s, const Plan& plan, const device::Spec& spec, int devices,
                           int scaleup) {
  MemoryReport r = measure(s, plan, spec);
  if (!r.fits) r.advice = advise(s, plan, spec, devices, scaleup, r);
  return r;
}

}  // namespace twin::step
