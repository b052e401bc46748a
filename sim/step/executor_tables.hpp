// What the executor reads of programs in its inner loop, made compact once: op rows, global communication ids,
// geometries that are equal made one.
#pragma once
#include <cstdint>
#include <vector>
#include "sim/step/system.hpp"

namespace twin::step {

struct OpTable {
  std::int64_t host_issue_ns = 0;
  std::int32_t body = 0;       // bundle of the program, or global communication id
  std::int16_t waits = -1;     // host sync (of the rank's) that restarts its clock
  std::int16_t restarts = -1;  // host sync that it is
  OpType type = OpType::kCompute;
  Stream stream = Stream::kCompute;
};

struct CommTable {
  const CommTemplate* comm = nullptr;
  std::int32_t program = 0;
  std::int32_t index = 0;       // in the program
  std::int32_t membership = 0;  // kind's slot + role
  std::int32_t agreement = 0;   // equal for templates that may meet in one instance: same op and bytes
};

struct ProgramTable {
  const Program* program = nullptr;
  std::vector<OpTable> ops;
  std::vector<std::int32_t> sources;  // ops without dependencies
  std::int32_t syncs = 0;
};

struct Tables {
  std::vector<ProgramTable> programs;
  std::vector<CommTable> comms;
  std::vector<std::int32_t> geometry;  // per group, first equal one

  explicit Tables(const System& system);
};

}  // namespace twin::step
