// The table of `traintwin collective`: one collective alone on a cluster, by message size, as nccl-tests print it.
//   time = launch + latency + busiest bytes / min(cap, least over links of capacity / weight)    (closed form of the
//   fluid)
// Also the parsing of what the command takes: op names, sizes (K, M, G = powers of 1024), rank lists.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>
#include "sim/core/result.hpp"
#include "sim/fabric/collective.hpp"

namespace twin::fabric {

struct CollectiveRow {
  std::int64_t bytes = 0;
  double time_us = 0, algbw_gbps = 0, busbw_gbps = 0;  // GB/s = 1e9 bytes/s
  std::string algorithm, protocol;
  int channels = 0;
  std::string limiting_link;  // "channels" where the rate cap binds first
};

struct CollectiveRequest {
  CollectiveOp op = CollectiveOp::kAllReduce;
  std::vector<core::DeviceId> members;  // send_recv: source, destination
  std::int64_t min_bytes = 8, max_bytes = std::int64_t{1} << 30;
  double factor = 2;
  int channels = 0;  // of the message networks (network.hpp); 0: NCCL's choice
};

core::Result<std::vector<CollectiveRow>> collective_table(const View& view, const CollectiveRequest& request,
                                                          const device::Constants& constants);

// The pattern that this choice uses for this op (send/recv: one way; all-to-all: both, also of two).
Algorithm pattern_of(CollectiveOp op, Algorithm algorithm);
// Time of the fluid alone on its links, as the solver would end it, and the link that binds (invalid: the cap).
struct Alone {
  core::Time time;
  core::LinkId link;
};
Alone alone(const View& view, const Pattern& pattern, const Cost& cost);

core::Result<CollectiveOp> parse_op(std::string_view text);  // "all_reduce", "all-reduce", "allreduce"
core::Result<std::int64_t> parse_bytes(std::string_view text, const std::string& where);  // "8", "64K", "1.5G"
// "N": the first N devices; "0,8,16-23": those. Errors: out of range, twice.
core::Result<std::vector<core::DeviceId>> parse_ranks(std::string_view text, int devices, const std::string& where);

}  // namespace twin::fabric
