// Draws of random configurations: plan, sizes, faults, placement (see fold_case.hpp).
#include <algorithm>
#include <cmath>
#include <numeric>
#include "tests/step/fold_case.hpp"

namespace twin::step::test {
namespace {

class Dice {
 public:
  explicit Dice(std::mt19937_64& random) : random_(random) {}
  int between(int a, int b) { return a + static_cast<int>(random_() % static_cast<std::uint64_t>(b - a + 1)); }
  bool one_in(int n) { return between(1, n) == 1; }
  int pick(std::initializer_list<int> list) { return *(list.begin() + between(0, static_cast<int>(list.size()) - 1)); }
  std::int64_t around(double middle) {
    return static_cast<std::int64_t>(middle * std::exp((between(0, 9999) / 10000.0 - 0.5) * 3));
  }
  void shuffle(std::vector<int>& v) {
    for (std::size_t i = v.size(); i > 1; --i)
      std::swap(v[i - 1], v[static_cast<std::size_t>(between(0, static_cast<int>(i) - 1))]);
  }

 private:
  std::mt19937_64& random_;
};

void draw_plan(Dice& dice, const Draw& draw, Config& c) {
  do {
    c.tp = dice.pick({1, 2, 4, 8});
    c.cp = dice.pick({1, 1, 2, 3, 4});
    c.pp = dice.pick({1, 2, 3, 4, 8});
    c.dp = draw.most_ranks > 256 ? dice.pick({4, 8, 16, 32, 64}) : dice.pick({1, 2, 3, 4, 6, 8, 16});
  } while (c.ranks() < draw.least_ranks || c.ranks() > draw.most_ranks);
  c.vpp = c.pp > 1 && dice.one_in(3) ? 2 : 1;
  c.micro = c.vpp > 1 ? c.pp * dice.between(1, 2) : dice.between(1, 6);
  c.layers = dice.between(1, 2);
  c.context = static_cast<ContextRing>(dice.between(0, 2));
  c.uneven = dice.one_in(4);
  c.early_receive = !dice.one_in(3);
  c.data_overlap = !dice.one_in(4);
  c.world_reduce = !dice.one_in(5);
}

void draw_sizes(Dice& dice, const Draw& draw, Config& c) {
  const auto time = [&](double middle) {
    const auto t = dice.around(middle) + dice.between(0, 6);
    return draw.round_sizes ? std::max<std::int64_t>(50000, t / 50000 * 50000) : t;
  };
  const auto bytes = [&](double middle) {
    constexpr std::int64_t kRound = 12600000;  // divisible by NIC, scale-up and split rates
    const auto b = dice.around(middle);
    return draw.round_sizes ? std::max(kRound, b / kRound * kRound) : b;
  };
  c.attention_ns = time(1e5);
  c.mlp_ns = time(2e5);
  c.optimizer_ns = time(5e5);
  c.loader_ns = dice.one_in(3) ? time(3e5) : 0;
  c.tp_bytes = bytes(2e7);
  c.cp_bytes = bytes(8e6);
  c.dp_bytes = bytes(6e7);
  c.pp_bytes = bytes(8e6);
  c.world_bytes = dice.one_in(8) ? 0 : bytes(1e5);
  c.latency_ns = dice.one_in(10) ? 0 : 1000;
  for (int k = 0; k < 6; ++k) {
    c.phi[k] = dice.pick({1, 1, 2, 4});
    if (dice.one_in(3)) c.cap_bytes_per_s[k] = std::int64_t{20 + dice.between(0, 29) * 10} * 1000000000;
    if (dice.one_in(2)) c.hold[k] = static_cast<std::uint8_t>(dice.between(0, 4));
  }
  if (dice.one_in(3)) c.host_ns_per_op = dice.pick({500, 3000, 20000});
  if (dice.one_in(2)) c.variance_ppm2 = dice.pick({1, 100, 900});
  if (dice.one_in(3)) c.persistent_sigma = dice.pick({1, 5, 10}) * 1e-3;
}

void draw_faults(Dice& dice, const Draw& draw, Config& c) {
  const int gpus = c.nodes() * c.gpus_per_node;
  if (dice.one_in(2))
    for (int k = dice.between(1, 3); k > 0; --k)
      c.slow.push_back({dice.between(0, c.ranks() - 1),
                        draw.round_sizes ? 1000 + 100 * dice.between(1, 6) : 1001 + dice.between(0, 600)});
  if (dice.one_in(2))
    for (int k = dice.between(1, 3); k > 0; --k)
      c.slow_nics.push_back({dice.between(0, gpus - 1), dice.pick({20, 30, 50, 70, 87})});
  if (c.spines > 1 && dice.one_in(2)) {
    const bool everywhere = dice.one_in(2);
    const int one = dice.between(0, c.leaves() - 1);
    for (int leaf = 0; leaf < c.leaves(); ++leaf)
      for (int k = 0; k < c.spines / 2 && (everywhere || leaf == one); ++k) c.dead_uplinks.push_back({leaf, k});
  }
}

void draw_placement(Dice& dice, Config& c) {
  const int mode = dice.between(0, 5), gpus = c.nodes() * c.gpus_per_node;
  std::vector<int> order(static_cast<std::size_t>(mode == 0 ? c.nodes() : gpus));
  std::iota(order.begin(), order.end(), 0);
  dice.shuffle(order);
  if (mode > 1) return;  // in order
  for (int r = 0; r < c.ranks(); ++r) {
    const int node = r / c.gpus_per_node;
    c.place.push_back(mode == 1 ? order[static_cast<std::size_t>(r)]
                                : order[static_cast<std::size_t>(node)] * c.gpus_per_node + r % c.gpus_per_node);
  }
}

}  // namespace

Config random_config(std::mt19937_64& random, const Draw& draw) {
  Dice dice(random);
  Config c;
  draw_plan(dice, draw, c);
  c.gpus_per_node = dice.pick({4, 8, 8});
  c.pod_nodes = dice.pick({1, 2, 3, 4});
  c.spines = dice.pick({1, 2, 4});
  c.oversubscription = dice.pick({1, 1, 2, 3, 4});
  draw_sizes(dice, draw, c);
  if (draw.healthy) return c;
  draw_faults(dice, draw, c);
  draw_placement(dice, c);
  return c;
}

}  // namespace twin::step::test
