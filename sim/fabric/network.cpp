#include "sim/fabric/network.hpp"
#include "sim/core/json_reader.hpp"
#include "sim/fabric/collective_table.hpp"
#include "sim/fabric/flows.hpp"
#include "sim/fabric/referee.hpp"

namespace twin::fabric {

core::Result<Network> parse_network(std::string_view text) {
  static const std::vector<std::string> kNames = {"fluid", "flows", "simgrid"};
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (text == kNames[i]) return static_cast<Network>(i);
  const std::string near = core::nearest(text, kNames);
  return core::Error{core::ErrorCode::kNotFound, "--network",
                     "expected fluid, flows or simgrid, found \"" + std::string(text) + "\"",
                     near.empty() ? "" : "nearest: " + near};
}

core::Result<core::Time> collective_time(Network network, const View& view, CollectiveOp op, std::int64_t bytes,
                                         std::span<const core::DeviceId> members, const Choice& choice,
                                         const device::Constants& constants) {
  const auto pattern = lower(view, pattern_of(op, choice.algorithm), members);
  if (!pattern) return pattern.error();
  if (network == Network::kFluid) {
    const Cost c = cost(view, op, bytes, choice, pattern->geometry, constants);
    return c.latency + alone(view, *pattern, c).time;
  }
  const FlowOptions options = flow_options(view, op, choice, pattern->geometry, constants);
  const auto run = network == Network::kFlows ? run_flows(view, op, bytes, members, choice, options)
                                              : run_flows_simgrid(view, op, bytes, members, choice, options);
  if (!run) return run.error();
  return run->time;
}

core::Result<void> retime(Network network, const View& view, const CollectiveRequest& request,
                          const device::Constants& constants, std::vector<CollectiveRow>& rows) {
  if (network == Network::kFluid) return {};
  const auto base = lower(view, pattern_of(request.op, Algorithm::kRing), request.members);
  if (!base) return base.error();
  for (CollectiveRow& row : rows) {
    Choice choice = choose(view, request.op, row.bytes, base->geometry, constants);
    const bool in_switch = choice.algorithm == Algorithm::kNvls || choice.algorithm == Algorithm::kNvlsTree ||
                           choice.algorithm == Algorithm::kSharp;
    if (in_switch) choice.algorithm = Algorithm::kRing;
    if (request.channels > 0) choice.channels = row.channels = request.channels;
    const auto time = collective_time(network, view, request.op, row.bytes, request.members, choice, constants);
    if (!time) return time.error();
    row.algorithm = name(choice.algorithm);
    row.time_us = time->seconds() * 1e6;
    row.algbw_gbps = static_cast<double>(row.bytes) / time->seconds() * 1e-9;
    row.busbw_gbps = row.algbw_gbps * busbw_factor(request.op, static_cast<int>(request.members.size()));
    row.limiting_link.clear();
  }
  return {};
}

}  // namespace twin::fabric
