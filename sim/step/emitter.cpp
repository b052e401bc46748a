// Appends ops to a stage's program in issue order; keeps the host clock, so that each op knows when the host issued it.
#include <algorithm>
#include <cmath>
#include "sim/core/check.hpp"
#include "sim/step/stage_program.hpp"

namespace twin::step {

Emitter::Emitter(Program& p, const ProgramContext& c)
    : program(p), context(c), builder(p), bundles(p, builder, c.timing) {}

Op Emitter::here(OpType type, Stream stream, Category category, std::int32_t body) const {
  Op op;
  op.type = type;
  op.stream = stream;
  op.category = category;
  op.body = body;
  op.micro_batch = micro_batch_;
  op.chunk = static_cast<std::int16_t>(chunk_);
  op.layer = static_cast<std::int16_t>(layer_);
  return op;
}

std::int32_t Emitter::compute(std::int32_t bundle, Category category, std::int64_t host_lead_ns) {
  TWIN_CHECK(bundle >= 0);
  Op op = here(OpType::kCompute, Stream::kCompute, category, bundle);
  op.host_issue_ns = std::llround(host_ns_ + context.launch_ns) + host_lead_ns;
  host_ns_ += context.launch_ns * static_cast<double>(bundles.launches(bundle));
  const auto id = builder.add(op, pending_);
  pending_.clear();
  return id;
}

std::int32_t Emitter::communicate(Stream stream, std::int32_t comm_index, std::vector<std::int32_t> dependencies) {
  TWIN_CHECK(comm_index >= 0);
  Op op = here(OpType::kComm, stream, program.comms[static_cast<std::size_t>(comm_index)].category, comm_index);
  host_ns_ += context.launch_ns;
  op.host_issue_ns = std::llround(host_ns_);
  std::erase_if(dependencies, [](std::int32_t d) { return d < 0; });
  return builder.add(op, dependencies);
}

std::int32_t Emitter::comm(int kind, int role, fabric::CollectiveOp op, double bytes, std::uint8_t hold,
                           const std::string& name, Category category) {
  if (kind < 0) return -1;
  CommTemplate t;
  t.kind = static_cast<std::uint8_t>(kind);
  t.role = static_cast<std::uint8_t>(role);
  t.op = op;
  t.bytes = std::max<std::int64_t>(0, std::llround(bytes));
  t.hold = hold;
  t.name = builder.name(name);
  t.category = category;
  program.comms.push_back(t);
  return static_cast<std::int32_t>(program.comms.size()) - 1;
}

}  // namespace twin::step
