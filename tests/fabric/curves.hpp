// Measured nccl-tests curves of ../shared (read where they lie, not copied) with the cluster each was measured on.
// Only sources whose set-up is stated; a curve's shape says wire rates, not what was achieved.
//   tuned = false: the source says, or its plateau shows, a fabric set up wrong (TCP fall-back, no topology file):
//   reported, not bounded. from/to: sizes that count, where a tool's own overhead hides the collective at small sizes.
#pragma once
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <vector>
#include "sim/fabric/collective.hpp"
#include "tests/fabric/fake_view.hpp"

namespace twin::fabric {

struct Curve {
  std::string source;
  CollectiveOp op = CollectiveOp::kAllReduce;
  FakeShape shape;
  bool tuned = true;
  std::vector<std::pair<std::int64_t, double>> points;  // bytes, us
  bool kernel = false;                                  // time of the kernel by CUPTI: without the launch
  std::vector<core::DeviceId> members() const {
    std::vector<core::DeviceId> m;
    const int n = op == CollectiveOp::kSendRecv ? 2 : shape.nodes * shape.per_node;
    for (int i = 0; i < n; ++i) m.push_back(core::DeviceId{i});
    return m;
  }
};

inline std::filesystem::path shared_folder() { return std::filesystem::path(TWIN_SOURCE_DIR).parent_path() / "shared"; }

// Lines of nccl-tests output, or its csv: size count type [redop [root]] time algbw busbw ...
inline std::vector<std::pair<std::int64_t, double>> read_points(const std::filesystem::path& file, std::int64_t from) {
  std::vector<std::pair<std::int64_t, double>> out;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (const auto at = line.find("<stdout>:"); at != std::string::npos) line = line.substr(at + 9);
    for (char& c : line)
      if (c == ',') c = ' ';
    std::istringstream words(line);
    std::vector<std::string> w;
    for (std::string x; words >> x;) w.push_back(x);
    if (w.size() < 6 || w[0].find_first_not_of("0123456789") != std::string::npos) continue;
    std::size_t i = 3;
    if (i < w.size() && std::isalpha(static_cast<unsigned char>(w[i][0]))) ++i;
    if (w[i] == "-1" || w[i] == "0") ++i;
    const std::int64_t bytes = std::stoll(w[0]);
    const double us = std::stod(w[i]);
    if (bytes >= from && us > 0) out.emplace_back(bytes, us);
  }
  return out;
}

// Vidur's send/recv profile inside a node: column 4 the median in ms, 7 workers, 8 bytes, 10 devices per node; every
// 25th size.
inline std::vector<std::pair<std::int64_t, double>> read_send_recv(const std::filesystem::path& file) {
  std::vector<std::pair<std::int64_t, double>> out;
  std::ifstream in(file);
  int row = 0;
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string> w;
    std::istringstream cells(line);
    for (std::string x; std::getline(cells, x, ',');) w.push_back(x);
    if (w.size() < 11 || w[10] != "2" || w[6] != "0") continue;
    if (row++ % 25 == 0) out.emplace_back(std::stoll(w[8]), std::stod(w[4]) * 1e3);
  }
  return out;
}

inline std::vector<Curve> measured_curves() {
  std::vector<Curve> out;
  const auto root = shared_folder() / "traces/nccl_tests";
  const auto add = [&](const std::string& source, CollectiveOp op, FakeShape s, const std::string& file,
                       std::int64_t from = 8, bool tuned = true) {
    auto points = read_points(root / file, from);
    if (!points.empty()) out.push_back({source, op, std::move(s), tuned, std::move(points), false});
  };
  const FakeShape a100{.nodes = 1, .nvlink = 300e9, .nic = 25e9, .family = "ampere"};
  for (const int n : {2, 4, 8, 16, 32, 64, 128}) {
    FakeShape s = a100;
    s.nodes = std::max(1, n / 8);
    s.per_node = s.nics = std::min(n, 8);
    add("echo a100 ndv4 " + std::to_string(n), CollectiveOp::kAllReduce, s,
        "echo_a100_ndv4_1to128/nccl_" + std::to_string(n) + ".log", 8, n <= 8);
  }
  const struct {
    const char* word;
    CollectiveOp op;
  } ops[] = {{"all_reduce", CollectiveOp::kAllReduce},
             {"all_gather", CollectiveOp::kAllGather},
             {"alltoall", CollectiveOp::kAllToAll}};
  for (const auto& o : ops) {
    FakeShape sophia = a100;
    sophia.nodes = 2;
    add(std::string("sophia a100 ib 2 nodes ") + o.word, o.op, sophia,
        std::string("alcf_a100_slingshot_ib/sophia_n2_") + o.word + "_output.dat.6");
    for (const int n : {2, 8, 128}) {
      const FakeShape polaris{.nodes = n,
                              .per_node = 4,
                              .nics = 2,
                              .nvlink = 300e9,
                              .nic = 25e9,
                              .family = "ampere",
                              .scaleout = "slingshot"};
      add("polaris a100 slingshot " + std::to_string(n) + " nodes " + o.word, o.op, polaris,
          "alcf_a100_slingshot_ib/polaris_n" + std::to_string(n) + "_" + o.word + "_output.dat.5", 8,
          o.op != CollectiveOp::kAllToAll);
    }
  }
  for (const int nodes : {1, 2, 4, 8, 16, 32, 64, 128, 256, 512}) {
    const FakeShape alps{
        .nodes = nodes, .per_node = 4, .nics = 4, .nvlink = 450e9, .nic = 25e9, .scaleout = "slingshot"};
    char file[80];
    std::snprintf(file, sizeof file, "alps_gh200_4to2048_allgather/job-n-%05d-N-%04d.csv", nodes * 4, nodes);
    // The folder says all-gather; its job scripts run all_reduce_perf and its busbw / algbw is 2 (n-1)/n.
    add("alps gh200 " + std::to_string(nodes) + " nodes", CollectiveOp::kAllReduce, alps, file);
  }
  for (const auto& [gpu, s] : {std::pair<std::string, FakeShape>{"h800_8card", {.nvlink = 200e9, .nvls = false}},
                               {"v100_8card_para", {.nvlink = 150e9, .family = "volta"}}})
    for (const auto& [word, op] : {std::pair<std::string, CollectiveOp>{"all_reduce", CollectiveOp::kAllReduce},
                                   {"all_gather", CollectiveOp::kAllGather},
                                   {"reduce_scatter", CollectiveOp::kReduceScatter},
                                   {"broadcast", CollectiveOp::kBroadcast}})
      add("panlichen " + gpu + " " + word, op, s,
          "panlichen_h800_a100_v100_4090_8gpu/" + gpu + "_nccl_" + word + "0.txt",
          64 << 20);  // 8 threads and 5 iterations: some 35 us of the tool's own
  const auto vidur = shared_folder() / "traces/step_time/vidur_network_profiles";
  for (const auto& [file, s] : {std::pair<std::string, FakeShape>{"h100_dgx", {}}, {"a100_dgx", a100}}) {
    Curve c{"vidur " + file + " send_recv in a node",
            CollectiveOp::kSendRecv,
            s,
            true,
            read_send_recv(vidur / (file + "__send_recv.csv")),
            true};
    if (!c.points.empty()) out.push_back(std::move(c));
  }
  std::ifstream in(shared_folder() / "published/facts/collectives.json");
  if (!in) return out;
  const auto facts = nlohmann::json::parse(in);
  const std::map<std::string, FakeShape> shapes = {
      {"dgxc-h100-1node-allreduce", {.nvls = true}},
      {"aws-batch-p5-allreduce", {.nvls = true}},
      {"aws-p5-2node-allreduce", {.nodes = 2, .scaleout = "efa", .nvls = true}},
      // The manifest shown with it enables SHARP; 386 GB/s on 400 of NICs is what a ring or tree reaches without.
      {"coreweave-h100-64gpu-sharp-allreduce", {.nodes = 8, .nvls = true}},
      {"coreweave-gb200-72-allreduce",
       {.per_node = 72, .nics = 72, .nvlink = 900e9, .family = "blackwell", .nvls = true}},
      {"azure-nd_a100_v4-allreduce", a100},
      {"azure-nd_h100_v5-allreduce", {.nvls = true}}};
  for (const auto& fact : facts) {
    const auto it = shapes.find(fact["id"].get<std::string>());
    if (it == shapes.end()) continue;
    Curve c{it->first, CollectiveOp::kAllReduce, it->second, true, {}, false};
    for (const auto& p : fact["points"]) {
      const auto bytes = p["bytes"].get<std::int64_t>();
      const double bus = p["busbw_gbs"].get<double>();
      const int n = c.shape.nodes * c.shape.per_node;
      if (p.contains("time_us") && p["time_us"].is_number()) {
        if (bytes >= 8) c.points.emplace_back(bytes, p["time_us"].get<double>());
      } else if (bus >= 0.5) {  // two decimals: below that the rounding is over 1 %
        c.points.emplace_back(bytes, static_cast<double>(bytes) * busbw_factor(c.op, n) / bus * 1e-3);
      }
    }
    out.push_back(std::move(c));
  }
  return out;
}

}  // namespace twin::fabric
