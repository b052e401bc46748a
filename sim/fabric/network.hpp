// The three network models of `--network`, behind one call: a collective alone on its links.
//   fluid    one activity on weighted links (cost.cpp, lower.cpp): what the step simulation uses
//   flows    every point-to-point message on the same solver (flows.hpp)
//   simgrid  every message on SimGrid's solver, where its module was built (referee.hpp)
#pragma once
#include <span>
#include <string_view>
#include <vector>
#include "sim/core/result.hpp"
#include "sim/core/time.hpp"
#include "sim/fabric/collective.hpp"

namespace twin::fabric {

enum class Network : std::uint8_t { kFluid, kFlows, kSimgrid };
core::Result<Network> parse_network(std::string_view text);

// Latency and transfer of this choice, launch not included. Errors: no path, or no messages to expand (NVLS, SHARP).
core::Result<core::Time> collective_time(Network network, const View& view, CollectiveOp op, std::int64_t bytes,
                                         std::span<const core::DeviceId> members, const Choice& choice,
                                         const device::Constants& constants);

struct CollectiveRequest;
struct CollectiveRow;
// The rows of a table (collective_table.hpp) with their times taken from another network. In-switch reductions send no
// messages: those rows run as rings there, and say so.
core::Result<void> retime(Network network, const View& view, const CollectiveRequest& request,
                          const device::Constants& constants, std::vector<CollectiveRow>& rows);

}  // namespace twin::fabric
