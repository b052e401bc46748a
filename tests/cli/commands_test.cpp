// The commands themselves: fields that scripts rely on, streams, exit codes.
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include "tests/cli/run_binary.hpp"

using nlohmann::json;
using twin::cli::test::scratch;
using twin::cli::test::traintwin;

namespace {

const std::string kSmall =
    "--set model=llama3-8b --cluster dgx-h100x2 --set parallel.tp=2 --set parallel.pp=2 --set parallel.vpp=1 "
    "--set parallel.schedule=1f1b --set parallel.shard=zero-1 --set batch.global=32 --set batch.seq=4096 ";

json step_json(const std::string& arguments, int exit = 0) {
  const auto t = traintwin("step --json " + kSmall + arguments);
  INFO(t.err);
  REQUIRE(t.exit == exit);
  return json::parse(t.out);
}

}  // namespace

TEST_CASE("step --json has every field of the contract, and the breakdown sums to the step", "[fast]") {
  const json r = step_json("");
  for (const char* field :
       {"schema_version", "step_time_s", "step_time_interval_s", "tokens_per_s", "tokens_per_s_per_device",
        "model_tflops_per_device", "mfu", "mfu_full_attention", "hfu", "plan", "assumed", "memory", "breakdown_s",
        "classes", "ranks", "events", "wall_s", "peak_rss_bytes"})
    CHECK(r.contains(field));
  for (const char* field : {"tp", "sp", "cp", "ep", "etp", "pp", "vpp", "dp", "schedule", "layout", "shard", "order",
                            "global", "micro", "accumulation", "seq", "precision", "recompute", "world"})
    CHECK(r["plan"].contains(field));
  for (const char* field : {"peak_bytes", "capacity_bytes", "fits", "by_category", "by_stage"})
    CHECK(r["memory"].contains(field));
  double sum = 0;
  for (const auto& [name, seconds] : r["breakdown_s"].items()) sum += seconds.get<double>();
  CHECK(r["breakdown_s"].size() == 11);
  CHECK(std::abs(sum - r["step_time_s"].get<double>()) < 1e-6);
  CHECK(r["step_time_interval_s"][0] <= r["step_time_s"]);
  CHECK(r["step_time_interval_s"][1] >= r["step_time_s"]);
  CHECK(r["plan"]["world"] == 16);
  CHECK(r["plan"]["dp"] == 4);
  CHECK(r["ranks"] == 16);
  CHECK(r["wall_s"] > 0);
  CHECK(r["peak_rss_bytes"] > 1'000'000);
  const double per_device = r["tokens_per_s"].get<double>() / 16;
  CHECK(r["tokens_per_s_per_device"].get<double>() == Approx(per_device));
  CHECK(r["tokens_per_s"].get<double>() == Approx(32 * 4096 / r["step_time_s"].get<double>()).epsilon(1e-6));
}

TEST_CASE("fold off simulates every rank to the same step time", "[fast]") {
  const json folded = step_json(""), unfolded = step_json("--fold off");
  CHECK(unfolded["classes"] == unfolded["ranks"]);
  CHECK(folded["classes"] < folded["ranks"]);
  CHECK(folded["step_time_s"] == unfolded["step_time_s"]);
}

TEST_CASE("a slow rank makes the step slower", "[fast]") {
  const json healthy = step_json("");
  const json slow = step_json("--set 'faults=[{\"slow\":{\"rank\":5,\"factor\":1.5}}]'");
  CHECK(slow["step_time_s"].get<double>() > healthy["step_time_s"].get<double>() * 1.1);
}

TEST_CASE("what does not fit is printed, with exit 1 and advice", "[fast]") {
  const auto t = traintwin(
      "step --json --set model=llama3-70b --cluster dgx-h100x1 --set parallel.tp=1 --set parallel.pp=1 --set "
      "parallel.vpp=1 "
      "--set parallel.schedule=none --set parallel.shard=ddp --set batch.global=8 --set batch.seq=4096");
  INFO(t.err);
  CHECK(t.exit == 1);
  const json r = json::parse(t.out);
  CHECK(r["memory"]["fits"] == false);
  CHECK(r["memory"]["peak_bytes"] > r["memory"]["capacity_bytes"]);
  CHECK(t.err.find("does not fit in memory") != std::string::npos);
  CHECK_FALSE(r["memory"]["advice"].get<std::string>().empty());
}

TEST_CASE("the printed scenario gives the same step", "[fast]") {
  const auto printed = traintwin("step --print-scenario " + kSmall);
  REQUIRE(printed.exit == 0);
  const std::string file = scratch().write("printed.json", printed.out);
  const auto again = traintwin("step --json " + file);
  INFO(again.err);
  REQUIRE(again.exit == 0);
  CHECK(json::parse(again.out)["step_time_s"] == step_json("")["step_time_s"]);
}

TEST_CASE("--explain and --trace tell where the time goes", "[fast]") {
  const std::string trace = scratch().file("step.pftrace").string();
  const auto t = traintwin("step --explain --trace " + trace + " " + kSmall);
  INFO(t.err);
  REQUIRE(t.exit == 0);
  for (const char* part : {"MFU", "where the time goes", "Critical path", "Communication", "Constants"})
    CHECK(t.out.find(part) != std::string::npos);
  CHECK(std::filesystem::file_size(trace) > 10'000);
  CHECK(t.err.find("wrote " + trace) != std::string::npos);
}

TEST_CASE("collective prints nccl-tests' columns; bandwidth grows with size", "[fast]") {
  const auto t = traintwin("collective all_reduce --cluster dgx-h100x2 --min 1K --max 1G --factor 32 --json");
  INFO(t.err);
  REQUIRE(t.exit == 0);
  const json rows = json::parse(t.out)["rows"];
  REQUIRE(rows.size() == 5);
  for (const char* field :
       {"bytes", "time_us", "algbw_gbps", "busbw_gbps", "algorithm", "protocol", "channels", "limiting_link"})
    CHECK(rows[0].contains(field));
  CHECK(rows[0]["bytes"] == 1024);
  CHECK(rows[4]["bytes"] == 1 << 30);
  CHECK(rows[4]["busbw_gbps"] > rows[0]["busbw_gbps"]);
  CHECK(rows[4]["busbw_gbps"].get<double>() == Approx(rows[4]["algbw_gbps"].get<double>() * 2 * 15 / 16));
}

TEST_CASE("catalog lists, shows and gives the schema", "[fast]") {
  const json kinds = json::parse(traintwin("catalog --json").out);
  for (const char* kind : {"accelerators", "nodes", "fabrics", "clusters", "models", "stacks"})
    CHECK(kinds[kind].size() > 3);
  for (const char* node : {"dgx-a100", "dgx-h100", "dgx-h200", "dgx-b200", "gb200-nvl72"})
    CHECK(traintwin(std::string("catalog show nodes ") + node).exit == 0);
  for (const char* model : {"gpt3-175b", "llama2-7b", "llama2-70b", "llama3-8b", "llama3-70b", "llama3-405b"})
    CHECK(traintwin(std::string("catalog show ") + model).exit == 0);
  const json schema = json::parse(traintwin("catalog schema").out);
  CHECK(schema.contains("$schema"));
  CHECK(schema["properties"].contains("parallel"));
}

TEST_CASE("a Megatron script stands in for the scenario", "[fast]") {
  const std::string script = TWIN_SOURCE_DIR "/tests/fuzz/corpus/megatron/script.sh";
  const auto t = traintwin("step --json --megatron " + script + " --cluster dgx-h100x8");
  INFO(t.err);
  REQUIRE(t.exit == 0);
  const json r = json::parse(t.out);
  CHECK(r["plan"]["tp"] == 4);
  CHECK(r["plan"]["dp"] == 16);
  CHECK(r["plan"]["global"] == 128);
  CHECK_FALSE(r["assumed"].empty());
  CHECK(traintwin("step --megatron " + script).exit == 2);  // needs --cluster
}
