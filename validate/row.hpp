// One measured training run (or memory budget), as its source states it; the schema is the one of the published rows.
// Absent and null both mean "not stated". A file is a JSON array of rows, or our compact form: an object {"defaults":
// {...}, "rows": [...]}, where each row is merged over the defaults. Keys that we do not read are ignored (sources
// differ); a key that we read and that has the wrong type or range is an error naming file, row and field.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include "sim/core/result.hpp"

namespace twin::validate {

struct Row {
  std::string file;      // stem of the file name: "torchtitan"
  std::string id, kind;  // kind: "" or "step": a training run; "memory", "memory_relative"
  std::string training_kind, completeness, group, notes;
  bool verified = true;

  struct {
    std::string name, attention, positional;
    std::optional<double> params_b;
    std::optional<std::int64_t> layers, hidden, heads, kv_heads, head_dim, ffn, vocab, seq_len, experts;
    std::optional<bool> gated_mlp, tied_embeddings;
  } model;
  struct {
    std::string accelerator, scaleout, scaleup;
    std::optional<std::int64_t> per_node, nodes, total, scaleup_domain;
  } hardware;
  struct {
    std::optional<std::int64_t> tp, pp, vpp, cp, ep, dp, fsdp;
    std::optional<bool> sequence_parallel;
    std::string zero, schedule;
  } parallel;
  struct {
    std::optional<std::int64_t> micro, global, accumulation;
  } batch;
  std::string precision;
  std::string recompute;                         // text, or the granularity of an object; "" not stated
  std::optional<std::int64_t> recompute_layers;  // of an object
  std::map<std::string, std::string> overlap;    // as printed: "TP_COMM_OVERLAP" -> "True"
  std::string framework, mp_mode;
  struct {
    std::optional<double> step_time_s, block_step_time_s, tokens_per_s_per_gpu, tokens_per_s, model_tflops_per_gpu,
        hw_tflops_per_gpu, mfu, hfu, peak_mem_gib, max_memory_gb, step_p05, step_p95;
    std::string mfu_definition;
  } measured;
  struct {  // rows of kind memory
    std::optional<double> params_optimizer_gib, activations_gib;
    std::map<std::string, double> percent;  // of the baseline without recompute and sequence parallelism
  } memory;
};

core::Result<std::vector<Row>> parse_rows(std::string_view text, const std::string& file);
core::Result<std::vector<Row>> read_rows(const std::string& path);
core::Result<std::vector<Row>> embedded_rows();  // validate/published/runs/*.json and memory/*.json, in order of path

}  // namespace twin::validate
