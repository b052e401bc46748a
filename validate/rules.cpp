#include "validate/rules.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include "validate/words.hpp"

namespace twin::validate {
namespace {

using work::Precision;
using work::Shard;

struct NodeRule {
  std::string_view accelerator;  // lower-case prefix of hardware.accelerator
  std::string_view scaleout;     // lower-case substring of hardware.scaleout; empty: any
  std::string_view node;
  std::string_view nic;  // override of nic.bandwidth, or empty
  std::string_view assumed;
};

// First match wins.
constexpr std::array kNodes = {
    NodeRule{"a100", "omni-path", "jean-zay-a100", "", ""},
    NodeRule{"a100", "800 gb/s per node", "a100-8x100g", "", ""},
    NodeRule{"a100", "400 gb/s per node", "a100-400g", "", ""},
    NodeRule{"a100-sxm-40gb", "1600 gb/s", "a100-40gb-roce-1600", "", ""},
    NodeRule{"a100-sxm-40gb", "", "dgx-a100-40gb", "", ""},
    NodeRule{"a100", "1600 gb/s", "a100-roce-1600", "", ""},
    NodeRule{"a100", "", "dgx-a100", "", ""},
    NodeRule{"h100-sxm-96gb", "", "h100-hbm2e-8", "", ""},
    NodeRule{"h100", "800 gb/s per node", "dgx-h100", "x0.25", "800 Gb/s per node taken as 8 NICs of 100 Gb/s"},
    NodeRule{"h100", "", "dgx-h100", "", ""},
    NodeRule{"h200", "", "dgx-h200", "", ""},
    NodeRule{"gb200", "", "gb200-nvl72", "", ""},
    NodeRule{"gb300", "", "gb300-nvl72", "", ""},
    NodeRule{"b200", "", "dgx-b200", "", ""},
    NodeRule{"b300", "", "dgx-b300", "", ""},
    NodeRule{"mi300x", "", "mi300x-8", "", ""},
    NodeRule{"mi325x", "", "mi325x-8", "", ""},
    NodeRule{"mi350x", "", "mi350x-8", "", ""},
    NodeRule{"mi355x", "", "mi355x-8", "", ""},
    NodeRule{"l40s", "", "l40s-8", "", ""},
    NodeRule{"gaudi2", "", "gaudi2-8", "", ""},
};

}  // namespace

const std::vector<SourceRule>& source_rules() {
  static const std::vector<SourceRule> rules = {
      {"bloom_megatron_deepspeed", "bigscience", "bloom", Shard::kZero1, false, false, Precision::kFp8, 0.038,
       "BigScience Megatron-DeepSpeed: CUDA_LAUNCH_BLOCKING=1, so nothing overlaps"},
      {"vtrain_multi_node", "megatron-deepspeed", "megatron-deepspeed", Shard::kDdp, false, false, Precision::kFp8,
       0.02, "Megatron-DeepSpeed without ZeRO: one all-reduce of all gradients after the last backward"},
      {"vtrain_single_node", "", "megatron-deepspeed", Shard::kDdp, false, false, Precision::kFp8, 0.02,
       "Megatron-DeepSpeed without ZeRO: one all-reduce of all gradients after the last backward"},
      {"megatron_sc21", "megatron-lm v2", "megatron-lm-2021", Shard::kDdp, false, false, Precision::kFp8, 0.02,
       "Megatron-LM of 2021: no TP overlap; local DDP reduces gradients after the last backward"},
      {"korthikanti_2022", "megatron-lm 2022", "megatron-lm-2022", Shard::kDdp, false, false, Precision::kFp8, 0.02,
       "Megatron-LM of 2022: no TP overlap; local DDP reduces gradients after the last backward"},
      {"mosaicml_llmfoundry", "llm-foundry", "llm-foundry", Shard::kFsdpFull, false, true, Precision::kFp8, 0.02,
       "llm-foundry: PyTorch FSDP1, prefetch by the limiter of two all-gathers"},
      {"torchtitan", "torchtitan", "torchtitan", Shard::kFsdp2Full, false, true, Precision::kFp8Tensorwise, 0.03,
       "TorchTitan: FSDP2, explicit prefetch; TP overlap only with async_tp"},
      {"ibm_fms_fsdp", "fsdp + compile (ibm)", "fms-fsdp", Shard::kFsdpFull, false, true, Precision::kFp8, 0.03,
       "fms-fsdp: PyTorch FSDP1 with torch.compile"},
      {"nvidia_automodel", "automodel", "automodel", Shard::kFsdp2Full, false, true, Precision::kFp8Tensorwise, 0.03,
       "NeMo AutoModel: FSDP2"},
      {"amd_primus", "primus", "primus", Shard::kFsdp2Full, false, true, Precision::kFp8, 0.03,
       "Primus on Megatron-LM with PyTorch FSDP2"},
      {"llama3_paper", "ncclx", "meta-llama3", Shard::kFsdp2GradOp, false, true, Precision::kFp8Rowwise, 0.03,
       "Llama 3 paper: parameters not resharded after the forward pass; interleaved 1F1B with asynchronous p2p"},
      {"simumax_b200", "megatron-lm 23e00ed", "megatron-core", Shard::kZero1, false, false, Precision::kFp8, 0.02,
       "Megatron-LM flags' defaults: no TP overlap, no overlap of gradient reduction or parameter gather"},
      {"nvidia_megatron_bridge", "megatron-bridge", "megatron-core", Shard::kZero1, true, true,
       Precision::kFp8Tensorwise, 0.025,
       "Megatron-Bridge performance recipes: userbuffers TP overlap, gradient reduction and parameter gather "
       "overlapped"},
      {"nvidia_dgxc", "dgxc", "megatron-core", Shard::kZero1, true, true, Precision::kFp8, 0.039,
       "NeMo recipes of dgxc-benchmarking: userbuffers TP overlap, gradient reduction and parameter gather overlapped"},
      {"nvidia_nemo_2407", "nemo 24", "megatron-core", Shard::kZero1, true, true, Precision::kFp8, 0.02,
       "NeMo 24.07 recipes: userbuffers TP overlap, gradient reduction and parameter gather overlapped"},
      {"mlperf_gpt3", "nemo", "megatron-core", Shard::kZero1, true, true, Precision::kFp8, 0.012,
       "MLPerf GPT-3 by NeMo: userbuffers TP overlap, distributed optimizer with overlapped reduction and gather"},
      {"mlperf_llama31_8b", "mlperf", "megatron-core", Shard::kZero1, true, true, Precision::kFp8, 0.012,
       "MLPerf Llama by NeMo: distributed optimizer with overlapped reduction and gather"},
      {"mlperf_llama31_405b", "", "megatron-core", Shard::kZero1, true, true, Precision::kFp8, 0.012,
       "MLPerf Llama by NeMo: userbuffers TP overlap, distributed optimizer with overlapped reduction and gather"},
      {"", "", "megatron-core", Shard::kZero1, false, false, Precision::kFp8, 0.03,
       "unknown framework: Megatron-core with its flags' defaults"},
  };
  return rules;
}

const SourceRule& rule_for(const Row& row) {
  const auto& rules = source_rules();
  for (const SourceRule& rule : rules)
    if (!rule.file.empty() && row.file == rule.file) return rule;
  const std::string framework = lower(row.framework);
  for (const SourceRule& rule : rules)
    if (!rule.framework.empty() && has(framework, rule.framework)) return rule;
  return rules.back();
}

topo::ClusterRef cluster_for(const Row& row, std::vector<std::string>& assumed) {
  topo::ClusterRef cluster;
  const std::string accelerator = lower(row.hardware.accelerator);
  const std::string scaleout = lower(row.hardware.scaleout);
  for (const NodeRule& rule : kNodes) {
    if (!accelerator.starts_with(rule.accelerator) || !has(scaleout, rule.scaleout)) continue;
    cluster.node = rule.node;
    if (!rule.nic.empty()) cluster.overrides["nic.bandwidth"] = rule.nic;
    if (!rule.assumed.empty()) assumed.emplace_back(rule.assumed);
    break;
  }
  if (cluster.node.empty()) return cluster;
  if (row.file == "llama3_paper") cluster.fabric = "llama3-roce-24k";
  const bool silent =
      scaleout.empty() || has(scaleout, "typical") || has(scaleout, "not stated") || scaleout == "ethernet";
  if (silent && row.hardware.total.value_or(1) > row.hardware.per_node.value_or(8))
    assumed.push_back("scale-out network: the usual one of " + cluster.node);
  if (has(accelerator, "not stated")) assumed.emplace_back("A100 with 80 GB (memory size not stated)");
  const std::int64_t per_node = row.hardware.per_node.value_or(8), total = row.hardware.total.value_or(per_node);
  cluster.nodes = static_cast<int>((total + per_node - 1) / per_node);
  if (total < per_node)
    cluster.inline_json =
        fmt::format(R"({{"node": {{"base": "{}", "per_node": {}}}, "nodes": 1}})", cluster.node, total);
  if (row.hardware.scaleup_domain.value_or(0) == 72 && total > 72 && total % 64 == 0) {
    cluster.overrides["nvlink.domain"] = "16";
    assumed.emplace_back("64 GPUs of each NVL72 rack: jobs are placed in segments of 16 trays (Slurm --segment=16)");
  }
  cluster.where = row.file + ".json: row '" + row.id + "': hardware";
  return cluster;
}

std::string accelerator_key(const std::string& accelerator) {
  const std::string name = lower(accelerator);
  if (has(name, "tpu") || name.starts_with("v5") || name.starts_with("v6") || name.starts_with("v4") ||
      has(name, "ironwood"))
    return "tpu";
  if (name.starts_with("h100-sxm-96gb")) return "h100-96gb-500w";
  for (const std::string_view key : {"gb300", "gb200", "b300", "b200", "h200", "h100", "h800", "gh200", "a100", "v100",
                                     "mi300x", "mi325x", "mi350x", "mi355x", "l40s", "gaudi2"})
    if (name.starts_with(key)) return std::string(key);
  return {};
}

Family family_of(const Row& row) {
  const std::string name = lower(row.model.name);
  if (has(name, "bloom")) return Family::kBloom;
  if (has(name, "mpt")) return Family::kMpt;
  if (has(name, "nemotron")) return Family::kNemotron;
  if (has(name, "llama") || row.model.gated_mlp.value_or(false)) return Family::kLlama;
  return Family::kGpt;
}

}  // namespace twin::validate
