// The executor's pending events: a 4-ary heap by time alone, 16 bytes an event. Events of one time come out in an order
// that the pushes determine; the executor's results do not depend on it (executor_engine.hpp).
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace twin::step {

class EndQueue {
 public:
  struct Event {
    std::int64_t time = 0;
    std::uint32_t type_and_id = 0;
    std::int32_t op = -1;
    std::uint32_t type() const { return type_and_id >> kIdBits; }
    std::int32_t id() const { return static_cast<std::int32_t>(type_and_id & kMostIds); }
  };
  static constexpr int kIdBits = 29;
  static constexpr std::uint32_t kMostIds = (std::uint32_t{1} << kIdBits) - 1;
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();  // such an event does not happen

  void push(std::int64_t time, std::uint32_t type, std::int32_t id, std::int32_t op) {
    if (time == kNever) return;
    heap_.emplace_back();
    std::size_t hole = heap_.size() - 1;
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / 4;
      if (heap_[parent].time <= time) break;
      heap_[hole] = heap_[parent];
      hole = parent;
    }
    heap_[hole] = {time, type << kIdBits | static_cast<std::uint32_t>(id), op};
  }
  bool empty() const { return heap_.empty(); }
  std::int64_t next_time() const { return heap_.empty() ? kNever : heap_.front().time; }
  Event pop() {
    const Event first = heap_.front(), last = heap_.back();
    heap_.pop_back();
    const std::size_t n = heap_.size();
    if (n == 0) return first;
    std::size_t hole = 0;
    while (true) {
      const std::size_t child = 4 * hole + 1;
      if (child >= n) break;
      std::size_t least = child;
      for (std::size_t i = child + 1; i < (child + 4 < n ? child + 4 : n); ++i)
        least = heap_[i].time < heap_[least].time ? i : least;
      if (last.time <= heap_[least].time) break;
      heap_[hole] = heap_[least];
      hole = least;
    }
    heap_[hole] = last;
    return first;
  }

 private:
  std::vector<Event> heap_;
};

}  // namespace twin::step
