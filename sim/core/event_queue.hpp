// The pending events of one simulation: a 4-ary heap of 32-byte events, ordered by (time, priority, sequence).
//
// Events of one time come out by priority (smaller first), then in the order they were pushed, so a run is a function
// of its input alone. There is no removal: an event carries the version of what it speaks of, and the reader drops it
// where that version has moved on (lazy deletion). An event at Time::never() is not stored: it does not happen.
// Four children to a node halve the depth and lie in two cache lines; measured by tests/bench/event_loop.cpp.
// Range: 2^48 pushes and priorities 0..65535 between two calls of clear().
//
//   queue.push(now + Time::ns(5), kEnd, id, version);          // priority = kind unless given
//   while (!queue.empty()) { const Event e = queue.pop(); if (e.version == version_of(e.id)) ...; }
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>
#include "sim/core/time.hpp"

namespace twin::core {

struct Event {
  Time time;
  std::uint64_t order = 0;    // priority << 48 | sequence
  std::int32_t id = -1;       // what it speaks of
  std::uint32_t version = 0;  // of that, when the event was pushed
  std::uint32_t kind = 0;     // the reader's
  std::uint32_t extra = 0;    // the reader's
  std::uint32_t priority() const { return static_cast<std::uint32_t>(order >> 48); }
};

class EventQueue {
 public:
  struct Options {
    std::uint32_t priority = 0;
    std::uint32_t extra = 0;
  };
  void push(Time time, std::uint32_t kind, std::int32_t id, std::uint32_t version) {
    push(time, kind, id, version, Options{.priority = kind, .extra = 0});
  }
  void push(Time time, std::uint32_t kind, std::int32_t id, std::uint32_t version, Options options) {
    if (time.is_never()) return;
    const std::uint64_t order = std::uint64_t{options.priority} << 48 | sequence_++;
    heap_.emplace_back();
    rise(heap_.size() - 1, Event{time, order, id, version, kind, options.extra});
  }
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  const Event& top() const { return heap_.front(); }
  Time next_time() const { return heap_.empty() ? Time::never() : heap_.front().time; }
  Event pop() {
    const Event first = heap_.front(), last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sink(last);
    return first;
  }
  void reserve(std::size_t events) { heap_.reserve(events); }
  void clear() {
    heap_.clear();
    sequence_ = 0;
  }

 private:
  static bool before(const Event& a, const Event& b) {
    return a.time.count() != b.time.count() ? a.time.count() < b.time.count() : a.order < b.order;
  }
  void rise(std::size_t hole, const Event& e) {
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / 4;
      if (!before(e, heap_[parent])) break;
      heap_[hole] = heap_[parent];
      hole = parent;
    }
    heap_[hole] = e;
  }
  void sink(const Event& e) {
    const std::size_t n = heap_.size();
    std::size_t hole = 0;
    while (true) {
      const std::size_t first = 4 * hole + 1;
      if (first >= n) break;
      std::size_t least = first;
      for (std::size_t child = first + 1; child < (first + 4 < n ? first + 4 : n); ++child)
        least = before(heap_[child], heap_[least]) ? child : least;
      if (!before(heap_[least], e)) break;
      heap_[hole] = heap_[least];
      hole = least;
    }
    heap_[hole] = e;
  }

  std::vector<Event> heap_;
  std::uint64_t sequence_ = 0;
};

}  // namespace twin::core
