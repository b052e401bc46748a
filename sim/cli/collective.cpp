// traintwin collective OP --cluster C: one collective alone on a cluster, by message size, as nccl-tests print it.
#include <fmt/format.h>
#include <memory>
#include "sim/cli/command.hpp"
#include "sim/cli/usage.hpp"
#include "sim/fabric/collective_table.hpp"
#include "sim/fabric/network.hpp"
#include "sim/report/format.hpp"
#include "sim/report/step_json.hpp"
#include "sim/report/table.hpp"
#include "topologies/cluster.hpp"

namespace twin::cli {
namespace {

struct Options {
  std::string op, cluster, ranks, min = "8", max = "1G", calibration, network = "fluid";
  double factor = 2;
  int channels = 0;
  bool json = false;
};

using Rows = std::vector<fabric::CollectiveRow>;

std::string json_text(const Options& o, std::size_t ranks, const Rows& rows, const Process& process) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& r : rows)
    list.push_back({{"bytes", r.bytes},
                    {"time_us", r.time_us},
                    {"algbw_gbps", r.algbw_gbps},
                    {"busbw_gbps", r.busbw_gbps},
                    {"algorithm", r.algorithm},
                    {"protocol", r.protocol},
                    {"channels", r.channels},
                    {"limiting_link", r.limiting_link}});
  const nlohmann::ordered_json out = {{"schema_version", report::kSchemaVersion},
                                      {"op", o.op},
                                      {"cluster", o.cluster},
                                      {"ranks", ranks},
                                      {"rows", list},
                                      {"wall_s", process.wall_s()},
                                      {"peak_rss_bytes", process.peak_rss_bytes()}};
  return out.dump(2) + "\n";
}

std::string table_text(const Options& o, std::size_t ranks, const Rows& rows) {
  report::Table table({"bytes", "time", "algbw GB/s", "busbw GB/s", "algorithm", "protocol", "channels", "limited by"},
                      "rrrrllrl");
  for (const auto& r : rows)
    table.add({report::format_count(r.bytes), report::format_seconds(r.time_us * 1e-6),
               report::format_digits(r.algbw_gbps, 4), report::format_digits(r.busbw_gbps, 4), r.algorithm, r.protocol,
               std::to_string(r.channels), r.limiting_link});
  return fmt::format("{} over {} ranks of {}\n\n", o.op, report::format_count(static_cast<std::int64_t>(ranks)),
                     o.cluster) +
         table.text();
}

core::Result<Output> run(const Options& o, const Process& process) {
  const auto op = fabric::parse_op(o.op);
  if (!op) return op.error();
  topo::ClusterRef ref;
  ref.name = o.cluster;
  ref.where = "--cluster";
  const auto cluster = topo::build_cluster(ref);
  if (!cluster) return cluster.error();
  const int devices = (*cluster)->devices();
  fabric::CollectiveRequest request{.op = *op, .members = {}, .factor = o.factor};
  auto members = fabric::parse_ranks(o.ranks.empty() ? std::to_string(devices) : o.ranks, devices, "--ranks");
  if (!members) return members.error();
  request.members = *std::move(members);
  const auto min = fabric::parse_bytes(o.min, "--min"), max = fabric::parse_bytes(o.max, "--max");
  if (!min) return min.error();
  if (!max) return max.error();
  request.min_bytes = *min;
  request.max_bytes = *max;
  request.channels = o.channels;
  const auto constants = o.calibration.empty() ? core::Result<device::Constants>(device::Constants::builtin())
                                               : device::load_calibration(o.calibration);
  if (!constants) return constants.error();
  const auto network = fabric::parse_network(o.network);
  if (!network) return network.error();
  auto rows = fabric::collective_table(**cluster, request, *constants);
  if (!rows) return rows.error();
  if (auto e = fabric::retime(*network, **cluster, request, *constants, *rows); !e) return e.error();
  const std::size_t ranks = request.members.size();
  return Output{o.json ? json_text(o, ranks, *rows, process) : table_text(o, ranks, *rows), kDone};
}

}  // namespace

Command add_collective(CLI::App& root, const Process& process) {
  CLI::App* app = root.add_subcommand("collective", "time of one collective alone on a cluster, by message size");
  auto o = std::make_shared<Options>();
  app->add_option("OP", o->op, "all_reduce, all_gather, reduce_scatter, broadcast, alltoall or sendrecv")->required();
  app->add_option("--cluster", o->cluster, "catalog name (dgx-h100x64) or file")->type_name("NAME|FILE")->required();
  app->add_option("--ranks", o->ranks, "the first N devices, or a list such as 0,8,16-23; default: all")
      ->type_name("N|LIST")
      ->check(not_empty);
  app->add_option("--min", o->min, "smallest message (K, M, G: powers of 1024)")
      ->type_name("BYTES")
      ->capture_default_str();
  app->add_option("--max", o->max, "largest message")->type_name("BYTES")->capture_default_str();
  app->add_option("--factor", o->factor, "from one size to the next")->type_name("F")->capture_default_str();
  app->add_option("--network", o->network, "fluid; flows: every message; simgrid: every message on SimGrid's solver")
      ->type_name("NAME")
      ->capture_default_str();
  app->add_option("--channels", o->channels, "flows, simgrid: channels to step through; default: NCCL's choice")
      ->type_name("N")
      ->check(CLI::Range(1, 64));
  app->add_option("--calibration", o->calibration, "constants from this file")->type_name("FILE");
  app->add_flag("--json", o->json, "one JSON object on stdout");
  return {app, [o, &process] { return run(*o, process); }};
}

}  // namespace twin::cli
