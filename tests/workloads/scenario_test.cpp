// Reading scenarios, --set, round trips of the effective dump, the schema, consistency checks, golden messages.
#include "workloads/scenario_reader.hpp"

#include <catch2/catch.hpp>
#include <numeric>
#include <random>
#include "sim/core/embedded.hpp"
#include "workloads/catalog.hpp"

using namespace twin;
using nlohmann::json;

namespace {

json small() {
  return {{"model", "llama3-8b"},
          {"cluster", "dgx-h100x2"},
          {"parallel", {{"tp", 2}, {"pp", 2}}},
          {"batch", {{"global", 64}, {"micro", 1}, {"seq", 8192}}}};
}

std::string problem(const json& j) {
  const auto s = work::scenario_from_json(j, "a.json");
  if (!s) return s.error().text();
  const auto v = work::validate_scenario(*s, 16);
  return v ? "" : v.error().text();
}

json with(const std::string& assignment) {
  json j = small();
  const auto r = work::apply_set(j, assignment);
  INFO((r ? "" : r.error().text()));
  REQUIRE(r);
  return j;
}

std::string set_problem(const std::string& assignment) {
  json j = small();
  const auto r = work::apply_set(j, assignment);
  return r ? "" : r.error().text();
}

}  // namespace

TEST_CASE("defaults are neutral and lengths come from the model", "[fast]") {
  const auto s = work::read_scenario(
      R"({"model": "llama3-8b", /* a comment */ "cluster": "dgx-h100x1", "batch": {"global": 8}})", "a.json");
  REQUIRE(s);
  CHECK((s->parallel.tp == 1 && s->parallel.pp == 1 && s->parallel.vpp == 1 && s->parallel.dp == 0 &&
         s->parallel.sp == -1));
  CHECK(s->parallel.shard == work::Shard::kZero1);
  CHECK(s->parallel.schedule == work::Schedule::kNone);
  CHECK(s->batch.micro == 1);
  CHECK(s->batch.seq == 8192);
  CHECK(s->precision == work::Precision::kBf16);
  CHECK((s->overlap.tp && s->overlap.dp_grad && s->overlap.dp_param && s->overlap.pp));
  CHECK(s->stack.name == "megatron-core");
  CHECK(s->cluster.name == "dgx-h100x1");
  CHECK(s->cluster.where == "a.json: cluster");
}

TEST_CASE("the default scenario is consistent on its cluster", "[fast]") {
  const auto j = work::load_scenario_json("");
  REQUIRE(j);
  const auto s = work::scenario_from_json(*j, "default scenario");
  INFO((s ? "" : s.error().text()));
  REQUIRE(s);
  CHECK(s->cluster.node == "dgx-h100");
  CHECK(s->cluster.nodes == 2048);
  const auto v = work::validate_scenario(*s, 16384);
  INFO((v ? "" : v.error().text()));
  CHECK(v);
  CHECK(s->parallel.shard == work::Shard::kFsdp2GradOp);
}

TEST_CASE("the effective dump reads back to the same scenario", "[fast]") {
  std::vector<json> scenarios{small(), *work::load_scenario_json("")};
  json j = small();
  j["model"] = {{"base", "llama3-8b"}, {"layers", 30}};
  j["cluster"] = {{"node", "dgx-h100"}, {"nodes", 2}, {"override", {{"nic.bandwidth", "x2"}}}};
  j["parallel"] = {{"tp", 2},
                   {"pp", 2},
                   {"dp", 4},
                   {"layout", {14, 16}},
                   {"shard", "fsdp2-hybrid"},
                   {"shard_size", 2},
                   {"sp", false},
                   {"schedule", "gpipe"},
                   {"order", "tp-cp-ep-pp-dp"}};
  j["recompute"] = {{"granularity", "full"}, {"method", "block"}, {"layers", 3}};
  j["software"] = {{"base", "torchtitan"}, {"attention", "flash3"}};
  j["precision"] = "fp8-rowwise";
  j["overlap"] = {{"tp", false}};
  j["faults"] = {{{"slow", {{"rank", 3}, {"factor", 1.5}}}},
                 {{"link", {{"match", "nic:node1/2"}, {"capacity", 0.25}}}}};
  j["assumed"] = {"vocabulary 50257"};
  scenarios.push_back(j);
  for (const auto& one : scenarios) {
    const auto first = work::scenario_from_json(one, "a.json");
    INFO((first ? "" : first.error().text()));
    REQUIRE(first);
    const json dump = work::scenario_to_json(*first);
    const auto again = work::read_scenario(dump.dump(2), "a.json");
    INFO(dump.dump(2) << (again ? "" : again.error().text()));
    REQUIRE(again);
    CHECK(work::scenario_to_json(*again) == dump);
    CHECK(again->model.parameters() == first->model.parameters());
    CHECK(again->cluster.inline_json == first->cluster.inline_json);
    CHECK(again->recompute_layers == first->recompute_layers);
  }
  const auto s = work::scenario_from_json(j, "a.json");
  const json dump = work::scenario_to_json(*s);
  CHECK(dump["parallel"]["layout"] == json({14, 16}));
  CHECK(dump["faults"] == j["faults"]);
  CHECK(dump["recompute"] == j["recompute"]);
  CHECK(s->cluster.overrides.at("nic.bandwidth") == "x2");
  CHECK(dump["cluster"] == j["cluster"]);
}

TEST_CASE("--set reads JSON, else strings, and changes a field of a named model", "[fast]") {
  CHECK(work::scenario_from_json(with("parallel.tp=4"), "a")->parallel.tp == 4);
  CHECK(work::scenario_from_json(with("precision=fp8"), "a")->precision == work::Precision::kFp8);
  CHECK(work::scenario_from_json(with("parallel.layout=[15,17]"), "a")->parallel.layout == std::vector<int>{15, 17});
  CHECK(work::scenario_from_json(with("parallel.sp=false"), "a")->parallel.sp == 0);
  CHECK(work::scenario_from_json(with("model.layers=16"), "a")->model.layers == 16);
  CHECK(work::scenario_from_json(with("software=torchtitan"), "a")->stack.sac_per_op);
  CHECK(work::scenario_from_json(with("software.cuda_graphs=true"), "a")->stack.cuda_graphs);
  CHECK(work::scenario_from_json(with("recompute=full"), "a")->recompute == work::Recompute::kFull);
  json j = with("recompute=full");
  REQUIRE(work::apply_set(j, "recompute.layers=2"));
  CHECK(work::scenario_from_json(j, "a")->recompute_layers == 2);
  CHECK(with("cluster.override.nic.bandwidth=x2")["cluster"] ==
        json({{"base", "dgx-h100x2"}, {"override", {{"nic.bandwidth", "x2"}}}}));
  const auto changed = work::scenario_from_json(with("cluster.override.nic.bandwidth=x2"), "a");
  REQUIRE(changed);
  CHECK((changed->cluster.name == "dgx-h100x2" && changed->cluster.inline_json.empty()));
  CHECK(changed->cluster.overrides.at("nic.bandwidth") == "x2");
  CHECK(work::scenario_to_json(*changed)["cluster"] == with("cluster.override.nic.bandwidth=x2")["cluster"]);
  CHECK(problem(with("cluster.fabrik=x")).find("a.json: cluster.fabrik: ") == 0);
  CHECK(set_problem("parallel.pt=4") ==
        "--set parallel.pt=4: expected a scenario field, found \"parallel.pt\" (did you mean \"parallel.tp\"?)");
  CHECK(set_problem("tp=4") == "--set tp=4: expected a scenario field, found \"tp\" (did you mean \"parallel.tp\"?)");
  CHECK(set_problem("parallel.tp") ==
        "--set parallel.tp: expected key=value, found no \"=\" after a key (for example --set parallel.tp=4)");
  CHECK(problem(with("parallel.tp=x")) == "a.json: parallel.tp: expected a whole number in 1..4194304, found \"x\"");
}

TEST_CASE("messages of typical mistakes", "[fast][golden]") {
  const auto set = [](const std::string& a) { return problem(with(a)); };
  CHECK(problem(small()).empty());
  CHECK(set("parallel.tp=3") ==
        "a.json: parallel.tp: expected a divisor of the model's 32 heads, found 3 (tp = 2 or 4 would do)");
  CHECK(set("batch.global=63") ==
        "a.json: batch.global: expected a multiple of micro x dp = 1 x 4 = 4, found 63 (global = 64 would do)");
  CHECK(set("parallel.vpp=8") == "");
  CHECK(set("parallel.vpp=18") ==
        "a.json: parallel.pp: expected at most layers + 2 = 34 chunks, found pp x vpp = 2 x 18 = 36");
  CHECK(set("parallel.layout=[16,15]") == "a.json: parallel.layout: expected a sum of the model's 32 layers, found 31");
  CHECK(set("parallel.layout=[16,8,8]") ==
        "a.json: parallel.layout: expected 2 entries, one a chunk (pp x vpp = 2 x 1), found 3");
  CHECK(set("batch.seq=8191") ==
        "a.json: batch.seq: expected a multiple of tp = 2 with sequence parallelism, found 8191 (seq = 8192 would do, "
        "or \"sp\": false)");
  CHECK(set("parallel.dp=3") ==
        "a.json: parallel.dp: expected 4 (cluster's 16 devices / tp x cp x pp = 4), found 3 (\"auto\" takes what is "
        "left)");
  CHECK(set("parallel.pp=3") ==
        "a.json: parallel: expected tp x cp x pp to divide the cluster's 16 devices, found 2 x 1 x 3 = 6");
  CHECK(set("parallel.cp=2")
            .find("a.json: parallel.cp: expected 1 (context parallelism is not simulated yet), found 2") == 0);
  CHECK(set("parallel.schedule=zb-h1")
            .find("a.json: parallel.schedule: expected one of auto, gpipe, 1f1b, interleaved-1f1b (\"zb-h1\" is not "
                  "simulated yet)") == 0);
  CHECK(set("parallel.shard=zero1") ==
        "a.json: parallel.shard: expected one of ddp, zero-1, zero-2, zero-3, fsdp-full, fsdp-grad-op, fsdp-hybrid, "
        "fsdp2-full, fsdp2-grad-op, fsdp2-hybrid, found \"zero1\" (did you mean \"zero-1\"?)");
  CHECK(set("parallel.order=tp-dp-pp").find("a.json: parallel.order: expected each of tp, cp, ep, dp, pp once") == 0);
  CHECK(set("precision=nvfp4").find("not simulated yet") != std::string::npos);
  CHECK(set("parallel.shard_size=2")
            .find("a.json: parallel.shard_size: expected no shard_size with shard zero-1, found 2") == 0);
  CHECK(set("faults=[{\"slow\":{\"rank\":16,\"factor\":2}}]") ==
        "a.json: faults[0].slow.rank: expected a rank below the cluster's 16 devices, found 16");
  CHECK(set("faults=[{\"slow\":{\"rank\":1,\"factor\":0}}]")
            .find("a.json: faults[0].slow.factor: expected a number in") == 0);
  CHECK(set("faults=[{}]").find("expected one of slow and link in a fault, found neither") != std::string::npos);
  CHECK(set("recompute={\"granularity\":\"selective\",\"layers\":2}").find("a.json: recompute.layers:") == 0);
  json unknown = small();
  unknown["paralel"] = json::object();
  CHECK(problem(unknown).find("did you mean \"parallel\"?") != std::string::npos);
  json missing = small();
  missing.erase("cluster");
  CHECK(problem(missing).find("a.json: cluster: expected this field, found none") == 0);
  missing = small();
  missing.erase("batch");
  CHECK(problem(missing) == "a.json: batch.global: expected the sequences of one optimizer step, found none");
  json pipeline = small();
  pipeline["parallel"] = {{"tp", 2}, {"pp", 4}, {"vpp", 2}};
  pipeline["batch"]["global"] = 12;
  CHECK(problem(pipeline) ==
        "a.json: batch.global: expected micro batches in a multiple of pp = 4 (interleaved schedule), found 6 (global "
        "= 16 would do)");
  pipeline["parallel"] = {{"tp", 2}, {"vpp", 2}};
  CHECK(problem(pipeline) ==
        "a.json: parallel.vpp: expected 1 with pp = 1, found 2 (virtual stages divide a pipeline)");
  CHECK(work::read_scenario("{\n \"model\": }", "a.json").error().where == "a.json:2");
  CHECK(work::read_scenario("[]", "a.json").error().text().find("a.json: expected an object") == 0);
}

TEST_CASE("automatic layouts sum to the layers and balance embedding and head", "[fast][prop]") {
  CHECK(work::auto_layout(96, 8) == std::vector<int>(8, 12));
  CHECK(work::auto_layout(126, 16) == std::vector<int>{7, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 7});
  CHECK(work::auto_layout(2, 4) == std::vector<int>{0, 1, 1, 0});
  for (int layers = 1; layers <= 130; ++layers) {
    for (int chunks = 1; chunks <= layers + 2; ++chunks) {
      const auto layout = work::auto_layout(layers, chunks);
      INFO(layers << " layers in " << chunks);
      REQUIRE(std::accumulate(layout.begin(), layout.end(), 0) == layers);
      const bool even = layers % chunks == 0;
      std::vector<int> weights = layout;
      if (!even) ++weights.front(), ++weights.back();
      const auto [low, high] = std::minmax_element(weights.begin(), weights.end());
      REQUIRE(*high - *low <= 1);
      REQUIRE(*std::min_element(layout.begin(), layout.end()) >= 0);
    }
  }
}

TEST_CASE("the schema and the documentation name every field with its default", "[fast]") {
  const json schema = work::scenario_schema();
  CHECK(schema["properties"]["parallel"]["properties"]["tp"]["default"] == 1);
  CHECK(schema["properties"]["parallel"]["properties"]["dp"]["default"] == "auto");
  CHECK(schema["properties"]["parallel"]["additionalProperties"] == false);
  CHECK(schema["properties"]["software"]["default"] == "megatron-core");
  CHECK(schema["required"] == json({"model", "cluster"}));
  const json dump = work::scenario_to_json(*work::scenario_from_json(small(), "a"));
  for (const auto& [key, value] : dump.items()) {
    INFO(key);
    REQUIRE(schema["properties"].contains(key));
    if (value.is_object() && schema["properties"][key].contains("properties"))
      for (const auto& item : value.items()) CHECK(schema["properties"][key]["properties"].contains(item.key()));
  }
  CHECK(work::scenario_field_docs().find(
            "| `parallel.tp` | integer | `1` | 1..4.1943e+06 | tensor parallel (ranks) |") != std::string::npos);
}

TEST_CASE("mutated scenarios end in a scenario or a message, never in a crash", "[fast]") {
  const std::string good(core::embedded("workloads/catalog/scenarios/default.json"));
  REQUIRE_FALSE(good.empty());
  std::mt19937 random(7);
  int accepted = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string text = good;
    const int edits = 1 + static_cast<int>(random() % 4);
    for (int e = 0; e < edits; ++e) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random() % 256);
          break;
        case 1:
          text.erase(at, 1 + random() % 5);
          break;
        default:
          text.insert(at, 1, "0123456789{}[]\",:-e."[random() % 20]);
          break;
      }
    }
    const auto s = work::read_scenario(text, "a.json");
    if (!s) {
      REQUIRE_FALSE(s.error().text().empty());
      continue;
    }
    ++accepted;
    const auto checked = work::validate_scenario(*s, 16384);
    if (checked && s->parallel.layout.empty())
      REQUIRE(work::auto_layout(static_cast<int>(s->model.layers), s->parallel.pp * s->parallel.vpp).size() > 0);
    if (s) REQUIRE_FALSE(work::scenario_to_json(*s).empty());
  }
  CHECK(accepted > 100);
}
