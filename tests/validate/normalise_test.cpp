// The normaliser on the published dense rows that are part of the binary: how many become scenarios, what is inferred
// for one row of each source, and how contradictions and malformed rows end.
#include "validate/normalise.hpp"
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include "validate/compact.hpp"
#include "validate/rules.hpp"

using namespace twin;
using validate::Normalised;
using validate::Row;

namespace {

core::Result<work::Stack> any_stack(const std::string& name) {
  work::Stack stack;
  stack.name = name;
  return stack;
}

const std::vector<Row>& rows() {
  static const std::vector<Row> all = [] {
    auto read = validate::embedded_rows();
    REQUIRE(read);
    return *read;
  }();
  return all;
}

Normalised find(const std::string& id) {
  for (const Row& row : rows())
    if (row.id == id) return validate::normalise(row, any_stack);
  FAIL("no row " + id);
  return {};
}

bool assumes(const work::Scenario& s, const std::string& part) {
  return std::any_of(s.assumed.begin(), s.assumed.end(),
                     [&](const std::string& a) { return a.find(part) != std::string::npos; });
}

Row parse_one(const std::string& text) {
  auto read = validate::parse_rows("[" + text + "]", "test.json");
  REQUIRE(read);
  return read->front();
}

nlohmann::json small() {
  return nlohmann::json::parse(R"({"id":"a","training_kind":"pretrain","completeness":"full",
    "model":{"name":"LLAMA3_8B","layers":32,"hidden":4096,"heads":32,"kv_heads":8,"ffn":14336,"gated_mlp":true,"vocab":128256,"seq_len":8192},
    "hardware":{"accelerator":"H100-SXM-80GB","per_node":8,"total":16},
    "parallelism":{"tp":2,"pp":1},"batch":{"micro":1,"global_":16},"precision":"bf16","software":{"framework":"NeMo 25"},
    "measured":{"step_time_s":1.5}})");
}

}  // namespace

TEST_CASE("every dense row becomes a scenario", "[validate][fast]") {
  std::map<std::string, int> count;
  int steps = 0, stated = 0;
  for (const Row& row : rows()) {
    if (!row.kind.empty()) continue;
    const Normalised n = validate::normalise(row, any_stack);
    INFO(row.id << ": " << n.skipped);
    REQUIRE(n.scenario);
    CHECK(n.measured_s.value() > 0);
    ++count[row.file];
    if (!n.apart) {  // vtrain_single_node calibrates its stack's host costs and is no part of the accuracy figures
      ++steps;
      stated += n.measured_from == "step_time_s";
    }
    const work::Scenario& s = *n.scenario;
    CHECK(s.parallel.tp * s.parallel.pp * s.parallel.dp == n.world);
    CHECK(s.batch.global % (s.parallel.dp * s.batch.micro) == 0);
    CHECK(s.model.heads % s.parallel.tp == 0);
    if (!s.parallel.layout.empty()) {
      std::int64_t sum = 0;
      for (const int layers : s.parallel.layout) sum += layers;
      CHECK(sum == s.model.layers);
      CHECK(static_cast<int>(s.parallel.layout.size()) == s.parallel.pp * s.parallel.vpp);
    }
  }
  CHECK(steps == 435);
  CHECK(stated == 432);
  const std::map<std::string, int> expected = {{"amd_primus", 2},         {"bloom_megatron_deepspeed", 80},
                                               {"ibm_fms_fsdp", 4},       {"korthikanti_2022", 6},
                                               {"llama3_paper", 1},       {"megatron_sc21", 4},
                                               {"mlperf_gpt3", 18},       {"mlperf_llama31_8b", 7},
                                               {"nvidia_dgxc", 36},       {"mosaicml_llmfoundry", 136},
                                               {"nvidia_nemo_2407", 13},  {"nvidia_megatron_bridge", 30},
                                               {"simumax_b200", 12},      {"torchtitan", 17},
                                               {"vtrain_multi_node", 69}, {"vtrain_single_node", 940}};
  CHECK(count == expected);
}

TEST_CASE("BLOOM: sizes, heads and stages that only the source's text gives", "[validate][fast]") {
  const Normalised first = find("bloom-200B-h13312-360gpu-pp5-dp9-mbs1-476");
  CHECK(first.scenario->model.hidden == 14400);
  CHECK(first.scenario->model.layers == 80);  // 199.1e9 parameters by the published rate: (12 h^2 + 13 h) x 80
  CHECK(first.scenario->model.heads == 96);
  CHECK(find("bloom-194B-h13312-384gpu-pp6-dp8-mbs1-477").scenario->model.layers == 78);
  CHECK(find("bloom-195B-h13312-352gpu-pp11-dp4-mbs1-482").scenario->model.layers == 77);
  const Normalised big = find("bloom-181B-h12288-384gpu-pp6-dp8-mbs4-775");
  CHECK(big.scenario->model.layers == 72);
  CHECK(big.scenario->model.hidden == 14336);
  CHECK(big.scenario->model.heads == 64);
  CHECK(assumes(*big.scenario, "181B is 72 layers of 14336"));
  const Normalised uneven = find("bloom-182B-h13824-384gpu-pp12-dp8-mbs2-831");
  CHECK(uneven.scenario->parallel.layout == std::vector<int>{7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 1});
  const Normalised balanced = find("bloom-176B-h14336-384gpu-pp12-dp8-mbs2-946");
  CHECK(balanced.scenario->parallel.layout == std::vector<int>{5, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 5});
  CHECK(balanced.scenario->stack.main_grad_fp32);
  CHECK_FALSE(uneven.scenario->stack.main_grad_fp32);
}

TEST_CASE("sources' defaults", "[validate][fast]") {
  const auto dgxc = find("dgxc-v25.05-Nemotron-340B-GB200-128-bf16");
  CHECK(dgxc.scenario->cluster.node == "gb200-nvl72");
  CHECK(dgxc.scenario->cluster.nodes == 32);
  CHECK(dgxc.scenario->overlap.tp);
  CHECK(dgxc.scenario->assumed ==
        std::vector<std::string>{"Nemotron: LayerNorm, no biases, separate head, rotary positions",
                                 "scale-out network: the usual one of gb200-nvl72",
                                 "64 GPUs of each NVL72 rack: jobs are placed in segments of 16 trays (Slurm "
                                 "--segment=16)",
                                 "recompute none where not stated",
                                 "NeMo recipes of dgxc-benchmarking: userbuffers TP overlap, gradient reduction and "
                                 "parameter gather overlapped",
                                 "gradients reduced and kept in 16 bits (grad_reduce_in_fp32 = False in NVIDIA's perf "
                                 "recipes)"});
  CHECK_FALSE(dgxc.scenario->stack.fp8_param_gather);
  CHECK(find("dgxc-v25.04-Nemotron-15B-H100-16-fp8").scenario->stack.fp8_param_gather);
  const auto pure = find("llmfoundry-30b-a100_40gb-32-seq2048-bf16-mbs4-ga1");
  CHECK(pure.scenario->stack.name == "llm-foundry-pure");
  CHECK(pure.scenario->parallel.shard == work::Shard::kFsdpFull);
  const auto hsdp = find("fmsfsdp-7b-A100");
  CHECK(hsdp.scenario->parallel.shard == work::Shard::kFsdpHybrid);
  CHECK(hsdp.scenario->parallel.shard_size == 8);
  const auto blocks = find("fmsfsdp-13b-A100");  // HFU 0.69 over MFU 0.61: 3 x 0.131 = 39 % of 40 blocks
  CHECK(blocks.scenario->recompute == work::Recompute::kFull);
  CHECK(blocks.scenario->recompute_layers == 16);
  const auto titan = find("torchtitan-8b-fsdp8-eager");
  CHECK(titan.scenario->stack.name == "torchtitan-eager");
  const auto rowwise = find("torchtitan-70b25-async-fp8_rowwise");
  CHECK(rowwise.scenario->precision == work::Precision::kFp8Rowwise);
  CHECK(rowwise.scenario->overlap.tp);
  CHECK_FALSE(find("torchtitan-70b25-vanilla-bf16").scenario->overlap.tp);
  const auto fsdp = find("mbridge-25.11-LLAMA3_70B-GB200-64-FP8-CS-gbs256-tp1pp1cp1vp1ep1");
  CHECK(fsdp.scenario->parallel.shard == work::Shard::kFsdp2Full);
  CHECK(fsdp.scenario->precision == work::Precision::kFp8Tensorwise);
  const auto sc21 = find("sc21-1.7B");
  CHECK(sc21.scenario->overlap.dp_grad);
  CHECK_FALSE(find("sc21-145B").scenario->overlap.dp_grad);
}

TEST_CASE("the Llama 3 paper's row: layout and time by its own convention", "[validate][fast]") {
  const auto n = find("llama3-405b-8192-cp1");
  CHECK(n.scenario->parallel.vpp == 8);
  CHECK(n.scenario->parallel.layout.front() == 0);
  CHECK(n.scenario->parallel.layout.back() == 0);
  CHECK(n.measured_from == "model_tflops_per_gpu");
  // 6 x 405.9e9 + 12 x 126 x 16384 x 8192 = 2.638e12 FLOPs a token; 2048 x 8192 tokens over 8192 x 430e12 FLOP/s.
  CHECK(n.measured_s.value() == Approx(2.638e12 * 2048 * 8192 / (8192 * 430e12)).epsilon(0.002));
}

TEST_CASE("skips have a reason, contradictions too", "[validate][fast]") {
  const auto reason = [](const nlohmann::json& row) {
    return validate::normalise(parse_one(row.dump()), any_stack).skipped;
  };
  nlohmann::json row = small();
  CHECK(reason(row).empty());
  row["model"]["experts"] = 8;
  CHECK(reason(row) == "mixture of experts");
  row = small(), row["parallelism"]["cp"] = 2;
  CHECK(reason(row) == "context parallelism");
  row = small(), row["training_kind"] = "lora";
  CHECK(reason(row) == "lora");
  row = small(), row["precision"] = "NVFP4";
  CHECK(reason(row) == "fp4");
  row = small(), row["hardware"]["accelerator"] = "TPU-v5p";
  CHECK(reason(row) == "TPU");
  row = small(), row["batch"].erase("micro");
  CHECK(reason(row) == "micro batch not stated");
  row = small(), row["batch"]["global_"] = 17;
  CHECK(reason(row) == "replicas x micro batch do not divide the global batch");
  row = small(), row["parallelism"]["tp"] = 5;
  CHECK(reason(row) == "tp x pp does not divide the accelerators");
  row = small(), row["hardware"]["accelerator"] = "Foo-1";
  CHECK(reason(row) == "accelerator not in the catalog: Foo-1");
  row = small(), row["measured"] = nlohmann::json::object();
  CHECK(reason(row) == "no step time, tokens/s or TFLOP/s stated");
}

TEST_CASE("the measured time falls back in the stated order", "[validate][fast]") {
  nlohmann::json row = small();
  row["measured"] = {{"block_step_time_s", 2.0}, {"tokens_per_s", 65536}};
  CHECK(validate::normalise(parse_one(row.dump()), any_stack).measured_s.value() == 2.0);
  row["measured"] = {{"tokens_per_s", 65536}};
  CHECK(validate::normalise(parse_one(row.dump()), any_stack).measured_s.value() == Approx(16.0 * 8192 / 65536));
  row["measured"] = {{"tokens_per_s_per_gpu", 4096}};
  CHECK(validate::normalise(parse_one(row.dump()), any_stack).measured_s.value() == Approx(16.0 * 8192 / 65536));
}

TEST_CASE("malformed rows name file, row and field", "[validate][fast]") {
  const auto error = [](const nlohmann::json& row) {
    auto read = validate::parse_rows("[" + row.dump() + "]", "bad.json");
    REQUIRE_FALSE(read);
    return read.error().text();
  };
  nlohmann::json row = small();
  row["model"]["layers"] = "many";
  CHECK(error(row) == "bad.json: row 1 'a': field model.layers: expected a whole number in 1..100000, found \"many\"");
  row = small(), row["parallelism"] = 3;
  CHECK(error(row) == "bad.json: row 1 'a': field parallelism: expected an object, found 3");
  row = small(), row["measured"]["step_time_s"] = -1;
  CHECK(error(row) == "bad.json: row 1 'a': field measured.step_time_s: expected a number > 0, found -1");
  row = small(), row.erase("id");
  CHECK(error(row) == "bad.json: row 1: field id: expected a string, found nothing");
  CHECK(validate::parse_rows("{\"rows\": 3}", "bad.json").error().text() ==
        "bad.json: expected an array of rows, found 3");
  const std::string twice = "[" + small().dump() + "," + small().dump() + "]";
  CHECK(validate::parse_rows(twice, "bad.json").error().message.find("occurs twice") != std::string::npos);
}

TEST_CASE("the compact form reads back to the same rows", "[validate][fast]") {
  nlohmann::json first = small(), second = small();
  second["id"] = "b";
  second["measured"]["step_time_s"] = 1.25;
  second["overlap"] = {{"async_tp", true}};
  first["model"]["unread"] = 5;
  const std::string text = "[" + first.dump() + "," + second.dump() + "]";
  auto compact = validate::compact_rows(text, "x.json", any_stack);
  REQUIRE(compact);
  CHECK(compact->find("unread") == std::string::npos);
  auto back = validate::parse_rows(*compact, "x.json");
  REQUIRE(back);
  REQUIRE(back->size() == 2);
  CHECK((*back)[0].measured.step_time_s.value() == 1.5);
  CHECK((*back)[1].measured.step_time_s.value() == 1.25);
  CHECK((*back)[1].overlap.at("async_tp") == "true");
  CHECK((*back)[1].model.kv_heads.value() == 8);
}

TEST_CASE("memory budgets become cases per category", "[validate][fast]") {
  int cases = 0;
  for (const Row& row : rows())
    if (!row.kind.empty())
      for (const auto& c : validate::memory_cases(row, rows(), any_stack)) {
        INFO(c.id << ": " << c.skipped);
        REQUIRE(c.scenario);
        CHECK((c.unit == "%") == c.baseline.has_value());
        ++cases;
      }
  CHECK(cases == 24);  // 6 budgets of two categories, 3 relative rows of four techniques
}
