// Every entry of the catalog reads, and its numbers are those of its name.
#include "workloads/catalog.hpp"

#include <catch2/catch.hpp>
#include <map>
#include "workloads/names.hpp"

using namespace twin;

TEST_CASE("every model and stack of the catalog reads and names itself", "[fast]") {
  REQUIRE(work::catalog_names("models").size() > 40);
  for (const auto& n : work::catalog_names("models")) {
    const auto m = work::find_model(n);
    INFO(n << ": " << (m ? "" : m.error().text()));
    REQUIRE(m);
    CHECK(m->name == n);
    CHECK(m->head_dim * m->heads > 0);
    CHECK(m->max_positions > 0);
    CHECK_FALSE(m->source.empty());
    CHECK(work::model_to_json(*m) == nlohmann::json(n));
  }
  REQUIRE(work::catalog_names("stacks").size() >= 13);
  for (const auto& n : work::catalog_names("stacks")) {
    const auto s = work::find_stack(n);
    INFO(n << ": " << (s ? "" : s.error().text()));
    REQUIRE(s);
    CHECK(s->name == n);
    CHECK(s->calibration == n);
    CHECK(work::stack_to_json(*s) == nlohmann::json(n));
    const auto text = work::catalog_json("stacks", n);
    REQUIRE(text);
    CHECK(nlohmann::json::parse(*text).contains("source"));
  }
}

TEST_CASE("the default stack in code is the catalog's", "[fast]") {
  CHECK(work::stack_to_json(work::Stack{}) == nlohmann::json("megatron-core"));
}

TEST_CASE("published sizes of catalog models", "[fast]") {
  const std::map<std::string, std::int64_t> exact = {
      {"llama2-7b", 6738415616},  {"llama2-13b", 13015864320}, {"llama2-70b", 68976648192},
      {"llama3-8b", 8030261248},  {"llama3-70b", 70553706496}, {"llama3-405b", 405853388800},
      {"mistral-7b", 7241732096}, {"qwen2.5-7b", 7615616512},  {"qwen2.5-72b", 72706203648},
      {"gpt2-124m", 124439808},   {"gpt2-1.5b", 1557611200}};
  for (const auto& [n, parameters] : exact) {
    INFO(n);
    CHECK(work::find_model(n)->parameters() == parameters);
  }
  // Tables of papers and benchmark logs, in billions, to their last digit.
  const std::map<std::string, double> billions = {
      {"gpt3-175b", 175},       {"megatron-1.7b", 1.65},  {"megatron-39b", 39.1},   {"megatron-76b", 76.1},
      {"megatron-145b", 145.6}, {"megatron-310b", 310.1}, {"megatron-530b", 529.6}, {"megatron-1t-sc21", 1008.0},
      {"vtrain-3.4b", 3.55},    {"vtrain-39b", 39.1},     {"nemotron4-15b", 15.6},  {"nemotron4-340b", 340},
      {"bloom-176b", 176.2},    {"megascale-530b", 530}};
  for (const auto& [n, b] : billions) {
    INFO(n);
    CHECK(static_cast<double>(work::find_model(n)->parameters()) / 1e9 == Approx(b).epsilon(0.006));
  }
  // llm-foundry prints counts to a million.
  const std::map<std::string, double> mpt = {{"mpt-1b", 1.316},   {"mpt-3b", 2.652},   {"mpt-7b", 6.667},
                                             {"mpt-13b", 12.864}, {"mpt-30b", 29.975}, {"mpt-70b", 64.862}};
  for (const auto& [n, b] : mpt) {
    INFO(n);
    CHECK(static_cast<double>(work::find_model(n)->parameters()) / 1e9 == Approx(b).margin(0.012));
  }
}

TEST_CASE("lookup ignores case and underscores, knows aliases, and explains what it does not know", "[fast]") {
  CHECK(work::find_model("LLAMA3_8B")->name == "llama3-8b");
  CHECK(work::find_model("llama-3.1-405b")->name == "llama3-405b");
  CHECK(work::find_model("lama3-8b").error().text() ==
        "model: expected the name of a model or a file, found \"lama3-8b\" (did you mean \"llama3-8b\"?)");
  CHECK(work::find_model("mixtral-8x7b").error().text() ==
        "model: expected the name of a model or a file, found \"mixtral-8x7b\" (mixture of experts and latent "
        "attention come later)");
  CHECK(work::find_model("deepseek-v3").error().hint == "mixture of experts and latent attention come later");
  CHECK(work::find_stack("torchtitn").error().hint == "did you mean \"torchtitan\"?");
  CHECK(work::find_model("none/such.json").error().code == core::ErrorCode::kNotFound);
}

TEST_CASE("a model object changes fields of a named one, and bad objects name the field", "[fast]") {
  const auto m = work::model_from_json({{"base", "llama3-405b"}, {"layers", 4}}, "model");
  REQUIRE(m);
  CHECK(m->layers == 4);
  CHECK(m->hidden == 16384);
  CHECK(work::model_to_json(*m)["layers"] == 4);
  const auto bad = [](nlohmann::json j) { return work::model_from_json(j, "model").error().text(); };
  CHECK(bad({{"layers", 4}, {"hidden", 64}, {"heads", 4}, {"ffn", 256}}) ==
        "model.vocab: expected this field, found none (rows of the embedding, padding included)");
  CHECK(bad({{"base", "llama3-8b"}, {"layrs", 4}}).find("model.layrs") == 0);
  CHECK(bad({{"base", "llama3-8b"}, {"layers", -1}}) == "model.layers: expected a whole number in 1..10000, found -1");
  CHECK(bad({{"base", "llama3-8b"}, {"kv_heads", 5}}) == "model.kv_heads: expected a divisor of heads = 32, found 5");
  CHECK(bad(3) == "model: expected the name of a model, a file or an object, found 3");
}
