#include "validate/infer.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include "validate/words.hpp"

namespace twin::validate {
namespace {

using work::Precision;
using work::Recompute;
using work::Shard;

struct FamilyTraits {
  const char* name;
  bool rms_norm, biases, tied, learned_positions;
};

FamilyTraits traits(Family family) {
  switch (family) {
    case Family::kGpt:
      return {"GPT: LayerNorm, biases, tied embeddings, learned positions", false, true, true, true};
    case Family::kBloom:
      return {"BLOOM: LayerNorm, biases, tied embeddings, ALiBi", false, true, true, false};
    case Family::kMpt:
      return {"MPT: LayerNorm, biases, tied embeddings, learned positions", false, true, true, true};
    case Family::kLlama:
      return {"Llama: RMSNorm, no biases, separate head, rotary positions", true, false, false, false};
    case Family::kNemotron:
      return {"Nemotron: LayerNorm, no biases, separate head, rotary positions", false, false, false, false};
  }
  return {"", true, false, false, false};
}

bool truthy(const std::string& value) { return lower(value) == "true" || value == "1"; }

// The value of an overlap switch that the row prints, else `unstated`.
bool switch_of(const Row& row, const char* key, bool unstated) {
  const auto it = row.overlap.find(key);
  return it == row.overlap.end() || it->second.empty() ? unstated : truthy(it->second);
}

void infer_shard(const Row& row, const SourceRule& rule, work::Scenario& s) {
  const std::string text = lower(row.parallel.zero);
  const bool second = rule.shard == Shard::kFsdp2Full || rule.shard == Shard::kFsdp2GradOp || has(text, "fsdp2") ||
                      has(lower(row.framework), "megatron");
  if (has(text, "hsdp") || has(text, "hybrid")) {
    s.parallel.shard = second ? Shard::kFsdp2Hybrid : Shard::kFsdpHybrid;
    s.parallel.shard_size = static_cast<int>(row.parallel.fsdp.value_or(0));
  } else if (has(text, "not resharded") || has(text, "shard_grad_op")) {
    s.parallel.shard = second ? Shard::kFsdp2GradOp : Shard::kFsdpGradOp;
  } else if (has(text, "fsdp") || has(text, "full_shard")) {
    const std::int64_t group = row.parallel.fsdp.value_or(0);
    const bool partial = group > 0 && group < s.parallel.dp;
    s.parallel.shard =
        partial ? (second ? Shard::kFsdp2Hybrid : Shard::kFsdpHybrid) : (second ? Shard::kFsdp2Full : Shard::kFsdpFull);
    if (partial) s.parallel.shard_size = static_cast<int>(group);
  } else if (has(text, "zero-3")) {
    s.parallel.shard = Shard::kZero3;
  } else if (has(text, "zero-2")) {
    s.parallel.shard = Shard::kZero2;
  } else if (has(text, "zero-1") || has(text, "distributed opt")) {
    s.parallel.shard = Shard::kZero1;
  } else if (has(text, "none")) {
    s.parallel.shard = Shard::kDdp;
  } else {
    s.parallel.shard = rule.shard;
    if (s.parallel.dp > 1)
      s.assumed.push_back(fmt::format("sharding {} where not stated ({})", work::name(rule.shard), rule.stack));
  }
}

void infer_recompute(const Row& row, work::Scenario& s) {
  const std::string text = lower(row.recompute);
  if (text.empty()) {
    const bool noted = has(lower(row.notes), "recompute");
    s.recompute = noted ? Recompute::kFull : Recompute::kNone;
    s.assumed.emplace_back(noted ? "recompute full (the row's note says recompute)"
                                 : "recompute none where not stated");
  } else if (text.starts_with("none") || text == "null" || text == "false") {
    s.recompute = Recompute::kNone;
  } else if (has(text, "selective")) {
    s.recompute = Recompute::kSelective;
  } else if (has(text, "full")) {
    s.recompute = Recompute::kFull;
    const std::int64_t chunk =
        std::max<std::int64_t>(1, s.model.layers / (std::int64_t{s.parallel.pp} * s.parallel.vpp));
    if (row.recompute_layers && *row.recompute_layers > 0 && *row.recompute_layers < chunk) {
      s.recompute_method = "block";
      s.recompute_layers = static_cast<int>(*row.recompute_layers);
    }
  } else {
    s.recompute = Recompute::kNone;
    s.assumed.push_back("recompute none for the spelling '" + row.recompute + "'");
  }
}

void infer_overlap(const Row& row, const SourceRule& rule, work::Scenario& s) {
  s.overlap.tp = switch_of(row, "async_tp", switch_of(row, "TP_COMM_OVERLAP", rule.tp_overlap)) && s.parallel.tp > 1;
  s.overlap.dp_grad = switch_of(row, "OVERLAP_GRAD_REDUCE", rule.dp_overlap);
  s.overlap.dp_param = switch_of(row, "OVERLAP_PARAM_GATHER", rule.dp_overlap);
  s.overlap.pp = s.parallel.vpp > 1;
  if (!rule.basis.empty()) s.assumed.emplace_back(rule.basis);
  if (s.parallel.pp > 1 && s.parallel.vpp == 1 && !row.parallel.vpp)
    s.assumed.emplace_back("no interleaving where vpp is not stated");
}

}  // namespace

void infer_model(const Row& row, work::Scenario& s) {
  work::Model& m = s.model;
  const Family family = family_of(row);
  const FamilyTraits t = traits(family);
  m.name = row.model.name;
  m.layers = *row.model.layers;
  m.hidden = *row.model.hidden;
  m.heads = row.model.heads.value_or(0);
  m.vocab = row.model.vocab.value_or(51200);
  if (!row.model.vocab) s.assumed.emplace_back("vocabulary 51200 where not stated");
  if (family == Family::kBloom) correct_bloom_dimensions(row, s);
  if (m.heads == 0) {
    m.heads = std::max<std::int64_t>(1, m.hidden / 128);
    s.assumed.push_back(fmt::format("heads = hidden/128 = {}", m.heads));
  }
  m.kv_heads = row.model.kv_heads.value_or(m.heads);
  m.head_dim = row.model.head_dim.value_or(m.hidden / m.heads);
  m.gated_mlp = row.model.gated_mlp.value_or(family == Family::kLlama);
  m.ffn = family == Family::kBloom ? 4 * m.hidden : row.model.ffn.value_or(4 * m.hidden);
  if (!row.model.ffn) s.assumed.push_back(fmt::format("ffn = 4 x hidden = {}", m.ffn));
  m.rms_norm = t.rms_norm;
  m.biases = t.biases;
  m.tied_embeddings = row.model.tied_embeddings.value_or(t.tied);
  m.learned_positions = t.learned_positions;
  m.alibi = family == Family::kBloom;
  m.max_positions = *row.model.seq_len;
  const bool early = row.file == "megatron_sc21" || row.file == "korthikanti_2022" || row.file.starts_with("vtrain");
  m.dropout = family == Family::kGpt && early ? 0.1 : 0.0;
  m.source = row.file;
  s.assumed.emplace_back(t.name);
  if (m.dropout > 0) s.assumed.emplace_back("dropout 0.1, the default of Megatron-LM then");
}

void infer_plan(const Row& row, const SourceRule& rule, work::Scenario& s) {
  infer_shard(row, rule, s);
  if (row.parallel.sequence_parallel) {
    s.parallel.sp = *row.parallel.sequence_parallel && s.parallel.tp > 1 ? 1 : 0;
  } else {
    s.parallel.sp = s.parallel.tp > 1 ? 1 : 0;
    if (s.parallel.tp > 1) s.assumed.emplace_back("sequence parallel with tp > 1");
  }
  if (s.parallel.pp > 1)
    s.parallel.schedule = s.parallel.vpp > 1 ? work::Schedule::kInterleaved1f1b : work::Schedule::k1f1b;
  infer_recompute(row, s);
  infer_overlap(row, rule, s);
}

std::string infer_precision(const Row& row, const SourceRule& rule, work::Scenario& s) {
  const std::string text = lower(row.precision);
  const auto recipe = row.overlap.find("FP8_RECIPE");
  const std::string env = recipe == row.overlap.end() ? "" : lower(recipe->second);
  if (text.empty()) {
    s.precision = Precision::kBf16;
    s.assumed.emplace_back("precision bf16 where not stated");
  } else if (has(text, "mx") || has(env, "mxfp8")) {
    s.precision = Precision::kMxfp8;
  } else if (has(text, "rowwise")) {
    s.precision = Precision::kFp8Rowwise;
  } else if (has(text, "blockwise") || has(env, "blockwise")) {
    s.precision = Precision::kFp8Blockwise;
  } else if (has(text, "tensorwise") || has(text, "-cs") || has(text, "current") || has(env, "tensorwise")) {
    s.precision = Precision::kFp8Tensorwise;
  } else if (has(text, "delayed") || has(text, "-ds")) {
    s.precision = Precision::kFp8;
  } else if (has(text, "fp8") || has(text, "float8")) {
    s.precision = rule.fp8;
    s.assumed.push_back(fmt::format("fp8 recipe {} where not stated", work::name(rule.fp8)));
  } else if (has(text, "bf16")) {
    s.precision = Precision::kBf16;
  } else if (has(text, "fp16")) {
    s.precision = Precision::kFp16;
  } else if (has(text, "fp32") || has(text, "tf32")) {
    s.precision = Precision::kFp32;
  } else {
    return "precision '" + row.precision + "'";
  }
  return {};
}

std::string infer_stack_name(const Row& row, const SourceRule& rule) {
  if (rule.stack == "llm-foundry" && (row.mp_mode == "PURE" || has(row.precision, "PURE"))) return "llm-foundry-pure";
  if (rule.stack == "torchtitan" && !switch_of(row, "torch_compile", true)) return "torchtitan-eager";
  // FlashAttention 2 or cuDNN 8 under Transformer Engine; MLPerf v4.0 brought cuDNN 9, NeMo containers later.
  const bool before_fa3 =
      row.id.starts_with("mlperf-v3.") || row.file == "nvidia_nemo_2407" || has(row.framework, "Release 23.");
  if (rule.stack == "megatron-core" && before_fa3) return "megatron-core-2023";
  return std::string(rule.stack);
}

}  // namespace twin::validate
