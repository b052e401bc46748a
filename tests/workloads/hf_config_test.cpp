// Hugging Face configs of the dense families; counts against the checkpoints' own. The texts are the fields that
// matter.
#include "workloads/hf_config.hpp"

#include <catch2/catch.hpp>
#include "workloads/readers.hpp"

using namespace twin;
using nlohmann::json;

namespace {

work::Model read(const char* text) {
  const auto m = work::model_from_hf(json::parse(text), "some/model/config.json");
  INFO((m ? "" : m.error().text()));
  REQUIRE(m);
  return *m;
}

std::string problem(const char* text) {
  const auto m = work::model_from_hf(json::parse(text), "config.json");
  return m ? "" : m.error().text();
}

}  // namespace

TEST_CASE("dense families have their checkpoints' parameter counts", "[fast]") {
  CHECK(
      read(
          R"({"model_type":"llama","hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,"num_attention_heads":32,
      "num_key_value_heads":8,"vocab_size":128256,"max_position_embeddings":8192,"rope_theta":500000.0})")
          .parameters() == 8030261248);
  CHECK(
      read(
          R"({"model_type":"gpt2","n_embd":768,"n_layer":12,"n_head":12,"n_positions":1024,"n_inner":null,"vocab_size":50257,"resid_pdrop":0.1})")
          .parameters() == 124439808);
  CHECK(
      read(
          R"({"model_type":"qwen2","hidden_size":3584,"intermediate_size":18944,"num_hidden_layers":28,"num_attention_heads":28,
      "num_key_value_heads":4,"vocab_size":152064,"tie_word_embeddings":false})")
          .parameters() == 7615616512);
  // Gemma 7B: heads of 256, tied; 8,537,680,896 parameters in the checkpoint.
  CHECK(
      read(
          R"({"model_type":"gemma","hidden_size":3072,"intermediate_size":24576,"num_hidden_layers":28,"num_attention_heads":16,
      "num_key_value_heads":16,"head_dim":256,"vocab_size":256000})")
          .parameters() == 8537680896);
  // GPT-NeoX 20B: 20,554,567,680 with its two norms a layer; rotary buffers are not parameters.
  CHECK(
      read(
          R"({"model_type":"gpt_neox","hidden_size":6144,"intermediate_size":24576,"num_hidden_layers":44,"num_attention_heads":64,
      "vocab_size":50432,"max_position_embeddings":2048})")
          .parameters() == 20554567680);
  const auto bloom = read(
      R"({"model_type":"bloom","hidden_size":14336,"n_layer":70,"num_attention_heads":112,"vocab_size":250880,"seq_length":2048})");
  CHECK(bloom.parameters() + 2 * bloom.hidden == 176247271424);
  CHECK(bloom.alibi);
  const auto mpt = read(
      R"({"model_type":"mpt","d_model":4096,"n_heads":32,"n_layers":32,"expansion_ratio":4,"max_seq_len":2048,"vocab_size":50432,
      "no_bias":true,"attn_config":{"alibi":true}})");
  CHECK((mpt.alibi && !mpt.learned_positions && !mpt.biases && mpt.ffn == 16384));
}

TEST_CASE("a nested text_config is the model", "[fast]") {
  const auto m = read(
      R"({"model_type":"llava","tie_word_embeddings":true,"text_config":{"model_type":"llama","hidden_size":64,"intermediate_size":128,
      "num_hidden_layers":2,"num_attention_heads":4}})");
  CHECK((m.layers == 2 && m.vocab == 32000 && m.tied_embeddings && m.name == "model"));
}

TEST_CASE("what a config leaves out is assumed and said", "[fast]") {
  std::vector<std::string> assumed;
  REQUIRE(work::model_from_hf(json::parse(R"({"model_type":"gpt2","n_embd":64,"n_layer":2,"n_head":4})"), "c.json",
                              &assumed));
  CHECK(assumed ==
        std::vector<std::string>{"vocab 50257, the default of gpt2", "ffn 256 = 4 x hidden", "max_positions 2048"});
}

TEST_CASE("configs that are not dense or not complete name the key", "[fast][golden]") {
  CHECK(problem(R"({"model_type":"mixtral","num_local_experts":8,"hidden_size":64})") ==
        "config.json: num_local_experts: expected a dense model, found 8 (mixture of experts and latent attention come "
        "later)");
  CHECK(problem(R"({"model_type":"deepseek_v3","kv_lora_rank":512})")
            .find("config.json: kv_lora_rank: expected a dense model") == 0);
  CHECK(problem(R"({"model_type":"lama"})").find("found \"lama\" (did you mean \"llama\"?)") != std::string::npos);
  CHECK(problem(R"({"model_type":"llama","hidden_size":64,"num_attention_heads":4})") ==
        "config.json: num_hidden_layers: expected this field, found none");
  CHECK(problem(R"({"model_type":"llama","hidden_size":"big","num_attention_heads":4,"num_hidden_layers":2})") ==
        "config.json: hidden_size: expected a whole number in 1..16777216, found \"big\"");
  CHECK(
      problem(
          R"({"model_type":"llama","hidden_size":64,"num_attention_heads":4,"num_hidden_layers":2,"num_key_value_heads":3})") ==
      "config.json: num_key_value_heads: expected a divisor of the 4 heads, found 3");
  CHECK(work::import_file("megatorn", "x").error().text() ==
        "--megatorn: expected one of megatron, hf, found \"megatorn\" (did you mean \"megatron\"?)");
  CHECK(work::import_file("hf", "no/such.json").error().text() == "no/such.json: expected a file, found none");
}
