// Draws of random scenarios (see scenario_draw.hpp), as JSON that the scenario reader takes.
#include "tests/step/scenario_draw.hpp"
#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include "workloads/scenario_reader.hpp"

namespace twin::step::test {
namespace {

using nlohmann::json;

struct Node {
  const char* name;
  int gpus, nics;
};
struct Plan {
  int tp = 1, pp = 1, vpp = 1, dp = 1, micro_batches = 1;
};

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  int between(int a, int b) { return a + static_cast<int>(random_() % static_cast<std::uint64_t>(b - a + 1)); }
  bool one_in(int n) { return between(1, n) == 1; }
  template <class T>
  T pick(std::initializer_list<T> list) {
    return *(list.begin() + between(0, static_cast<int>(list.size()) - 1));
  }

 private:
  std::mt19937_64 random_;
};

Plan draw_plan(Dice& dice, const ScenarioDraw& draw, const Node& node, int& nodes) {
  for (;;) {
    Plan p{.tp = dice.pick({1, 2, 4, 8}), .pp = dice.pick({1, 2, 3, 4, 8})};
    p.dp = draw.most_ranks > 256 ? dice.pick({4, 8, 16, 32, 64}) : dice.pick({1, 2, 3, 4, 6, 8, 16});
    const int ranks = p.tp * p.pp * p.dp;
    if (ranks < draw.least_ranks || ranks > draw.most_ranks || ranks % node.gpus != 0) continue;
    nodes = ranks / node.gpus;
    if (p.pp > 1 && dice.one_in(3)) p.vpp = dice.pick({2, 2, 3});
    p.micro_batches = p.vpp > 1 ? p.pp * dice.between(1, 3) : dice.between(1, 9);
    return p;
  }
}

json draw_fabric(Dice& dice) {
  switch (dice.between(0, 3)) {
    case 0:
      return "single-switch";
    case 1:
      return {{"base", "rail-optimized"}, {"nodes_per_leaf", dice.between(1, 4)}, {"spines", dice.pick({1, 2, 4})}};
    case 2:
      return {{"base", "leaf-spine"},
              {"nodes_per_leaf", dice.between(1, 4)},
              {"spines", dice.pick({2, 3, 4})},
              {"leaf_oversubscription", dice.pick({1, 2, 3, 4})}};
    default:
      return {{"base", "fat-tree-3"},
              {"attach", dice.pick({"rail", "node"})},
              {"nodes_per_leaf", dice.between(1, 2)},
              {"leaf_groups_per_pod", dice.between(1, 3)},
              {"spines", dice.pick({2, 4})},
              {"cores_per_spine", dice.pick({1, 2})},
              {"leaf_oversubscription", dice.pick({1, 2})},
              {"agg_oversubscription", dice.pick({1, 2, 7})}};
  }
}

json draw_model(Dice& dice, const Plan& p, int layers) {
  const int heads = 8 * dice.between(1, 3), head_dim = dice.pick({64, 128}), hidden = heads * head_dim;
  json m = {{"layers", layers},
            {"hidden", hidden},
            {"heads", heads},
            {"kv_heads", dice.pick({heads, heads / dice.pick({1, 2, 4, 8}), 8})},
            {"ffn", hidden * dice.pick({3, 4})},
            {"vocab", dice.pick({32000, 50304, 128256})},
            {"gated_mlp", dice.one_in(2)},
            {"rms_norm", dice.one_in(2)},
            {"tied_embeddings", dice.one_in(3)},
            {"max_positions", 8192}};
  if (heads % m["kv_heads"].get<int>() != 0 ||
      (m["kv_heads"].get<int>() % p.tp != 0 && p.tp % m["kv_heads"].get<int>() != 0))
    m["kv_heads"] = heads;
  return m;
}

json draw_parallel(Dice& dice, const Plan& p) {
  json x = {{"tp", p.tp}, {"pp", p.pp}, {"vpp", p.vpp}, {"dp", p.dp}};
  x["order"] = dice.pick(
      {"tp-cp-ep-dp-pp", "tp-cp-ep-dp-pp", "tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp", "dp-tp-cp-ep-pp", "pp-dp-tp-cp-ep"});
  x["shard"] = dice.pick({"ddp", "zero-1", "zero-1", "zero-2", "zero-3", "fsdp-full", "fsdp-grad-op", "fsdp-hybrid",
                          "fsdp2-full", "fsdp2-grad-op", "fsdp2-hybrid"});
  if (x["shard"].get<std::string>().ends_with("hybrid")) {
    int size = dice.between(1, p.dp);
    while (p.dp % size != 0) --size;
    if (size > 1 || dice.one_in(2)) x["shard_size"] = size;
  }
  x["sp"] = p.tp > 1 && !dice.one_in(3);
  if (p.pp > 1 && p.vpp == 1) x["schedule"] = dice.pick({"gpipe", "1f1b", "1f1b"});
  return x;
}

json draw_recompute(Dice& dice, int layers_per_chunk) {
  switch (dice.between(0, 4)) {
    case 0:
      return "none";
    case 1:
      return "selective";
    case 2:
      return "full";
    case 3:
      return {{"granularity", "full"}, {"method", "block"}, {"layers", dice.between(1, layers_per_chunk)}};
    default:
      return {{"granularity", "full"}, {"method", "uniform"}, {"layers", 1}};
  }
}

json slow(Dice& dice, int ranks) {
  return {{"slow", {{"rank", dice.between(0, ranks - 1)}, {"factor", 1 + 0.001 * dice.between(1, 600)}}}};
}

json weak_link(Dice& dice, const Node& node, int nodes, const json& fabric) {
  const auto of_node = [&](const char* kind, int parts) {
    return std::string(kind) + ":node" + std::to_string(dice.between(0, nodes - 1)) + "/" +
           std::to_string(dice.between(0, parts - 1));
  };
  const double left = dice.pick({0.2, 0.3, 0.5, 0.75, 0.87});
  std::string match = dice.one_in(2) || node.gpus == 1 ? of_node("nic", node.nics) : of_node("nvlink", node.gpus);
  if (fabric.is_object() && dice.one_in(3)) {
    const int spine = dice.between(0, fabric["spines"].get<int>() - 1);
    match = dice.one_in(2) ? "leaf:0/uplink/" + std::to_string(spine) : "leaf:*/uplink/" + std::to_string(spine);
  }
  return {{"link", {{"match", match}, {"capacity", left}}}};
}

json draw_faults(Dice& dice, const Node& node, int nodes, const json& fabric) {
  json faults = json::array();
  if (dice.one_in(2))
    for (int k = dice.between(1, 3); k > 0; --k) faults.push_back(slow(dice, nodes * node.gpus));
  if (dice.one_in(2))
    for (int k = dice.between(1, 3); k > 0; --k) faults.push_back(weak_link(dice, node, nodes, fabric));
  const int spines = fabric.is_object() ? fabric["spines"].get<int>() : 1;
  if (spines > 1 && dice.one_in(3))  // half of a leaf's uplinks, or of all leaves'
    for (int s = 0, everywhere = dice.one_in(2); s < spines / 2; ++s)
      faults.push_back({{"link",
                         {{"match", std::string(everywhere ? "leaf:*" : "leaf:0") + "/uplink/" + std::to_string(s)},
                          {"capacity", 0}}}});
  return faults;
}

json draw(std::uint64_t seed, const ScenarioDraw& draw) {
  Dice dice(seed * 0x9E3779B97F4A7C15ull + 1);
  const Node node = dice.pick<Node>(
      {{"dgx-a100", 8, 8}, {"dgx-h100", 8, 8}, {"gb200-nvl72", 4, 4}, {"gh200-1", 1, 1}, {"a100-pcie-8", 8, 1}});
  int nodes = 1;
  Plan p = draw_plan(dice, draw, node, nodes);
  const int chunks = p.pp * p.vpp, ranks = nodes * node.gpus;
  int layers = std::max(1, chunks * dice.between(1, 2) - (dice.one_in(3) ? dice.between(1, 2) : 0));
  while (p.micro_batches > p.pp && ranks * p.micro_batches * (layers / p.pp + 1) * 24 > draw.most_ops)
    p.micro_batches -= p.vpp > 1 ? p.pp : 1;
  if (ranks * p.micro_batches * (layers / p.pp + 1) * 24 > 2 * draw.most_ops && p.vpp == 1) p.micro_batches = 1;
  const json fabric = draw_fabric(dice);
  const int micro = dice.pick({1, 1, 2});
  json s = {
      {"model", draw_model(dice, p, layers)},
      {"cluster", {{"node", node.name}, {"nodes", nodes}, {"fabric", fabric}}},
      {"parallel", draw_parallel(dice, p)},
      {"batch", {{"global", p.dp * p.micro_batches * micro}, {"micro", micro}, {"seq", dice.pick({512, 1024, 2048})}}},
      {"precision", "bf16"},
      {"recompute", draw_recompute(dice, std::max(1, layers / chunks))},
      {"overlap",
       {{"tp", dice.one_in(2)}, {"dp_grad", !dice.one_in(3)}, {"dp_param", !dice.one_in(3)}, {"pp", !dice.one_in(3)}}},
      {"software", dice.pick({"megatron-core", "megatron-lm-2021", "megatron-lm-2022", "torchtitan", "meta-llama3",
                              "megatron-deepspeed", "llm-foundry"})}};
  if (!draw.healthy) s["faults"] = draw_faults(dice, node, nodes, fabric);
  return s;
}

}  // namespace

work::Scenario scenario_of(const std::string& text) {
  auto scenario = work::read_scenario(text, "drawn");
  if (!scenario) throw std::runtime_error(scenario.error().text() + "\n" + text);
  return *scenario;
}

work::Scenario random_scenario(std::uint64_t seed, const ScenarioDraw& wanted, std::string* text) {
  const std::string drawn = draw(seed, wanted).dump();
  if (text) *text = drawn;
  return scenario_of(drawn);
}

}  // namespace twin::step::test
