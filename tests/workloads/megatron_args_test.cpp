// Launch scripts and lists of Megatron-LM arguments; the shell subset; messages; mutation.
#include "workloads/megatron_args.hpp"

#include <catch2/catch.hpp>
#include <random>
#include "workloads/scenario_reader.hpp"
#include "workloads/shell_arithmetic.hpp"
#include "workloads/shell_words.hpp"

using namespace twin;
using nlohmann::json;

namespace {

const char* const kScript = R"sh(#!/bin/bash
# Runs a GPT of 175 billion parameters
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
NUM_NODES=${SLURM_NNODES:-16}
WORLD_SIZE=$(($GPUS_PER_NODE*$NUM_NODES))
CHECKPOINT_PATH=$1 #<Specify path>
TP=8

DISTRIBUTED_ARGS=(
    --nproc_per_node $GPUS_PER_NODE
    --nnodes $NUM_NODES
)

GPT_MODEL_ARGS=(
    --num-layers 96
    --hidden-size 12288   # a comment
    --num-attention-heads 96
    --seq-length 2048
    --max-position-embeddings 2048
    --attention-backend auto # Can use (flash/fused/unfused/local)
)

TRAINING_ARGS=(
    --micro-batch-size 1
    --global-batch-size 1536
    --rampup-batch-size 16 16 5859375
    --train-iters 500000
    --weight-decay 0.1
    --bf16
    --lr 6.0e-5
)

MODEL_PARALLEL_ARGS=(
	--tensor-model-parallel-size ${TP}
	--pipeline-model-parallel-size "$((WORLD_SIZE / 8))"
	--sequence-parallel
	--use-distributed-optimizer
	--overlap-grad-reduce
)
DATA_ARGS=(
    --data-path "my data"
    --split '949,50,1'
)

torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py \
    ${GPT_MODEL_ARGS[@]} \
    "${TRAINING_ARGS[@]}" \
    ${MODEL_PARALLEL_ARGS[@]} ${DATA_ARGS[@]} 2>&1 | tee log.txt
)sh";

work::Import read(const std::string& text) {
  auto import = work::read_megatron_args(text, "gpt.sh");
  INFO((import ? "" : import.error().text()));
  REQUIRE(import);
  return *import;
}

std::string problem(const std::string& text) {
  const auto import = work::read_megatron_args(text, "gpt.sh");
  return import ? "" : import.error().text();
}

const std::string kBase =
    "--num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --micro-batch-size 2 "
    "--global-batch-size 64 ";

work::Scenario scenario(const std::string& text) {
  json j = read(text).scenario;
  j["cluster"] = "dgx-a100x16";
  const auto s = work::scenario_from_json(j, "gpt.sh");
  INFO(j.dump(1) << (s ? "" : s.error().text()));
  REQUIRE(s);
  return *s;
}

}  // namespace

TEST_CASE("a launch script with arrays, variables and arithmetic becomes a scenario", "[fast]") {
  const auto s = scenario(kScript);
  CHECK((s.model.layers == 96 && s.model.hidden == 12288 && s.model.ffn == 49152 && s.model.heads == 96 &&
         s.model.kv_heads == 96));
  CHECK(s.model.vocab == 51200);  // 50,257 padded to a multiple of 128 x 8
  CHECK((s.model.learned_positions && s.model.tied_embeddings && s.model.biases && !s.model.rms_norm &&
         s.model.dropout == 0.1));
  CHECK((s.parallel.tp == 8 && s.parallel.pp == 16 && s.parallel.vpp == 1 && s.parallel.sp == 1));
  CHECK(s.parallel.shard == work::Shard::kZero1);
  CHECK((s.batch.global == 1536 && s.batch.micro == 1 && s.batch.seq == 2048));
  CHECK(s.precision == work::Precision::kBf16);
  CHECK((s.overlap.dp_grad && !s.overlap.dp_param && !s.overlap.tp && s.overlap.pp));
  CHECK(work::validate_scenario(s, 128));
  const auto import = read(kScript);
  CHECK(std::find(import.ignored.begin(), import.ignored.end(), "--lr") != import.ignored.end());
  CHECK(std::find(import.ignored.begin(), import.ignored.end(), "--nnodes") == import.ignored.end());
  const std::string assumed = import.scenario["assumed"].dump();
  CHECK(assumed.find("vocabulary 50257, that of GPT2BPETokenizer") != std::string::npos);
  CHECK(assumed.find("$1 is not set here") != std::string::npos);
}

TEST_CASE("plain lists, fragments and option strings read alike", "[fast]") {
  const auto a = scenario(kBase + "--fp16");
  const auto b = scenario(
      "--num-layers=24\n--hidden-size 2048\n--num-attention-heads 16\n--seq_length 2048\n--micro-batch-size "
      "2\n--global-batch-size 64\n--fp16\n");
  const auto c = scenario("ARGS=(\n" + kBase + "\n--fp16)\n");
  const auto d =
      scenario("OPTS=\" " + kBase +
               " \"\nOPTS+=\"--fp16\"\npython -m torch.distributed.launch --nnodes 2 ./pretrain_gpt.py $OPTS\n");
  for (const auto* s : {&b, &c, &d}) {
    auto left = work::scenario_to_json(a), right = work::scenario_to_json(*s);
    CHECK(left == right);
  }
}

TEST_CASE("Llama-like options, fp8, virtual stages, recomputation and layouts", "[fast]") {
  const auto s = scenario(
      kBase +
      "--swiglu --normalization RMSNorm --disable-bias-linear --group-query-attention --num-query-groups 4 "
      "--untie-embeddings-and-output-weights --position-embedding-type rope --hidden-dropout 0 --bf16 --fp8-format "
      "hybrid "
      "--fp8-recipe tensorwise --tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 "
      "--num-layers-per-virtual-pipeline-stage 3 --tokenizer-type Llama2Tokenizer --recompute-granularity full "
      "--recompute-method block --recompute-num-layers 2 --tp-comm-overlap --attention-backend flash");
  CHECK((s.model.gated_mlp && s.model.rms_norm && !s.model.biases && s.model.kv_heads == 4 &&
         !s.model.tied_embeddings && !s.model.learned_positions));
  CHECK(s.model.ffn == 5440);  // int(4 x 2048 x 2 / 3 / 64) x 64, Megatron's default
  CHECK(s.model.vocab == 32000);
  CHECK(s.precision == work::Precision::kFp8Tensorwise);
  CHECK(s.parallel.vpp == 2);
  CHECK((s.recompute == work::Recompute::kFull && s.recompute_method == "block" && s.recompute_layers == 2));
  CHECK((s.overlap.tp && s.stack.attention == work::Stack::Attention::kFlash2));
  CHECK(scenario(kBase + "--recompute-activations --bf16").recompute == work::Recompute::kSelective);
  CHECK(scenario(kBase + "--bf16 --recompute-granularity selective --recompute-modules layernorm mlp_act")
            .stack.sac_cheap);
  CHECK(scenario(kBase + "--bf16 --pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 5 "
                         "--decoder-last-pipeline-num-layers 5")
            .parallel.layout == std::vector<int>{5, 7, 7, 5});
  CHECK(scenario(kBase + "--bf16 --use-torch-fsdp2").parallel.shard == work::Shard::kFsdp2Full);
  CHECK(scenario(kBase + "--bf16").parallel.shard == work::Shard::kDdp);
  CHECK(scenario(kBase + "--bf16 --transformer-impl local").stack.attention == work::Stack::Attention::kUnfused);
}

TEST_CASE("messages of typical mistakes in arguments", "[fast][golden]") {
  CHECK(problem("") == "gpt.sh: expected Megatron-LM arguments such as --num-layers 96, found none");
  CHECK(problem(kBase + "\n--num-layerz 3") ==
        "gpt.sh:2: --num-layerz: expected an option of Megatron-LM, found \"--num-layerz\" (did you mean "
        "\"--num-layers\"?)");
  CHECK(problem("--num-layers twelve --hidden-size 4 --num-attention-heads 2") ==
        "gpt.sh:1: --num-layers: expected a whole number, found \"twelve\"");
  CHECK(problem("--hidden-size 4 --num-attention-heads 2") == "gpt.sh: expected --num-layers, found none");
  CHECK(problem("--num-layers --hidden-size 4") == "gpt.sh:1: --num-layers: expected a value, found none");
  CHECK(problem(kBase + "--num-experts 8") ==
        "gpt.sh:1: --num-experts: expected a dense model, found 8 experts (mixture of experts comes later)");
  CHECK(problem(kBase + "--context-parallel-size 2") ==
        "gpt.sh:1: --context-parallel-size: expected 1, found 2 (context parallelism is not simulated yet)");
  CHECK(problem(kBase + "--context-parallel-size 1").empty());
  CHECK(problem(kBase + "--fp4-format e2m1")
            .find("gpt.sh:1: --fp4-format: expected this option to be absent, found it") == 0);
  CHECK(problem(kBase + "--fp8-format hybrid --fp8-recipe delaid") ==
        "gpt.sh:1: --fp8-recipe: expected one of delayed, tensorwise, blockwise, mxfp8, found \"delaid\" (did you mean "
        "\"delayed\"?)");
  CHECK(problem("ARGS=(\n--num-layers 3\n") ==
        "gpt.sh:1: expected a closing ')' of the array ARGS, found the end of the file");
  CHECK(problem("x\npython pretrain.py \"--num-layers 3\n") ==
        "gpt.sh:2: expected a closing quote \", found the end of the file");
  CHECK(problem(kBase + "--pipeline-model-parallel-size 5 --num-layers-per-virtual-pipeline-stage 2")
            .find("expected a divisor of the 24 layers / 5 stages, found 2") != std::string::npos);
}

TEST_CASE("the shell subset expands as bash does", "[fast]") {
  const auto words = [](const std::string& text) {
    const auto script = work::read_shell(text, "a.sh");
    INFO((script ? "" : script.error().text()));
    REQUIRE(script);
    std::string all;
    for (const auto& command : script->commands) {
      for (const auto& w : command) all += "[" + w.text + "]";
      all += ";";
    }
    return all;
  };
  CHECK(words("a b  c # d\ne") == "[a][b][c];[e];");
  CHECK(words("a \\\n  b 'c d' \"e f\"") == "[a][b][c d][e f];");
  CHECK(words("X=1; Y=${X}2; a $Y ${Z:-3} ${X:-4} ${Z-5}") == "[a][12][3][1][5];");
  CHECK(words("A=(1 \"2 3\")\nA+=(4)\na ${A[@]} - \"${A[@]}\" - ${A[1]} - $A") ==
        "[a][1][2][3][4][-][1][2 3][4][-][2][3][-][1];");
  CHECK(words("X='a b'; f $X \"$X\"") == "[f][a][b][a b];");
  CHECK(words("f $((2 * (3 + 4) % 5)) $(date) x 2>&1 | g > out && h") == "[f][4][x];[g];[h];");
  CHECK(words("cat <<EOF\n--no words\nEOF\nf") == "[cat];[f];");
  CHECK(words("A=() ; f \"${A[@]}\" x") == "[f][x];");
  CHECK(words("if [ -z $X ]; then\n X=5\nfi\nf $X 1e-5#x") == "[f][5][1e-5#x];");
  CHECK(work::evaluate_arithmetic("2*3+4") == 10);
  CHECK_FALSE(work::evaluate_arithmetic("1/0"));
  CHECK_FALSE(work::evaluate_arithmetic("99999999999999999*99999"));
}

TEST_CASE("mutated scripts end in a scenario or a message, never in a crash", "[fast]") {
  std::mt19937 random(11);
  int accepted = 0;
  for (int i = 0; i < 1000; ++i) {
    std::string text = kScript;
    for (std::size_t e = 0; e < 1 + random() % 5; ++e) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random() % 256);
          break;
        case 1:
          text.erase(at, 1 + random() % 6);
          break;
        default:
          text.insert(at, 1, "${}()\"'`\\\n#;|&<>[]@=-+"[random() % 22]);
          break;
      }
    }
    const auto import = work::read_megatron_args(text, "gpt.sh");
    if (!import) {
      REQUIRE_FALSE(import.error().text().empty());
      continue;
    }
    ++accepted;
    json j = import->scenario;
    j["cluster"] = "dgx-a100x16";
    if (const auto s = work::scenario_from_json(j, "gpt.sh")) static_cast<void>(work::validate_scenario(*s, 128));
  }
  CHECK(accepted > 100);
}

TEST_CASE("expansion without end is an error, not a full memory", "[fast]") {
  std::string text = "A=xxxxxxxxxxxxxxxx\n";
  for (int i = 0; i < 60; ++i) text += "A=\"$A$A\"\n";
  CHECK(problem(text).find("expands without end") != std::string::npos);
  text = "A=(x x)\n";
  for (int i = 0; i < 60; ++i) text += "A=(${A[@]} ${A[@]})\n";
  CHECK(problem(text).find("expands without end") != std::string::npos);
}
