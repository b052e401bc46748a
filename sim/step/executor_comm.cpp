// Communications: posting, matching, joins with jitter, latency and bytes, end.
#include <algorithm>
#include <limits>
#include "sim/core/check.hpp"
#include "sim/step/executor_engine.hpp"

namespace twin::step {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

void Engine::post_comm(std::int32_t r, std::int32_t op, const OpTable& row) {
  const auto& comm = tables_.comms[at(row.body)];
  const auto slot = slot_of_[at(std::int64_t{r} * s_.memberships + comm.membership)];
  if (slot < 0) {
    if (!error_) error_ = no_group(r, op);
    return;
  }
  if (comm.comm->hold > 0) {
    rank(r).hold += comm.comm->hold;
    mark_dirty(r);
  }
  new_posts_.push_back({r, op, slot});
}

void Engine::settle() {
  for (const auto& post : new_posts_) enqueue(post);
  new_posts_.clear();
  for (const auto g : complete_) {
    start_instance(g);
    if (error_) return;
  }
  complete_.clear();
  apply_resets();
}

void Engine::enqueue(const NewPost& post) {
  const auto g = s_.group_of[at(std::int64_t{post.rank} * s_.memberships +
                                tables_.comms[at(table_of(post.rank, post.op).body)].membership)];
  if (free_post_ < 0) {
    free_post_ = static_cast<std::int32_t>(posts_.size());
    posts_.push_back({});
  }
  const auto id = free_post_;
  auto& x = posts_[at(id)];
  free_post_ = x.next;
  x = {.time = now_, .op = post.op};
  if (jitter_) {
    const auto& mine = rank(post.rank);
    const auto& last = seen_[at(std::int64_t{post.rank} * s_.memberships +
                                tables_.comms[at(table_of(post.rank, post.op).body)].membership)];
    x.variance = std::max<std::int64_t>(mine.variance - last.variance, 0);
    x.spread = std::max<std::int64_t>(mine.spread - last.spread, 0);
    if (x.variance > 0 || x.spread > 0) x.sigma = lateness_sigma(x.variance, x.spread);
  }
  auto* tail = &first_post_[at(post.slot)];
  if (*tail < 0) {
    auto& state = group(g);
    const auto slots = s_.slot_start[at(g) + 1] - s_.slot_start[at(g)];
    if (++state.arrived == slots && !state.busy) complete_.push_back(g);
  }
  while (*tail >= 0) tail = &posts_[at(*tail)].next;
  *tail = id;
}

void Engine::start_instance(std::int32_t g) {
  auto& x = group(g);
  std::int64_t latest = 0, widest = 0;
  std::int32_t agreement = -1;
  x.comm = std::numeric_limits<std::int32_t>::max();
  for (auto i = s_.slot_start[at(g)]; i < s_.slot_start[at(g) + 1]; ++i) {
    const auto& post = posts_[at(first_post_[at(i)])];
    const auto comm = table_of(s_.slots[at(i)].rank, post.op).body;
    latest = std::max(latest, post.time);
    widest = std::max(widest, post.sigma);
    const auto mine = tables_.comms[at(comm)].agreement;
    if (agreement >= 0 && mine != agreement) {
      error_ = disagreement(g);
      return;
    }
    agreement = mine;
    x.comm = std::min(x.comm, comm);
  }
  x.busy = true;
  const auto start = std::max(now_, latest + (jitter_ && !p2p_of(g) ? join_delay(g, latest) : 0));
  if (options_.record)
    for (auto i = s_.slot_start[at(g)]; i < s_.slot_start[at(g) + 1]; ++i)
      record(timeline_.start, s_.slots[at(i)].rank, posts_[at(first_post_[at(i)])].op, start);
  const auto& cost = cost_of(x.comm, tables_.geometry[at(g)]);
  x.bytes = cost.bytes;
  x.cap = cost.rate_cap;
  if (!x.apart || !end_apart(g, start + cost.latency_ns)) push(start + cost.latency_ns, EventType::kStart, g);
}

std::int64_t Engine::join_delay(std::int32_t g, std::int64_t latest) {
  arrivals_.clear();
  for (auto i = s_.slot_start[at(g)]; i < s_.slot_start[at(g) + 1]; ++i) {
    const auto& post = posts_[at(first_post_[at(i)])];
    if (post.sigma > 0 || post.time == latest)
      arrivals_.push_back({post.time, post.sigma, post.variance, post.spread, s_.slots[at(i)].count});
  }
  const auto joined = join(arrivals_, group(g).members);
  plan_resets(g, joined);
  return joined.delay;
}

// Only exchanges that compute stands still for (tensor parallel, control) bring their members back together.
// Data-parallel traffic runs beside compute: it waits for the latest, the others' lateness stays with them. Messages of
// a pipeline are charged none (start_instance): their slack absorbs it, and a pass can then be merged exactly
// (merge.hpp).
void Engine::plan_resets(std::int32_t g, const Join& joined) {
  for (auto i = s_.slot_start[at(g)]; i < s_.slot_start[at(g) + 1]; ++i) {
    const auto& slot = s_.slots[at(i)];
    const auto& row = table_of(slot.rank, posts_[at(first_post_[at(i)])].op);
    const auto membership = tables_.comms[at(row.body)].membership;
    if (row.stream == Stream::kDpGrad || row.stream == Stream::kDpParam) {
      resets_.push_back({slot.rank, membership, kKeep, kKeep});
    } else {
      const auto& last = seen_[at(std::int64_t{slot.rank} * s_.memberships + membership)];
      resets_.push_back({slot.rank, membership, last.variance + joined.variance, last.spread + joined.spread});
    }
  }
}

// Joins of one instant that share a rank: the smallest total holds, whatever their order.
void Engine::apply_resets() {
  if (resets_.empty()) return;
  for (const auto& reset : resets_)
    if (reset.variance != kKeep) rank(reset.rank).variance = rank(reset.rank).spread = kKeep;
  for (const auto& reset : resets_) {
    if (reset.variance == kKeep) continue;
    auto& x = rank(reset.rank);
    x.variance = std::min(x.variance, reset.variance);
    x.spread = std::min(x.spread, reset.spread);
  }
  for (const auto& reset : resets_)
    seen_[at(std::int64_t{reset.rank} * s_.memberships + reset.membership)] = {rank(reset.rank).variance,
                                                                               rank(reset.rank).spread};
  resets_.clear();
}

const CommCost& Engine::cost_of(std::int32_t comm, std::int32_t geometry) {
  const auto key = static_cast<std::uint64_t>(comm) << 32 | static_cast<std::uint32_t>(geometry);
  const auto found = costs_.find(key);
  if (found != costs_.end()) return found->second;
  const auto& row = tables_.comms[at(comm)];
  return costs_.emplace(key, cost_fn_(row.program, row.index, geometry)).first->second;
}

void Engine::bytes_may_move(std::int32_t g) {
  const auto& x = group(g);
  if (x.bytes <= 0) {
    finish_instance(g);
    return;
  }
  count_bytes(g);
  fluid_.start(g, core::Time::ns(now_), x.bytes, x.cap);
}

void Engine::count_bytes(std::int32_t g) {
  const auto bytes = group(g).bytes;
  for (auto i = s_.load_start[at(g)]; i < s_.load_start[at(g) + 1]; ++i)
    link_bytes_[at(s_.load_link[at(i)])] += static_cast<core::Int128>(s_.load_weight[at(i)]) * bytes;
}

// One event in place of two and a solve. False: a dead link; the fluid then holds it, and the deadlock names it.
bool Engine::end_apart(std::int32_t g, std::int64_t start) {
  const auto& x = group(g);
  const auto time = fluid_.time_alone(g, std::max<std::int64_t>(x.bytes, 0), x.cap);
  if (time.is_never()) return false;
  if (x.bytes > 0) count_bytes(g);
  push(start + time.count(), EventType::kApartDone, g);
  return true;
}

void Engine::finish_instance(std::int32_t g) {
  auto& x = group(g);
  x.busy = false;
  ++x.finished;
  const auto slots = s_.slot_start[at(g) + 1] - s_.slot_start[at(g)];
  for (auto i = s_.slot_start[at(g)]; i < s_.slot_start[at(g) + 1]; ++i) {
    auto& head = first_post_[at(i)];
    const auto id = head;
    const auto op = posts_[at(id)].op;
    head = posts_[at(id)].next;
    if (head < 0) --x.arrived;
    posts_[at(id)].next = free_post_;
    free_post_ = id;
    const auto r = s_.slots[at(i)].rank;
    const auto hold = tables_.comms[at(table_of(r, op).body)].comm->hold;
    if (hold > 0) {
      rank(r).hold -= hold;
      mark_dirty(r);
    }
    op_finished(r, op);
  }
  if (x.arrived == slots) complete_.push_back(g);
}

}  // namespace twin::step
