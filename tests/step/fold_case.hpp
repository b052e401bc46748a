// Random training jobs on random small clusters, for tests of refinement, fold and executor. Depends on no topology or
// workload code: nodes with scale-up egress/ingress and a NIC per GPU, rail leaves with up/down links over spines (even
// split), tensor, context (ring, all-to-all or message ring), data and pipeline parallelism, 1F1B and interleaved 1F1B.
#pragma once
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>
#include "sim/step/executor.hpp"

namespace twin::step::test {

enum class ContextRing { kCollective, kAllToAll, kMessages };

struct Config {
  int tp = 1, cp = 1, dp = 1, pp = 1, vpp = 1, micro = 4, layers = 1;  // layers per chunk
  int gpus_per_node = 8, pod_nodes = 2, spines = 4, oversubscription = 1;
  ContextRing context = ContextRing::kCollective;
  bool uneven = false, early_receive = true, data_overlap = true, world_reduce = true;
  std::int64_t attention_ns = 100000, mlp_ns = 200000, optimizer_ns = 500000, loader_ns = 0;
  std::int64_t tp_bytes = 1 << 24, cp_bytes = 1 << 22, dp_bytes = 1 << 26, pp_bytes = 1 << 22, world_bytes = 4096;
  std::int64_t phi[6] = {1, 1, 1, 1, 1, 1};
  std::int64_t cap_bytes_per_s[6] = {};  // 0: none
  std::uint8_t hold[6] = {};
  std::int64_t host_ns_per_op = 0, latency_ns = 1000;
  std::int64_t variance_ppm2 = 0;  // of (sigma/work)^2
  double persistent_sigma = 0;
  std::vector<std::pair<int, int>> slow{};          // rank, permille
  std::vector<std::pair<int, int>> slow_nics{};     // gpu, percent left
  std::vector<std::pair<int, int>> dead_uplinks{};  // leaf, spine
  std::vector<int> place{};                         // rank -> gpu; empty: in order
  int ranks() const { return tp * cp * dp * pp; }
  int nodes() const { return (ranks() + gpus_per_node - 1) / gpus_per_node; }
  int leaves() const { return (nodes() + pod_nodes - 1) / pod_nodes * gpus_per_node; }
};

struct Case {
  std::unique_ptr<std::vector<Program>> programs;
  System system;  // explicit
  CommCostFn cost;
  ExecOptions options;
};

Case build(const Config& config);

struct Draw {
  int least_ranks = 16, most_ranks = 128;
  bool round_sizes = false;  // ends fall on exact nanoseconds, so ties are many
  bool healthy = false;      // no faults, placement in order
};
Config random_config(std::mt19937_64& random, const Draw& draw);

// Largest difference of posted, start and finish over all ops of all ranks, in ns; -1 where one of the two runs failed.
std::int64_t difference(const Timeline& every_rank, const Timeline& classes, const Partition& partition);
std::int64_t fold_difference(const Case& c, const Partition& partition);

}  // namespace twin::step::test
