// Accuracy of GEMM times against measured ones, bounds held as numbers.
//   vidur: forward times of Llama-2-70B projections on A100 and H100 (fp16), 1,024-4,096 tokens, tp 1-8 (MIT,
//   microsoft/vidur). Azure: cuBLASLt tables of A100 (bf16) and H100 (fp8) (Azure/AI-benchmarking-guide), in
//   published/facts/microbench.json.
// The shape terms (k_half, wave weight, tile rates, ramp) are held as built in; the level (gemm.<accelerator>) is
// removed by comparing after division by the median ratio, because single-kernel benchmarks run at other clocks than a
// training step.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include "sim/core/embedded.hpp"
#include "tests/device/specs.hpp"

using namespace twin::device;
using namespace twin::device::test;

namespace {

std::string shared_file(const std::string& path) { return std::string(TWIN_SOURCE_DIR) + "/../shared/" + path; }

std::string unzip(const std::string& path) {
  std::string out;
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(("zcat '" + path + "'").c_str(), "r"), pclose);
  REQUIRE(pipe);
  char buffer[1 << 16];
  for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe.get())) > 0;) out.append(buffer, n);
  return out;
}

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> out;
  std::stringstream in(line);
  for (std::string cell; std::getline(in, cell, ',');) out.push_back(cell);
  return out;
}

struct Measured {
  Kernel kernel;
  double seconds;
};

// Projections of one profile with `from` tokens or more.
std::vector<Measured> read_vidur(const std::string& path, std::int64_t from) {
  std::stringstream in(unzip(path));
  std::string line;
  std::getline(in, line);
  std::map<std::string, std::size_t> column;
  for (const auto& name : split(line)) column.emplace(name, column.size());
  std::vector<Measured> out;
  while (std::getline(in, line)) {
    const auto cells = split(line);
    const auto number = [&](const std::string& name) { return std::stod(cells.at(column.at(name))); };
    const auto tokens = static_cast<std::int64_t>(number("num_tokens"));
    const auto tp = static_cast<std::int64_t>(number("num_tensor_parallel_workers"));
    if (tokens < from) continue;
    const auto add = [&](const char* op, std::int64_t n, std::int64_t k) {
      out.push_back({gemm(tokens, n, k, Dtype::kFp16), number("time_stats." + std::string(op) + ".median") * 1e-3});
    };
    add("attn_pre_proj", 10240 / tp, 8192);
    add("attn_post_proj", 8192, 8192 / tp);
    add("mlp_up_proj", 57344 / tp, 8192);
    add("mlp_down_proj", 8192, 28672 / tp);
  }
  return out;
}

double quantile(std::vector<double> v, double q) {
  REQUIRE_FALSE(v.empty());
  std::sort(v.begin(), v.end());
  return v[std::min(v.size() - 1, static_cast<std::size_t>(q * static_cast<double>(v.size())))];
}

struct Score {
  double level, median, p90;
};

Score score(const std::vector<Measured>& rows, const Model& model) {
  std::vector<double> ratio, error;
  for (const auto& r : rows) ratio.push_back(seconds(r.kernel, model, model.spec.sms) / r.seconds);
  const double level = quantile(ratio, 0.5);
  for (double x : ratio) error.push_back(std::abs(x / level - 1));
  return {level, quantile(error, 0.5), quantile(error, 0.9)};
}

Model model_of(const Spec& spec) {
  return resolve(spec, "megatron-core", AttentionKernel::kFlash3, Fp8Recipe::kTensorwise, Constants::builtin());
}

std::vector<Measured> read_azure(const std::string& id, Dtype dtype) {
  std::ifstream in(shared_file("published/facts/microbench.json"));
  std::vector<Measured> out;
  for (const auto& entry : nlohmann::json::parse(in))
    if (entry.at("id") == id)
      for (const auto& row : entry.at("gemm_cublaslt")) {
        const Kernel k = gemm(row.at("n"), row.at("m"), row.at("k"), dtype);  // column-major: its m is our row
        out.push_back({k, k.flops / (row.at("tflops").get<double>() * 1e12)});
      }
  return out;
}

bool have_shared() {
  if (std::filesystem::exists(shared_file("published/facts/microbench.json"))) return true;
  WARN("skipped: ../shared is not there");
  return false;
}

void check(const char* what, const std::vector<Measured>& rows, const Spec& spec, double median, double p90) {
  const Score s = score(rows, model_of(spec));
  WARN(what << ": " << rows.size() << " shapes, predicted/measured level " << s.level << ", shape error median "
            << 100 * s.median << " %, p90 " << 100 * s.p90 << " %");
  CHECK(s.median < median);
  CHECK(s.p90 < p90);
  CHECK(std::abs(std::log(s.level)) < 0.3);  // a level fitted to steps may not leave single kernels by more
}

}  // namespace

TEST_CASE("accuracy: projections of Llama-2-70B on A100 and H100", "[device][shared][slow]") {
  if (!have_shared()) return;
  const std::string folder = "traces/step_time/vidur_compute_profiles/";
  const auto a = read_vidur(shared_file(folder + "a100_Llama-2-70b_mlp.csv.gz"), 1024);
  const auto h = read_vidur(shared_file(folder + "h100_Llama-2-70b_mlp.csv.gz"), 1024);
  REQUIRE(a.size() > 2000);
  REQUIRE(h.size() > 2000);
  check("vidur A100", a, a100(), 0.035, 0.10);
  check("vidur H100", h, h100(), 0.055, 0.16);
}

TEST_CASE("accuracy: cuBLASLt tables of A100 and H100", "[device][shared][slow]") {
  if (!have_shared()) return;
  check("Azure A100 bf16", read_azure("azure-ND_A100_v4", Dtype::kBf16), a100(), 0.08, 0.25);
  check("Azure H100 fp8", read_azure("azure-ND_H100_v5", Dtype::kFp8), h100(), 0.08, 0.35);
}

TEST_CASE("accuracy: FlashAttention-2 forward rates of A100 and H100 at the start values", "[device][shared][slow]") {
  if (!have_shared()) return;
  std::ifstream in(shared_file("published/facts/microbench.json"));
  const auto facts = nlohmann::json::parse(in);
  const auto start = *Constants::parse(twin::core::embedded("sim/device/constants.json"), "sim/device/constants.json");
  for (const auto& [id, spec] : {std::pair{"azure-ND_A100_v4", a100()}, std::pair{"azure-ND_H100_v5", h100()}}) {
    const Model model = resolve(spec, "megatron-core", AttentionKernel::kFlash2, Fp8Recipe::kTensorwise, start);
    Kernel k;  // the guide does not state the shape; 8,192 tokens, 128 per head, causal counted half
    k.kind = KernelKind::kAttention;
    k.m = k.n = 8192;
    k.k = 128;
    k.batch = 32;
    k.flops = 4.0 * 32 * 8192 * 8192 * 128 / 2;
    const double rate = k.flops / seconds(k, model, spec.sms) * 1e-12;
    for (const auto& fact : facts)
      if (fact.at("id") == id) {
        const double error = rate / fact.at("flash_attention2_tflops").get<double>() - 1;
        WARN(spec.name << ": FlashAttention-2 forward " << rate << " TFLOP/s, error " << 100 * error << " %");
        CHECK(std::abs(error) < 0.2);
      }
  }
}
