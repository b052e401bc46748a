// What single sources say outside the fields of their rows. Each rule covers a source as a whole.
//
// BLOOM (bigscience tr11-176B chronicles-prequel): the tables print a size, not dimensions. Headings give them by size:
// 181B is 72 x 14336, 177B 96 x 12288, 182B 78 x 13824 or 84 x 13312, 195B 106 x 12288, 176B 70 x 14336. The first
// tables (20 Feb, sizes 194B-200B) are hidden 14400: the tile-quantisation table repeats one of their runs with NHIDDEN
// 14400, NHEADS is 96 there, and their FLOP rates (8 x parameters x tokens) give 80, 78 or 77 layers to four digits.
// All other runs have NHEADS 64 unless a column says otherwise ("all NHEADS=64 (above too)").
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include "validate/infer.hpp"
#include "validate/words.hpp"

namespace twin::validate {
namespace {

// Number at the end of a BLOOM row's id: the line of its table in the source.
int bloom_line(const Row& row) {
  const auto dash = row.id.find_last_of('-');
  const std::string digits = dash == std::string::npos ? "" : row.id.substr(dash + 1);
  const bool number =
      !digits.empty() && digits.size() < 6 && digits.find_first_not_of("0123456789") == std::string::npos;
  return number ? std::stoi(digits) : 0;
}

double size_b(double layers, double hidden, double vocab) {
  return (12 * layers * hidden * hidden + vocab * hidden) / 1e9;
}

void bloom(const Row& row, work::Scenario& s) {
  const int line = bloom_line(row);
  if (line > 0 && line < 900) {
    s.stack.main_grad_fp32 = false;
    s.stack.grad_reduce_fp32 = false;
    s.assumed.emplace_back("gradients accumulate in 16 bits (the source: fp32 accumulation came on 28 February)");
  }
  const std::int64_t layers = s.model.layers, stages = s.parallel.pp;
  if (layers % stages == 0) return;
  s.parallel.layout.clear();
  if ((layers + 2) % stages == 0) {  // partition method type:transformer|embedding
    const int even = static_cast<int>((layers + 2) / stages);
    s.parallel.layout.assign(static_cast<std::size_t>(stages), even);
    s.parallel.layout.front() = s.parallel.layout.back() = even - 1;
    s.assumed.emplace_back("embedding and head count as a layer each (partition method type:transformer|embedding)");
  } else {  // type:transformer: full stages first, the last gets the rest
    const int full = static_cast<int>((layers + stages - 1) / stages);
    std::int64_t left = layers;
    for (std::int64_t i = 0; i < stages; ++i) {
      const std::int64_t after = stages - 1 - i;
      const int here = static_cast<int>(std::clamp<std::int64_t>(left - after, 1, full));
      s.parallel.layout.push_back(here);
      left -= here;
    }
    s.assumed.emplace_back(
        "the last stage has the rest of the layers (the source: 78 layers over 12 stages are 7 each, the last 1)");
  }
}

// fms-fsdp checkpoints every n-th block; HFU / MFU - 1 is the recomputed third of the model FLOPs.
void fms(const Row& row, work::Scenario& s) {
  if (s.recompute != work::Recompute::kSelective || !row.measured.hfu || !row.measured.mfu) return;
  const double fraction = std::clamp(3 * (*row.measured.hfu / *row.measured.mfu - 1), 0.0, 1.0);
  s.recompute = work::Recompute::kFull;
  s.recompute_method = "block";
  s.recompute_layers = std::max(1, static_cast<int>(std::lround(fraction * static_cast<double>(s.model.layers))));
  s.assumed.push_back(
      fmt::format("{} of {} blocks recomputed whole: from HFU over MFU", s.recompute_layers, s.model.layers));
}

void llama3(const Row& row, work::Scenario& s) {
  const std::int64_t stages = s.parallel.pp, layers = s.model.layers;
  if (row.parallel.vpp || stages < 2 || (layers + 2) % stages != 0) return;
  s.parallel.vpp = static_cast<int>((layers + 2) / stages);
  s.parallel.schedule = work::Schedule::kInterleaved1f1b;
  s.parallel.layout.assign(static_cast<std::size_t>(layers + 2), 1);
  s.parallel.layout.front() = s.parallel.layout.back() = 0;
  s.overlap.pp = true;
  s.assumed.push_back(
      fmt::format("{} virtual stages of one layer; the first chunk has the embedding alone, the last the head (one "
                  "layer fewer each, as the paper says)",
                  s.parallel.vpp));
}

void mlperf(const Row& row, work::Scenario& s) {
  const auto flag = [&row](const char* key) {
    const auto it = row.overlap.find(key);
    return it != row.overlap.end() && (it->second == "True" || it->second == "true" || it->second == "1");
  };
  if (flag("FP8_PARAM_GATHER")) s.stack.fp8_param_gather = true;
  if (flag("MCORE_CUDA_GRAPH") || flag("LAYER_CUDA_GRAPH")) s.stack.cuda_graphs = true;
}

}  // namespace

void correct_bloom_dimensions(const Row& row, work::Scenario& s) {
  work::Model& m = s.model;
  const double stated = row.model.params_b.value_or(0);
  const double implied =
      size_b(static_cast<double>(m.layers), static_cast<double>(m.hidden), static_cast<double>(m.vocab));
  const bool contradicts = stated > 0 && std::abs(implied / stated - 1) > 0.02;
  if (contradicts && stated == 181) {
    m.layers = 72, m.hidden = 14336;
    s.assumed.emplace_back(
        "181B is 72 layers of 14336 (the source's headings); the row's dimensions give another size");
  } else if (contradicts && row.measured.hw_tflops_per_gpu && row.measured.step_time_s && row.batch.global &&
             row.hardware.total) {
    const double parameters = *row.measured.hw_tflops_per_gpu * 1e12 * *row.measured.step_time_s *
                              static_cast<double>(*row.hardware.total) /
                              (8.0 * static_cast<double>(*row.batch.global * *row.model.seq_len));
    m.hidden = 14400;
    m.heads = 96;
    m.layers = std::llround(parameters / (12.0 * 14400 * 14400 + 13.0 * 14400));
    s.assumed.push_back(
        fmt::format("{} layers of 14400 with 96 heads (the source's tile-quantisation table and FLOP rate); the row's "
                    "dimensions give another size",
                    m.layers));
  }
  if (m.heads == 0) {
    m.heads = 64;
    s.assumed.emplace_back("64 heads (the source: all NHEADS=64)");
  }
}

// NVIDIA's benchmark recipes reduce and keep gradients in 16 bits (NeMo scripts/performance and Megatron-Bridge perf
// recipes: grad_reduce_in_fp32 = False; MLPerf: grad_sync_dtype bf16). Their fp8 configurations keep the parameters in
// fp8 (mixed_precision: fp8_param_gather; NeMo 24.07: fp8_params); MLPerf's rows state it.
void nvidia_recipe(const Row& row, work::Scenario& s) {
  s.stack.grad_reduce_fp32 = false;
  s.stack.main_grad_fp32 = false;
  s.assumed.emplace_back(
      "gradients reduced and kept in 16 bits (grad_reduce_in_fp32 = False in NVIDIA's perf recipes)");
  if (row.file == "nvidia_megatron_bridge" && s.parallel.shard >= work::Shard::kZero3)
    s.assumed.emplace_back(
        "activations stay on the device: the recipe moves those of some layers to host memory "
        "(cpu_offloading_num_layers), which is not simulated, so the memory is too high");
  if (row.file.starts_with("mlperf") || s.precision < work::Precision::kFp8) return;
  s.stack.fp8_param_gather = true;
  s.assumed.emplace_back("parameters stored and gathered in fp8 (NVIDIA's fp8 recipes: fp8_param_gather)");
}

void infer_source_specifics(const Row& row, work::Scenario& s) {
  if (row.file.starts_with("mlperf") || row.file == "nvidia_dgxc" || row.file == "nvidia_megatron_bridge" ||
      row.file == "nvidia_nemo_2407")
    nvidia_recipe(row, s);
  if (row.file == "bloom_megatron_deepspeed") bloom(row, s);
  if (row.file == "ibm_fms_fsdp") fms(row, s);
  if (row.file == "llama3_paper") llama3(row, s);
  if (row.file.starts_with("mlperf")) mlperf(row, s);
  if (row.file == "megatron_sc21" && row.model.params_b.value_or(100) <= 18 && !has(row.parallel.zero, "ZeRO")) {
    s.overlap.dp_grad = true;
    s.assumed.emplace_back("torch DDP overlaps the gradient reduction up to 18B (the row's overlap note)");
  }
}

}  // namespace twin::validate
