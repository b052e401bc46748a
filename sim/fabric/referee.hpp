// The same flows and the same faults on two independent solvers: ours (sim/core/fluid.hpp) and SimGrid's, in a module
// that is loaded on demand. Used by tests (equal finish times) and by `--network simgrid`.
#pragma once
#include <cstdint>
#include <string>
#include <vector>
#include "sim/core/result.hpp"
#include "sim/core/time.hpp"
#include "sim/fabric/flows.hpp"

namespace twin::fabric {

struct FlowProblem {
  struct Flow {
    core::Time start;
    std::int64_t bytes = 0;
    std::vector<std::int32_t> links;  // distinct
    std::int32_t after = -1;          // starts `start` after this flow has ended; -1: at `start`
    std::int64_t cap = 0;             // 2^-32 byte/ns; 0: none
  };
  struct Change {
    core::Time time;
    std::int32_t link = 0;
    std::int64_t capacity = 0;  // 0: down; flows on it fail
  };
  std::vector<std::int64_t> capacity;  // 2^-32 byte/ns
  std::vector<Flow> flows;
  std::vector<Change> changes;
};

struct FlowEnd {
  double time_s = -1;  // -1: never started (the flow it waits for failed)
  bool failed = false;
  double remaining_bytes = 0;
};

std::vector<FlowEnd> solve_fluid(const FlowProblem& problem);
bool simgrid_available();  // the module is there and loads
core::Result<std::vector<FlowEnd>> solve_simgrid(const FlowProblem& problem);

// run_flows() on SimGrid. Routes that split over several links (spines) have no counterpart there: kUnsupported.
core::Result<FlowRun> run_flows_simgrid(const View& view, CollectiveOp op, std::int64_t bytes,
                                        std::span<const core::DeviceId> members, const Choice& choice,
                                        const FlowOptions& options = {});

}  // namespace twin::fabric
