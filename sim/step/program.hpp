// A program: the ops that every rank of a class runs, on in-order streams, with dependencies. Made by the schedule
// (from a plan), later also from traces. An op starts when its stream is free, its dependencies are done and the host
// has issued it.
//
// Compute: a *bundle* of kernels (timed once per program by the device model), slowed while communication kernels hold
// SMs. Communication: an op on a communicator kind; it starts when all member slots have posted, then latency, then the
// fluid. Columns and indices, no per-op allocation: programs have 10^3-10^5 ops and are shared by all classes of a
// stage.
#pragma once
#include <cstdint>
#include <string>
#include <vector>
#include "sim/core/time.hpp"
#include "sim/fabric/collective.hpp"

namespace twin::step {

enum class OpType : std::uint8_t { kCompute, kComm };
enum class Stream : std::uint8_t {
  kCompute,
  kTp,
  kPpSendForward,
  kPpRecvForward,
  kPpSendBackward,
  kPpRecvBackward,
  kDpGrad,
  kDpParam,
  kHost,
  kCount
};
inline constexpr int kStreams = static_cast<int>(Stream::kCount);

// What the time of an op is booked under when nothing computes (DESIGN.md, breakdown_s).
enum class Category : std::uint8_t { kCompute, kOptimizer, kTp, kCp, kEp, kPp, kDp, kData, kOther, kCount };

inline constexpr std::int32_t kMaxBundleLevels = 8;  // distinct SM-holding levels that a bundle has a rate for

// Kernels that run back to back on the compute stream as one op.
struct Bundle {
  std::int64_t work_ns = 0;          // at nominal speed with all SMs free
  std::int64_t variance_ns2 = 0;     // white per-op noise, added to the class's variance at completion
  std::int64_t spread_work_ns = -1;  // work over which the persistent speed spread accumulates; -1: all of work_ns
  // A merged pass: lateness (2^-20 ns) that its exchanges left behind, and the kind whose members are together at its
  // end.
  std::int64_t spread_q20 = 0;
  std::int32_t joins_kind = -1;
  bool merged = false;
  // rate when `level` SM-holding step is in force, 2^20 = full speed; level 0 is full speed (see Program::levels)
  std::int64_t rate[kMaxBundleLevels] = {};
  std::int32_t name = 0;                       // index into Program::names
  std::int32_t first_kernel = 0, kernels = 0;  // into Program::kernel_names / kernel_ns, for traces and --explain
};

// A communication template: everything but the communicator's geometry.
struct CommTemplate {
  std::uint8_t kind = 0;  // communicator kind, index into System::kinds
  std::uint8_t role = 0;  // p2p: 0 sender, 1 receiver; root of a broadcast; else 0
  fabric::CollectiveOp op = fabric::CollectiveOp::kAllReduce;
  std::int64_t bytes = 0;
  std::uint8_t hold = 0;  // SMs held from posting to end, in units of kHoldUnit SMs (0: copy engine)
  std::int32_t name = 0;
  Category category = Category::kTp;
};

struct Op {
  OpType type = OpType::kCompute;
  Stream stream = Stream::kCompute;
  Category category = Category::kCompute;
  std::uint8_t priority = 0;
  std::int32_t body = 0;          // index into bundles or comms
  std::int32_t micro_batch = -1;  // for traces
  std::int16_t chunk = -1;
  std::int16_t layer = -1;
  std::int64_t host_issue_ns = 0;  // host time at which it is issued, counted from the last host sync before it
  std::int32_t host_sync = -1;     // op (of this program) whose completion restarted the host clock; -1: program start
};

struct Program {
  std::vector<Op> ops;  // in issue order
  std::vector<std::uint16_t> in_degree;
  std::vector<std::int32_t> successor_start;  // CSR, ops.size() + 1
  std::vector<std::int32_t> successors;
  std::vector<Bundle> bundles;
  std::vector<CommTemplate> comms;
  std::vector<std::string> names;
  std::vector<std::string> kernel_names;
  std::vector<std::int64_t> kernel_ns;
};

// Adds ops in issue order; stream order is a dependency by itself. finish() builds the CSR.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(Program& p) : p_(p) { last_.assign(kStreams, -1); }
  std::int32_t name(const std::string& s);
  std::int32_t add(Op op, std::initializer_list<std::int32_t> dependencies);
  std::int32_t add(Op op, const std::vector<std::int32_t>& dependencies);
  std::int32_t last(Stream s) const { return last_[static_cast<std::size_t>(s)]; }
  void finish();

 private:
  Program& p_;
  std::vector<std::int32_t> last_;
  std::vector<std::int64_t> edges_;  // from << 32 | to
  std::vector<std::pair<std::string, std::int32_t>> interned_;
};

}  // namespace twin::step
