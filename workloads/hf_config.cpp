// One table of families (model_type -> what the architecture fixes) and one of aliases (our field -> their keys).
// Source: transformers' configuration_*.py and modeling_*.py of each family, as of 2025; defaults are those classes'.
#include "workloads/hf_config.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include "sim/core/json_reader.hpp"

namespace twin::work {

namespace {

using core::Error;
using core::ErrorCode;
using core::Result;
using nlohmann::json;

enum Positions { kRotary, kLearned, kAlibi };

struct Family {
  const char* type;
  bool gated, rms, biases, qkv_bias, tied;
  Positions positions;
  std::int64_t vocab;  // the class's default, where the file has none
};

constexpr Family kFamilies[] = {
    {"llama", true, true, false, false, false, kRotary, 32000},
    {"mistral", true, true, false, false, false, kRotary, 32000},
    {"qwen2", true, true, false, true, false, kRotary, 151936},
    {"qwen3", true, true, false, false, false, kRotary, 151936},
    {"gemma", true, true, false, false, true, kRotary, 256000},
    {"gemma2", true, true, false, false, true, kRotary, 256000},
    {"gemma3_text", true, true, false, false, true, kRotary, 262208},
    {"phi3", true, true, false, false, false, kRotary, 32064},
    {"granite", true, true, false, false, false, kRotary, 32000},
    {"olmo2", true, true, false, false, false, kRotary, 50304},
    {"internlm2", true, true, false, false, false, kRotary, 92544},
    {"stablelm", true, false, false, false, false, kRotary, 50304},
    {"nemotron", false, false, false, false, false, kRotary, 256000},
    {"gpt2", false, false, true, false, true, kLearned, 50257},
    {"gpt_neox", false, false, true, false, false, kRotary, 50432},
    {"gptj", false, false, true, false, false, kRotary, 50400},
    {"opt", false, false, true, false, true, kLearned, 50272},
    {"bloom", false, false, true, false, true, kAlibi, 250880},
    {"mpt", false, false, true, false, true, kLearned, 50368},
    {"falcon", false, false, false, false, true, kRotary, 65024},
    {"phi", false, false, true, false, false, kRotary, 51200},
    {"starcoder2", false, false, true, false, true, kRotary, 49152},
};

const Family* family_of(const std::string& type) {
  for (const auto& f : kFamilies)
    if (type == f.type) return &f;
  return nullptr;
}

class Reader {
 public:
  Reader(const json& config, std::string file) : config_(config), file_(std::move(file)) {}

  // The first of `keys` that the file has, as a whole number in 1..max; nullopt: none.
  std::optional<std::int64_t> integer(std::initializer_list<const char*> keys, std::int64_t max = 1 << 24) {
    for (const char* key : keys) {
      const auto it = config_.find(key);
      if (it == config_.end() || it->is_null()) continue;
      if (it->is_number_integer() && *it >= 1 && *it <= max) return it->get<std::int64_t>();
      fail(key, "expected a whole number in 1.." + std::to_string(max) + ", found " + dump(*it));
      return std::nullopt;
    }
    return std::nullopt;
  }
  std::int64_t require(std::initializer_list<const char*> keys) {
    if (const auto v = integer(keys)) return *v;
    fail(*keys.begin(), "expected this field, found none");
    return 1;
  }
  bool flag(std::initializer_list<const char*> keys, bool otherwise) {
    for (const char* key : keys) {
      const auto it = config_.find(key);
      if (it == config_.end() || it->is_null()) continue;
      if (it->is_boolean()) return it->get<bool>();
      fail(key, "expected true or false, found " + dump(*it));
    }
    return otherwise;
  }
  std::string word(const char* key) const {
    const auto it = config_.find(key);
    return it != config_.end() && it->is_string() ? it->get<std::string>() : "";
  }
  double number(std::initializer_list<const char*> keys) const {
    for (const char* key : keys) {
      const auto it = config_.find(key);
      if (it != config_.end() && it->is_number()) return std::clamp(it->get<double>(), 0.0, 1.0);
    }
    return 0;
  }
  void fail(const std::string& key, std::string message, ErrorCode code = ErrorCode::kType, std::string hint = "") {
    if (!error) error = Error{code, file_ + ": " + key, std::move(message), std::move(hint)};
  }
  const json& config() const { return config_; }
  std::optional<Error> error;

 private:
  static std::string dump(const json& v) {
    return v.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 60);
  }
  const json& config_;
  std::string file_;
};

// What decides the step time and is not simulated: an error that names the key, never silence.
void refuse_unsupported(Reader& r) {
  for (const char* key : {"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts", "kv_lora_rank"}) {
    const auto it = r.config().find(key);
    if (it == r.config().end() || !it->is_number() || it->get<double>() <= (std::string(key) == "kv_lora_rank" ? 0 : 1))
      continue;
    r.fail(key, "expected a dense model, found " + it->dump(), ErrorCode::kUnsupported,
           "mixture of experts and latent attention come later");
  }
}

void read_sizes(Reader& r, Model& m, const Family& family) {
  m.layers = r.require({"num_hidden_layers", "n_layer", "n_layers", "num_layers"});
  m.hidden = r.require({"hidden_size", "n_embd", "d_model", "n_embed"});
  m.heads = r.require({"num_attention_heads", "n_head", "n_heads"});
  m.kv_heads = r.integer({"num_key_value_heads", "num_kv_heads", "n_head_kv"}).value_or(m.heads);
  if (std::string(family.type) == "falcon") {
    if (!r.flag({"new_decoder_architecture"}, false)) m.kv_heads = r.flag({"multi_query"}, true) ? 1 : m.heads;
  }
  const auto attention = r.config().find("attn_config");
  const bool nested = attention != r.config().end() && attention->is_object();
  if (nested && attention->contains("kv_n_heads") && (*attention)["kv_n_heads"].is_number_integer())
    m.kv_heads = std::max<std::int64_t>(1, (*attention)["kv_n_heads"].get<std::int64_t>());
  m.head_dim = r.integer({"head_dim"}).value_or(std::max<std::int64_t>(1, m.hidden / m.heads));
  const auto ratio = r.integer({"expansion_ratio"}, 64).value_or(4);
  m.ffn = r.integer({"intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"}).value_or(ratio * m.hidden);
  m.max_positions =
      r.integer({"max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "n_ctx"}).value_or(2048);
}

void read_traits(Reader& r, Model& m, const Family& family) {
  m.gated_mlp = family.gated;
  m.rms_norm = family.rms;
  m.biases = family.biases && !r.flag({"no_bias"}, false);
  m.qkv_bias = r.flag({"attention_bias", "qkv_bias", "use_qkv_bias"}, family.qkv_bias);
  m.tied_embeddings = r.flag({"tie_word_embeddings"}, family.tied);
  m.learned_positions = family.positions == kLearned;
  m.alibi = family.positions == kAlibi || r.flag({"alibi"}, false);
  const auto attention = r.config().find("attn_config");
  if (attention != r.config().end() && attention->is_object() && attention->value("alibi", json(false)) == json(true))
    m.alibi = true;
  if (m.alibi || !r.flag({"learned_pos_emb"}, true)) m.learned_positions = false;
  if (std::string(family.type) == "starcoder2") m.biases = r.flag({"use_bias"}, true);
  if (std::string(family.type) == "falcon") m.biases = r.flag({"bias"}, false);
  m.dropout = r.number({"resid_pdrop", "hidden_dropout", "resid_dropout", "dropout"});
}

void report_assumed(Reader& r, const Model& m, std::vector<std::string>& assumed) {
  const auto has = [&](std::initializer_list<const char*> keys) {
    return std::any_of(keys.begin(), keys.end(),
                       [&](const char* k) { return r.config().contains(k) && !r.config()[k].is_null(); });
  };
  if (!has({"vocab_size"}))
    assumed.push_back("vocab " + std::to_string(m.vocab) + ", the default of " + r.word("model_type"));
  if (!has({"intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size", "expansion_ratio"}))
    assumed.push_back("ffn " + std::to_string(m.ffn) + " = 4 x hidden");
  if (!has({"max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "n_ctx"}))
    assumed.push_back("max_positions 2048");
  if (r.word("model_type") == "qwen3" || r.word("model_type").starts_with("gemma"))
    assumed.push_back("the norms that " + r.word("model_type") + " adds to a block are left out");
}

}  // namespace

bool is_hf_config(const json& object) {
  if (!object.is_object()) return false;
  return object.contains("model_type") || object.contains("architectures") || object.contains("num_hidden_layers") ||
         object.contains("text_config");
}

Result<Model> model_from_hf(const json& config, const std::string& file, std::vector<std::string>* assumed) {
  if (!config.is_object()) return Error{ErrorCode::kType, file, "expected an object, found another kind of JSON", ""};
  if (const auto text = config.find("text_config");
      text != config.end() && text->is_object() && !text->contains("text_config")) {
    json inner = *text;  // a multimodal model: its decoder, with what only the outer object says
    if (!inner.contains("tie_word_embeddings") && config.contains("tie_word_embeddings"))
      inner["tie_word_embeddings"] = config["tie_word_embeddings"];
    if (!inner.contains("model_type") && config.contains("model_type")) inner["model_type"] = config["model_type"];
    return model_from_hf(inner, file, assumed);
  }
  Reader r(config, file);
  refuse_unsupported(r);
  const std::string type = r.word("model_type");
  const Family* family = family_of(type);
  if (family == nullptr && !r.error) {
    std::vector<std::string> types;
    std::string list;
    for (const auto& f : kFamilies) {
      types.emplace_back(f.type);
      list += (list.empty() ? "" : ", ") + types.back();
    }
    const std::string close = core::nearest(type, types);
    r.fail("model_type", "expected one of " + list + ", found \"" + type + "\"", ErrorCode::kUnsupported,
           close.empty() ? "" : "did you mean \"" + close + "\"?");
  }
  if (r.error) return *r.error;
  Model m;
  read_sizes(r, m, *family);
  read_traits(r, m, *family);
  m.vocab = r.integer({"vocab_size"}, 1'000'000'000).value_or(family->vocab);
  if (m.kv_heads > 0 && m.heads % m.kv_heads != 0)
    r.fail("num_key_value_heads",
           "expected a divisor of the " + std::to_string(m.heads) + " heads, found " + std::to_string(m.kv_heads),
           ErrorCode::kInconsistent);
  if (r.error) return *r.error;
  m.name = r.word("_name_or_path");
  if (m.name.empty()) m.name = std::filesystem::path(file).parent_path().filename().string();
  if (m.name.empty()) m.name = type;
  m.source = file;
  if (assumed != nullptr) report_assumed(r, m, *assumed);
  return m;
}

}  // namespace twin::work
