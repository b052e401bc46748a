#include "workloads/megatron_args.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include "sim/core/json_reader.hpp"
#include "workloads/megatron_options.hpp"
#include "workloads/names.hpp"
#include "workloads/shell_words.hpp"

namespace twin::work {

namespace {

using core::Error;
using core::ErrorCode;
using core::Result;
using detail::OptionUse;
using nlohmann::json;

bool is_option(const std::string& word) {
  return word.size() > 2 && word[0] == '-' && word[1] == '-' && std::isalpha(static_cast<unsigned char>(word[2]));
}

// At most two insertions, deletions or substitutions apart.
bool is_typo_of(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t keep = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({keep, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()] <= 2;
}

// The words of the command that starts Megatron: the one with most options that we know, from its .py on; else a plain
// list; else whatever arrays the fragment defines.
std::vector<ShellWord> chosen_words(const ShellScript& script) {
  const auto known = [](const std::vector<ShellWord>& words) {
    return std::count_if(words.begin(), words.end(), [](const ShellWord& w) {
      return is_option(w.text) && detail::find_megatron_option(w.text.substr(0, w.text.find('='))) != nullptr;
    });
  };
  std::vector<ShellWord> best, list;
  for (const auto& command : script.commands) {
    if (is_option(command.front().text))
      list.insert(list.end(), command.begin(), command.end());
    else if (known(command) > known(best))
      best = command;
  }
  if (known(list) > known(best)) best = list;
  if (known(script.array_words) > 2 * known(best)) best = script.array_words;
  const auto script_at =
      std::find_if(best.begin(), best.end(), [](const ShellWord& w) { return w.text.ends_with(".py"); });
  if (script_at != best.end()) best.erase(best.begin(), script_at + 1);
  return best;
}

struct Given {
  int line = 0;
  std::vector<std::string> values;
};

class MegatronReader {
 public:
  MegatronReader(const ShellScript& script, const std::string& file) : file_(file) {
    for (const auto& n : script.notes) import_.scenario["assumed"].push_back(file + ": " + n);
    sort_words(chosen_words(script));
  }

  Result<Import> read() {
    if (given_.empty())
      return Error{ErrorCode::kParse, file_, "expected Megatron-LM arguments such as --num-layers 96, found none", ""};
    check_options();
    for (const auto& o : detail::megatron_options())
      if (o.use == OptionUse::kInteger && has(o.name)) put(o.field, integer(o.name, 0));
    read_model();
    read_parallel();
    read_shard();
    read_layout();
    read_precision();
    read_recompute();
    read_overlap();
    read_software();
    if (error_) return *error_;
    return std::move(import_);
  }

 private:
  void sort_words(const std::vector<ShellWord>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (!is_option(words[i].text)) continue;
      std::string name = words[i].text;
      Given given{.line = words[i].line, .values = {}};
      if (const auto equals = name.find('='); equals != std::string::npos) {
        given.values.push_back(name.substr(equals + 1));
        name.resize(equals);
      }
      while (i + 1 < words.size() && !is_option(words[i + 1].text)) given.values.push_back(words[++i].text);
      if (const auto* option = detail::find_megatron_option(name)) name = option->name;
      given_[name] = std::move(given);
    }
  }

  bool has(const std::string& name) const { return given_.contains(name); }
  std::string where(const std::string& name) const {
    const auto it = given_.find(name);
    return it == given_.end() ? file_ : file_ + ":" + std::to_string(it->second.line) + ": " + name;
  }
  void fail(const std::string& name, ErrorCode code, std::string message, std::string hint = "") {
    if (!error_) error_ = Error{code, where(name), std::move(message), std::move(hint)};
  }
  void assume(std::string sentence) { import_.scenario["assumed"].push_back(std::move(sentence)); }

  std::string word(const std::string& name, const std::string& otherwise) {
    const auto it = given_.find(name);
    if (it == given_.end()) return otherwise;
    if (it->second.values.empty()) return fail(name, ErrorCode::kParse, "expected a value, found none"), otherwise;
    return it->second.values.front();
  }
  std::int64_t integer(const std::string& name, std::int64_t otherwise) {
    if (!has(name)) return otherwise;
    const std::string text = word(name, "");
    char* end = nullptr;
    errno = 0;
    const long long v = std::strtoll(text.c_str(), &end, 10);
    if (text.empty() || *end != '\0' || errno != 0 || v < 0 || v > 1'000'000'000'000)
      return fail(name, ErrorCode::kType, "expected a whole number, found \"" + text.substr(0, 60) + "\""), otherwise;
    return v;
  }
  double number(const std::string& name, double otherwise) {
    if (!has(name)) return otherwise;
    const std::string text = word(name, "");
    char* end = nullptr;
    const double v = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !(v >= 0 && v <= 1e18))
      return fail(name, ErrorCode::kType, "expected a number, found \"" + text.substr(0, 60) + "\""), otherwise;
    return v;
  }
  std::string one_of(const std::string& name, const std::vector<std::string>& words, const std::string& otherwise) {
    const std::string w = word(name, otherwise);
    if (!has(name) || error_ || std::find(words.begin(), words.end(), w) != words.end()) return w;
    std::string list;
    for (const auto& x : words) list += (list.empty() ? "" : ", ") + x;
    const std::string close = core::nearest(w, words);
    fail(name, ErrorCode::kNotFound, "expected one of " + list + ", found \"" + w.substr(0, 60) + "\"",
         close.empty() ? "" : "did you mean \"" + close + "\"?");
    return otherwise;
  }

  template <class V>
  void put(const std::string& field, V value) {
    const auto dot = field.find('.');
    json& object = dot == std::string::npos ? import_.scenario : import_.scenario[field.substr(0, dot)];
    object[dot == std::string::npos ? field : field.substr(dot + 1)] = value;
  }
  std::int64_t got(const std::string& section, const char* key, std::int64_t otherwise) const {
    const auto it = import_.scenario.find(section);
    return it != import_.scenario.end() && it->contains(key) ? (*it)[key].get<std::int64_t>() : otherwise;
  }

  // Unknown options: close to one that we read is a typo; others are reported as ignored.
  void check_options() {
    for (const auto& [name, given] : given_) {
      const auto* option = detail::find_megatron_option(name);
      if (option == nullptr) {
        for (const auto& o : detail::megatron_options())
          if (o.use != OptionUse::kIgnored && is_typo_of(name, o.name))
            return fail(name, ErrorCode::kNotFound,
                        "expected an option of Megatron-LM, found \"" + name.substr(0, 80) + "\"",
                        std::string("did you mean \"") + o.name + "\"?");
        import_.ignored.push_back(name);
      } else if (option->use == OptionUse::kIgnored) {
        import_.ignored.push_back(name);
      } else if (option->use == OptionUse::kUnsupported) {
        return fail(name, ErrorCode::kUnsupported, "expected this option to be absent, found it", option->field);
      } else if (option->use == OptionUse::kOneOnly && integer(name, 1) != 1) {
        return fail(name, ErrorCode::kUnsupported, "expected 1, found " + word(name, ""), option->field);
      }
    }
    if (has("--num-experts") && integer("--num-experts", 1) > 1)
      fail("--num-experts", ErrorCode::kUnsupported,
           "expected a dense model, found " + word("--num-experts", "") + " experts", "mixture of experts comes later");
  }

  void read_vocabulary() {
    if (has("--padded-vocab-size")) return put("model.vocab", integer("--padded-vocab-size", 0));
    std::int64_t vocab = integer("--vocab-size", 0);
    if (vocab == 0) {
      const std::string type = word("--tokenizer-type", "GPT2BPETokenizer"), model = word("--tokenizer-model", "");
      const auto mentions = [&](const char* what) { return model.find(what) != std::string::npos; };
      vocab = type == "Llama2Tokenizer"                                                ? 32000
              : type == "Llama3Tokenizer" || mentions("Llama-3") || mentions("llama3") ? 128256
                                                                                       : 50257;
      assume("vocabulary " + std::to_string(vocab) + ", that of " + (model.empty() ? type : type + " " + model) +
             " (the file names none)");
    }
    const std::int64_t unit = std::max<std::int64_t>(1, integer("--make-vocab-size-divisible-by", 128)) *
                              std::max<std::int64_t>(1, got("parallel", "tp", 1));
    put("model.vocab", (vocab + unit - 1) / unit * unit);
  }

  void read_model() {
    for (const char* needed : {"--num-layers", "--hidden-size", "--num-attention-heads"})
      if (!has(needed)) fail(needed, ErrorCode::kNotFound, std::string("expected ") + needed + ", found none");
    const bool gated = has("--swiglu");
    const std::int64_t hidden = got("model", "hidden", 1);
    if (!has("--ffn-hidden-size"))
      put("model.ffn", gated ? std::max<std::int64_t>(64, hidden * 8 / 3 / 64 * 64) : 4 * hidden);
    if (has("--group-query-attention")) put("model.kv_heads", integer("--num-query-groups", 1));
    read_vocabulary();
    const std::string norm = one_of("--normalization", {"LayerNorm", "RMSNorm"}, "LayerNorm");
    const std::string positions =
        has("--use-rotary-position-embeddings")
            ? "rope"
            : one_of("--position-embedding-type", {"learned_absolute", "rope", "mrope", "yarn", "relative", "none"},
                     "learned_absolute");
    const double dropout = number("--hidden-dropout", 0.1);
    if (!has("--hidden-dropout")) assume("hidden dropout 0.1, Megatron-LM's default");
    put("model.name", "megatron");
    put("model.gated_mlp", gated);
    put("model.rms_norm", norm == "RMSNorm");
    put("model.biases", !has("--disable-bias-linear"));
    put("model.qkv_bias", has("--add-qkv-bias"));
    put("model.tied_embeddings", !has("--untie-embeddings-and-output-weights"));
    put("model.learned_positions", positions == "learned_absolute");
    put("model.dropout", std::min(1.0, dropout));
    put("model.source", file_);
    if (!has("--max-position-embeddings")) put("model.max_positions", got("batch", "seq", 2048));
  }

  void read_parallel() {
    if (!has("--global-batch-size"))
      assume("batch.global is micro x dp where --global-batch-size is not given: state it with --set batch.global");
    if (has("--rampup-batch-size")) assume("the step after the batch ramp");
    put("parallel.sp", has("--sequence-parallel"));
    if (has("--use-tp-pp-dp-mapping")) put("parallel.order", "tp-cp-ep-pp-dp");
    const std::int64_t per_stage = integer("--num-layers-per-virtual-pipeline-stage", 0);
    if (per_stage == 0) return;
    const std::int64_t layers = got("model", "layers", 0), pp = std::max<std::int64_t>(1, got("parallel", "pp", 1));
    if (layers % (pp * per_stage) != 0)
      return fail("--num-layers-per-virtual-pipeline-stage", ErrorCode::kInconsistent,
                  "expected a divisor of the " + std::to_string(layers) + " layers / " + std::to_string(pp) +
                      " stages, found " + std::to_string(per_stage));
    put("parallel.vpp", layers / pp / per_stage);
  }

  void read_shard() {
    std::string shard = has("--use-distributed-optimizer") ? "zero-1" : "ddp";
    if (has("--use-torch-fsdp2")) shard = "fsdp2-full";
    const std::string strategy = one_of("--data-parallel-sharding-strategy",
                                        {"no_shard", "optim", "optim_grads", "optim_grads_params"}, "no_shard");
    if (has("--use-megatron-fsdp") || has("--use-custom-fsdp"))
      shard = strategy == "optim_grads_params" ? "fsdp2-full"
              : strategy == "optim_grads"      ? "zero-2"
              : strategy == "optim"            ? "zero-1"
                                               : shard;
    put("parallel.shard", shard);
  }

  void read_layout() {
    const std::int64_t layers = got("model", "layers", 0), pp = got("parallel", "pp", 1),
                       vpp = got("parallel", "vpp", 1);
    const bool embedding = has("--account-for-embedding-in-pipeline-split"),
               loss = has("--account-for-loss-in-pipeline-split");
    const bool first = has("--decoder-first-pipeline-num-layers"), last = has("--decoder-last-pipeline-num-layers");
    if (error_ || pp < 2 || pp * vpp > 65536 || !(embedding || loss || first || last)) return;
    const char* cause = first       ? "--decoder-first-pipeline-num-layers"
                        : last      ? "--decoder-last-pipeline-num-layers"
                        : embedding ? "--account-for-embedding-in-pipeline-split"
                                    : "--account-for-loss-in-pipeline-split";
    if ((first || last) && vpp > 1)
      return fail(cause, ErrorCode::kUnsupported, "expected no virtual stages beside it, found " + std::to_string(vpp),
                  "give parallel.layout as a list instead");
    const std::int64_t chunks = pp * vpp;
    std::int64_t head = integer("--decoder-first-pipeline-num-layers", -1),
                 tail = integer("--decoder-last-pipeline-num-layers", -1);
    if (embedding || loss) {
      const std::int64_t each = (layers + (embedding ? 1 : 0) + (loss ? 1 : 0)) / chunks;
      head = embedding ? each - 1 : each;
      tail = loss ? each - 1 : each;
    }
    const std::int64_t middle = chunks - (head >= 0 ? 1 : 0) - (tail >= 0 ? 1 : 0);
    const std::int64_t rest = layers - std::max<std::int64_t>(0, head) - std::max<std::int64_t>(0, tail);
    if (rest < 0 || (middle == 0 ? rest != 0 : rest % middle != 0))
      return fail(cause, ErrorCode::kInconsistent,
                  "expected " + std::to_string(rest) + " other layers to spread evenly over " + std::to_string(middle) +
                      " chunks, found that they do not");
    std::vector<std::int64_t> layout(static_cast<std::size_t>(chunks), middle > 0 ? rest / middle : 0);
    if (head >= 0) layout.front() = head;
    if (tail >= 0) layout.back() = tail;
    put("parallel.layout", layout);
  }

  void read_precision() {
    std::string precision = has("--bf16") ? "bf16" : has("--fp16") ? "fp16" : "fp32";
    if (precision == "fp32") assume("precision fp32, as neither --bf16 nor --fp16 is given");
    if (has("--fp8-format") || has("--fp8-hybrid") || has("--fp8-e4m3")) {
      const std::string recipe = one_of("--fp8-recipe", {"delayed", "tensorwise", "blockwise", "mxfp8"}, "delayed");
      precision = recipe == "delayed" ? "fp8" : recipe == "mxfp8" ? "mxfp8" : "fp8-" + recipe;
    }
    put("precision", precision);
  }

  void read_recompute() {
    std::string granularity = has("--recompute-activations") ? "selective" : "none";
    if (has("--checkpoint-activations") || has("--activations-checkpoint-method")) granularity = "full";
    granularity = one_of("--recompute-granularity", {"selective", "full"}, granularity);
    if (granularity != "full") {
      put("recompute", granularity);
      return granularity == "selective" ? read_recompute_modules() : void();
    }
    const std::string old = one_of("--activations-checkpoint-method", {"uniform", "block"}, "uniform");
    const std::string method = one_of("--recompute-method", {"uniform", "block"}, old);
    const std::int64_t layers = integer("--recompute-num-layers", integer("--activations-checkpoint-num-layers",
                                                                          integer("--checkpoint-num-layers", 1)));
    put("recompute", json{{"granularity", "full"}, {"method", method}, {"layers", layers}});
  }

  void read_recompute_modules() {
    if (!has("--recompute-modules")) return;
    std::vector<std::string> modules = given_["--recompute-modules"].values;
    std::sort(modules.begin(), modules.end());
    if (modules == std::vector<std::string>{"core_attn"}) return;
    if (modules == std::vector<std::string>{"layernorm", "mlp_act"}) return put("software.sac_cheap", true);
    fail("--recompute-modules", ErrorCode::kUnsupported,
         "expected core_attn, or layernorm with mlp_act, found " + word("--recompute-modules", ""));
  }

  void read_overlap() {
    put("overlap.tp", has("--tp-comm-overlap"));
    put("overlap.dp_grad", has("--overlap-grad-reduce"));
    put("overlap.dp_param", has("--overlap-param-gather"));
    put("overlap.pp", !has("--no-overlap-p2p-communication"));
  }

  void read_software() {
    put("software.base", "megatron-core");
    const std::string backend = one_of("--attention-backend", {"flash", "fused", "unfused", "local", "auto"}, "auto");
    const bool local = one_of("--transformer-impl", {"local", "transformer_engine"}, "transformer_engine") == "local";
    if (backend == "unfused" || backend == "local" || (local && !has("--use-flash-attn"))) {
      put("software.attention", "unfused");
      put("software.causal_skip", false);
    } else if (backend == "flash") {
      put("software.attention", "flash2");
    }
    if (has("--no-masked-softmax-fusion")) put("software.fused_softmax", false);
    if (has("--no-bias-gelu-fusion") || has("--no-bias-swiglu-fusion") || has("--no-bias-dropout-fusion"))
      put("software.fused_bias_activation", false);
    put("software.fused_cross_entropy", has("--cross-entropy-loss-fusion"));
    put("software.grad_reduce_fp32",
        has("--accumulate-allreduce-grads-in-fp32") || (has("--bf16") && !has("--grad-reduce-in-bf16")));
    if (has("--fp8-param-gather")) put("software.fp8_param_gather", true);
    if (has("--enable-cuda-graph") || has("--external-cuda-graph")) put("software.cuda_graphs", true);
    const std::string optimizer = word("--optimizer", "adam");
    if (optimizer != "adam") assume("the memory traffic of Adam for optimizer " + optimizer);
  }

  const std::string& file_;
  std::map<std::string, Given> given_;
  Import import_{.scenario = {{"assumed", json::array()}}, .ignored = {}};
  std::optional<Error> error_;
};

}  // namespace

Result<Import> read_megatron_args(std::string_view text, const std::string& file) {
  auto script = read_shell(text, file);
  if (!script) return script.error();
  return MegatronReader(*script, file).read();
}

}  // namespace twin::work
