// The executor's state and phases. One time stamp goes: drain (all events, and what they let start) - re-time compute
// ops - settle (posted communications take their lateness, complete groups start, members are reset) - again while
// events of this time remain - then one solve of the fluid. Inside a phase the order of events cannot change a result:
// they add, count or take maxima; so the explicit system and its quotient agree bit for bit whatever the order of their
// queues.
//
// Rules that callers may rely on:
// - Instances of one group never overlap: the next starts when the one before has ended and all slots have posted
// again.
//   A slot's posts are matched in the order in which they are posted; ops of one kind on several streams of a rank must
//   be ordered by dependencies, or their matching depends on timing.
// - SMs are held from posting to end, levels above kMaxBundleLevels - 1 count as that. Only Stream::kCompute is slowed.
// - Jitter: each rank keeps its total lateness since the start and, per communicator kind, the total at the last join
// of
//   that kind; a join sees the difference. Members of a collective take over the join's lateness, except on DP streams,
//   where nobody's compute waits; messages are charged none (executor_comm.cpp says why).
#pragma once
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>
#include "sim/core/fluid.hpp"
#include "sim/step/executor.hpp"
#include "sim/step/executor_jitter.hpp"
#include "sim/step/executor_queue.hpp"
#include "sim/step/executor_sample.hpp"
#include "sim/step/executor_tables.hpp"

namespace twin::step {

class Engine {
 public:
  Engine(const System& system, const CommCostFn& cost, const ExecOptions& options);
  core::Result<Timeline> run();

 private:
  enum class EventType : std::uint32_t { kComputeDone, kOtherDone, kIssue, kStart, kFlowDone, kApartDone };
  struct Rank {
    const ProgramTable* table = nullptr;
    std::int64_t first_op = 0;    // into open_ and the timeline's columns
    std::int64_t first_sync = 0;  // into sync_time_
    std::int64_t remaining = 0, rate = 0,
                 last = 0;                  // of the compute op in flight: 2^-20 ns of work, 2^20 = full speed, ns
    std::int64_t variance = 0, spread = 0;  // total lateness: ns^2, 2^-20 ns
    std::int64_t end = 0;
    std::int32_t compute = -1;  // op in flight
    std::int32_t hold = 0;      // SM units of posted communications
    std::int32_t unfinished = 0;
    std::int64_t done = 0;     // when the compute op ends at its present rate
    std::int64_t queued = -1;  // time of its event in the queue, not later than that
    bool dirty = false;
  };
  struct Seen {  // a rank's totals at its last join of a kind
    std::int64_t variance = 0, spread = 0;
  };
  struct Post {
    std::int64_t time = 0, sigma = 0, variance = 0, spread = 0;
    std::int32_t op = 0;
    std::int32_t next = -1;
  };
  struct Group {
    std::int32_t arrived = 0;  // slots with a post
    std::int32_t members = 0;  // sum of the slots' counts
    std::int32_t comm = -1;    // of the instance in progress
    std::int32_t finished = 0;
    std::int64_t bytes = 0, cap = 0;
    std::int64_t queued = -1;  // time of the end event in the queue, not later than the end
    bool busy = false;
    bool apart = false;  // no other group ever loads its links: its end is known at its start, the fluid not asked
  };
  struct NewPost {
    std::int32_t rank, op, slot;
  };
  struct Reset {
    std::int32_t rank, membership;
    std::int64_t variance, spread;  // new totals; kKeep: as they are
  };
  static constexpr std::int64_t kKeep = INT64_MAX;

  void set_up();
  void set_up_groups();
  void handle(const EndQueue::Event& event);
  void drain();
  void solve();
  // Ops (executor_ops.cpp).
  void op_ready(std::int32_t rank, std::int32_t op);
  void launch(std::int32_t rank, std::int32_t op);
  void launch_compute(std::int32_t rank, std::int32_t op, const OpTable& table);
  void op_finished(std::int32_t rank, std::int32_t op);
  void run_finished();
  void mark_dirty(std::int32_t rank);
  void retime();
  SampledOp scaled(std::int32_t rank, std::int32_t op, const Bundle& bundle) const;
  // Communications (executor_comm.cpp).
  void post_comm(std::int32_t rank, std::int32_t op, const OpTable& table);
  void settle();
  void enqueue(const NewPost& post);
  void start_instance(std::int32_t group);
  std::int64_t join_delay(std::int32_t group, std::int64_t latest);
  void plan_resets(std::int32_t group, const Join& joined);
  void apply_resets();
  void bytes_may_move(std::int32_t group);
  void count_bytes(std::int32_t group);
  bool end_apart(std::int32_t group, std::int64_t start);
  void finish_instance(std::int32_t group);
  const CommCost& cost_of(std::int32_t comm, std::int32_t geometry);
  // Errors (executor_report.cpp).
  core::Error deadlock() const;
  core::Error disagreement(std::int32_t group) const;
  core::Error no_group(std::int32_t rank, std::int32_t op) const;
  std::string describe(std::int32_t rank, std::int32_t op) const;
  std::string describe_block(std::int32_t rank) const;

  bool p2p_of(std::int32_t g) const {
    return s_.kinds[static_cast<std::size_t>(s_.group_kind[static_cast<std::size_t>(g)])].p2p;
  }
  Rank& rank(std::int32_t r) { return ranks_[static_cast<std::size_t>(r)]; }
  const Rank& rank(std::int32_t r) const { return ranks_[static_cast<std::size_t>(r)]; }
  Group& group(std::int32_t g) { return groups_[static_cast<std::size_t>(g)]; }
  const OpTable& table_of(std::int32_t r, std::int32_t op) const {
    return rank(r).table->ops[static_cast<std::size_t>(op)];
  }
  void push(std::int64_t time, EventType type, std::int32_t id, std::int32_t op = -1) {
    queue_.push(time, static_cast<std::uint32_t>(type), id, op);
  }
  // An end that moves to later keeps its event, which then asks again; one that moves to sooner gets another, and the
  // old one finds queued to be no longer its time.
  void push_end(std::int64_t end, EventType type, std::int32_t id, std::int64_t& queued) {
    if (queued >= 0 && queued <= end) return;
    queued = end;
    push(end, type, id);
  }
  bool ends_now(std::int64_t end, EventType type, std::int32_t id, std::int64_t& queued) {
    if (queued != now_) return false;
    queued = -1;
    if (end > now_) push_end(end, type, id, queued);
    return end <= now_;
  }
  void record(std::vector<std::int64_t>& column, std::int32_t r, std::int32_t op, std::int64_t time) {
    if (options_.record) column[static_cast<std::size_t>(rank(r).first_op + op)] = time;
  }

  const System& s_;
  const CommCostFn& cost_fn_;
  ExecOptions options_;
  bool jitter_ = false;  // as expected maxima
  std::int64_t persistent_sigma_q20_ = 0;
  Tables tables_;
  core::Fluid fluid_;
  EndQueue queue_;
  std::int64_t now_ = 0;
  std::vector<Rank> ranks_;
  std::vector<Seen> seen_;           // [rank * memberships + membership]
  std::vector<std::uint16_t> open_;  // dependencies not done, per rank and op
  std::vector<std::int64_t> sync_time_;
  std::vector<Group> groups_;
  std::vector<std::int32_t> slot_of_;     // [rank * memberships + membership]
  std::vector<std::int32_t> first_post_;  // per slot, into posts_
  std::vector<Post> posts_;
  std::int32_t free_post_ = -1;
  std::unordered_map<std::uint64_t, CommCost> costs_;
  std::vector<core::Int128> link_bytes_;  // 2^-20 byte
  // Scratch of one time stamp.
  std::vector<std::pair<std::int32_t, std::int32_t>> finished_;
  std::vector<std::int32_t> dirty_, complete_;
  std::vector<NewPost> new_posts_;
  std::vector<Reset> resets_;
  std::vector<Arrival> arrivals_;
  std::int64_t unfinished_ = 0;
  std::optional<core::Error> error_;
  Timeline timeline_;
};

}  // namespace twin::step
