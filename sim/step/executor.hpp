// Executes a System: event loop over op completions, communicator arrivals and fluid ends; deterministic to the bit.
//
// Rules. Compute op: done when work/rate has passed; its rate changes when posted communication kernels on the rank
// hold other SMs. Communication: posted when stream, dependencies and host allow; the group's instance starts when all
// slots have posted, then waits latency + expected-maximum of the members' jitter, then is a fluid activity until its
// bytes are moved. All events of one time stamp are handled, then the touched fluid component is solved once. Instances
// of one group are matched in order of posting per slot (as NCCL does); a mismatch of op or bytes is a deadlock.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>
#include "sim/core/result.hpp"
#include "sim/core/time.hpp"
#include "sim/step/system.hpp"

namespace twin::step {

struct CommCost {          // resolved cost of a comm template on a geometry
  std::int64_t bytes = 0;  // on the busiest link
  std::int64_t latency_ns = 0;
  std::int64_t rate_cap = 0;
};
// (program, comm template, geometry index) -> cost. Called once per distinct triple; must not depend on time or rank.
using CommCostFn = std::function<CommCost(std::int32_t program, std::int32_t comm, std::int32_t geometry)>;

struct ExecOptions {
  bool record = true;           // keep start and end per op and rank (or class)
  bool jitter = true;           // expected maxima at joins
  double persistent_sigma = 0;  // relative spread of rank speed, for the expected maxima (fixed-point inside)
  bool check_max_min = false;   // assert the defining property at every solve (tests)
  bool sample = false;  // --jitter sample: draw noise per rank instead of expected maxima (needs explicit system)
  std::uint64_t seed = 1;
};

struct ExecStats {
  std::int64_t events = 0, solves = 0, activities_solved = 0, ops = 0, max_min_violations = 0;
  std::int64_t merged_held = 0;  // merged passes that waited for the host: inside, some op would have waited less
};

struct Timeline {
  core::Time end;                       // last op of the last rank
  std::vector<std::int64_t> op_offset;  // [rank] -> first op in the columns below
  std::vector<std::int64_t> posted, start,
      finish;  // ns; posted: stream and dependencies free; start: communication: members complete (bytes may move)
  std::vector<std::int64_t> rank_end;                 // ns
  std::vector<std::int64_t> rank_white, rank_spread;  // the two parts of it: ns^2, and 2^-20 ns that add linearly
  std::vector<std::int64_t> rank_variance;            // ns^2 of jitter left at the end, for the interval
  std::vector<std::int64_t>
      link_busy_bytes;  // per link: bytes carried by one link of the class (2^20 per byte not applied; bytes)
  ExecStats stats;
};

// Error: deadlock, naming ranks, communicator, sequence number and op of (at most a few of) the blocked.
core::Result<Timeline> execute(const System& system, const CommCostFn& cost, const ExecOptions& options = {});

}  // namespace twin::step
