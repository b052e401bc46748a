#include "validate/normalise.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include "validate/infer.hpp"
#include "validate/rules.hpp"
#include "validate/words.hpp"

namespace twin::validate {
namespace {

// Why the row is outside what a dense step covers, or empty.
std::string out_of_scope(const Row& row) {
  const std::string precision = lower(row.precision);
  if (row.completeness != "full" && !row.completeness.empty()) return "completeness " + row.completeness;
  if (!row.training_kind.empty() && row.training_kind != "pretrain") return row.training_kind;
  if (row.model.experts.value_or(0) > 1) return "mixture of experts";
  if (row.model.attention == "MLA") return "MLA";
  if (accelerator_key(row.hardware.accelerator) == "tpu") return "TPU";
  if (row.parallel.cp.value_or(1) > 1) return "context parallelism";
  if (row.parallel.ep.value_or(1) > 1) return "expert parallelism";
  if (has(precision, "fp4")) return "fp4";
  if (!row.model.layers || !row.model.hidden) return "model dimensions not stated";
  if (!row.model.seq_len) return "sequence length not stated";
  if (!row.batch.micro) return "micro batch not stated";
  if (!row.hardware.total) return "number of accelerators not stated";
  return {};
}

std::optional<double> flops_convention_time(const Row& row, const work::Scenario& s) {
  if (!row.measured.model_tflops_per_gpu) return std::nullopt;
  const std::string definition = lower(row.measured.mfu_definition);
  const double tokens = static_cast<double>(s.batch.global) * static_cast<double>(s.batch.seq);
  double per_token = 3 * s.model.forward_flops_per_token(s.batch.seq, !has(definition, "non-causal"));
  if (has(definition, "chowdhery"))  // 6 N + 12 L h S with every parameter counted (PaLM, appendix B)
    per_token =
        6 * static_cast<double>(s.model.parameters()) +
        12 * static_cast<double>(s.model.layers * s.model.heads * s.model.head_dim) * static_cast<double>(s.batch.seq);
  return tokens * per_token / (*row.measured.model_tflops_per_gpu * 1e12 * static_cast<double>(*row.hardware.total));
}

void measure(const Row& row, Normalised& out) {
  const auto& m = row.measured;
  const work::Scenario& s = *out.scenario;
  const double tokens = static_cast<double>(s.batch.global) * static_cast<double>(s.batch.seq);
  if (m.step_time_s) {
    out.measured_s = m.step_time_s, out.measured_from = "step_time_s";
  } else if (m.block_step_time_s) {
    out.measured_s = m.block_step_time_s, out.measured_from = "block_step_time_s";
  } else if (m.tokens_per_s) {
    out.measured_s = tokens / *m.tokens_per_s, out.measured_from = "tokens_per_s";
  } else if (m.tokens_per_s_per_gpu) {
    out.measured_s = tokens / (*m.tokens_per_s_per_gpu * out.world), out.measured_from = "tokens_per_s_per_gpu";
  } else if (const auto time = flops_convention_time(row, s)) {
    out.measured_s = time, out.measured_from = "model_tflops_per_gpu";
  }
  out.measured_peak_gib = m.peak_mem_gib;
  if (!m.peak_mem_gib && m.max_memory_gb) out.measured_peak_gib = *m.max_memory_gb * 1e9 / 1073741824.0;
}

// Sizes have to multiply; what is left open is filled in. Returns a skip reason.
std::string fill_batch(const Row& row, work::Scenario& s) {
  const std::int64_t total = *row.hardware.total, slice = std::int64_t{s.parallel.tp} * s.parallel.pp;
  if (total % slice != 0) return "tp x pp does not divide the accelerators";
  const std::int64_t dp = total / slice;
  if (row.parallel.dp && *row.parallel.dp != dp) return "tp x pp x dp is not the number of accelerators";
  s.parallel.dp = static_cast<int>(dp);
  s.batch.micro = *row.batch.micro;
  s.batch.seq = *row.model.seq_len;
  if (row.batch.global) {
    s.batch.global = *row.batch.global;
  } else {
    const std::int64_t accumulation = row.batch.accumulation.value_or(1);
    s.batch.global = dp * s.batch.micro * accumulation;
    s.assumed.push_back(fmt::format("global batch {}: {} micro batch{} per replica", s.batch.global, accumulation,
                                    accumulation == 1 ? "" : "es"));
  }
  if (s.batch.global % (dp * s.batch.micro) != 0) return "replicas x micro batch do not divide the global batch";
  return {};
}

}  // namespace

Normalised normalise(const Row& row, const StackFinder& stacks) {
  Normalised out;
  out.id = row.id, out.file = row.file, out.group = row.group.empty() ? row.id : row.group;
  out.accelerator = accelerator_key(row.hardware.accelerator);
  out.world = static_cast<int>(row.hardware.total.value_or(0));
  out.apart = row.file == "vtrain_single_node";
  const SourceRule& rule = rule_for(row);
  out.noise = rule.noise;
  const auto skip = [&out](std::string reason) {
    out.skipped = std::move(reason);
    out.scenario.reset();
    return out;
  };
  if (std::string reason = out_of_scope(row); !reason.empty()) return skip(reason);

  work::Scenario& s = out.scenario.emplace();
  s.file = row.file + ".json: row '" + row.id + "'";
  infer_model(row, s);
  if (s.model.hidden % s.model.heads != 0 && !row.model.head_dim) return skip("heads do not divide the hidden size");
  s.parallel.tp = static_cast<int>(row.parallel.tp.value_or(1));
  s.parallel.pp = static_cast<int>(row.parallel.pp.value_or(1));
  s.parallel.vpp = s.parallel.pp > 1 ? static_cast<int>(row.parallel.vpp.value_or(1)) : 1;
  if (!row.parallel.tp || !row.parallel.pp) s.assumed.emplace_back("tp and pp 1 where not stated");
  if (std::string reason = fill_batch(row, s); !reason.empty()) return skip(reason);
  s.cluster = cluster_for(row, s.assumed);
  if (s.cluster.node.empty()) return skip("accelerator not in the catalog: " + row.hardware.accelerator);
  infer_plan(row, rule, s);
  if (std::string reason = infer_precision(row, rule, s); !reason.empty()) return skip(reason);
  auto stack = stacks(infer_stack_name(row, rule));
  if (!stack) return skip("software stack not in the catalog: " + infer_stack_name(row, rule));
  s.stack = *stack;
  infer_source_specifics(row, s);
  measure(row, out);
  if (!out.measured_s) return skip("no step time, tokens/s or TFLOP/s stated");
  return out;
}

std::vector<MemoryCase> memory_cases(const Row& row, const std::vector<Row>& rows, const StackFinder& stacks) {
  const Row* described = &row;
  if (row.kind == "memory_relative")
    for (const Row& other : rows)
      if (other.kind == "memory" && other.file == row.file && other.model.name == row.model.name) described = &other;
  std::vector<MemoryCase> out;
  const auto scenario_for = [&](const std::string& technique, MemoryCase& target, std::optional<work::Scenario>& slot) {
    Row run = *described;
    run.file = "korthikanti_2022";  // same authors, code and machine
    run.completeness = "full", run.training_kind = "pretrain";
    run.hardware.accelerator = "A100-SXM-80GB", run.hardware.per_node = 8;
    run.hardware.total = run.parallel.tp.value_or(1) * run.parallel.pp.value_or(1);
    run.precision = "fp16";
    run.parallel.sequence_parallel = has(technique, "seq");
    run.recompute = has(technique, "selective") ? "selective" : has(technique, "full") ? "full" : "none";
    run.measured.step_time_s = 1;  // unused: only memory is compared
    Normalised n = normalise(run, stacks);
    if (n.scenario)
      slot = *n.scenario;
    else
      target.skipped = n.skipped;
    if (slot) slot->file = row.file + ".json: row '" + row.id + "'";
  };
  // The published states are 12 L h^2 / (t p) x 18 bytes to the last digit: the layers' matrices alone.
  const auto without_ends = [](work::Scenario& s) {
    s.model.vocab = s.parallel.tp;
    s.model.learned_positions = false;
    s.assumed.emplace_back("no embedding and head: the published budget counts 12 L h^2 parameters");
  };
  const auto add = [&](const std::string& metric, const std::string& unit, double measured,
                       const std::string& technique, const std::string& suffix) {
    MemoryCase c;
    c.id = row.id + suffix, c.file = row.file, c.metric = metric, c.unit = unit, c.measured = measured;
    scenario_for(technique, c, c.scenario);
    if (metric == "params_optimizer" && c.scenario) without_ends(*c.scenario);
    if (unit == "%") scenario_for("none", c, c.baseline);
    out.push_back(std::move(c));
  };
  if (row.memory.params_optimizer_gib)
    add("params_optimizer", "GiB", *row.memory.params_optimizer_gib, row.recompute, "");
  if (row.memory.activations_gib) add("activations", "GiB", *row.memory.activations_gib, row.recompute, "");
  for (const auto& [technique, percent] : row.memory.percent)
    if (technique != "none") add("activations_percent", "%", percent, technique, ": " + technique);
  return out;
}

}  // namespace twin::validate
