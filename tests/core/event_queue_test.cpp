// Order of events: by example, and against a sorted list under random pushes and pops.
#include "sim/core/event_queue.hpp"
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <tuple>

using namespace twin::core;

TEST_CASE("events come out by time, priority, order of pushing", "[fast]") {
  EventQueue q;
  q.push(Time::ns(5), 0, 1, 0);
  q.push(Time::ns(3), 2, 2, 0);
  q.push(Time::ns(3), 1, 3, 0);
  q.push(Time::ns(3), 1, 4, 0);
  q.push(Time::never(), 0, 9, 0);
  q.push(Time::ns(3), 7, 5, 6, {.priority = 0, .extra = 8});
  CHECK(q.size() == 5);
  CHECK(q.next_time() == Time::ns(3));
  const Event e = q.pop();
  CHECK((e.id == 5 && e.kind == 7 && e.version == 6 && e.extra == 8 && e.priority() == 0));
  for (std::int32_t id : {3, 4, 2, 1}) CHECK(q.pop().id == id);
  CHECK(q.empty());
  CHECK(q.next_time().is_never());
}

TEST_CASE("the heap sorts any mixture of pushes and pops", "[fast][prop]") {
  std::mt19937_64 engine(1);
  for (int round = 0; round < 200; ++round) {
    EventQueue q;
    std::vector<std::tuple<std::int64_t, std::uint32_t, std::int32_t>> model;  // id = order of pushing
    std::int32_t pushed = 0;
    for (int i = 0; i < 200; ++i) {
      if (engine() % 3 != 0 || model.empty()) {
        const auto time = static_cast<std::int64_t>(engine() % 20);
        const auto kind = static_cast<std::uint32_t>(engine() % 3);
        q.push(Time::ns(time), kind, pushed, 0);
        model.emplace_back(time, kind, pushed++);
      } else {
        const auto least = std::min_element(model.begin(), model.end());
        const Event e = q.pop();
        REQUIRE(std::tuple(e.time.count(), e.kind, e.id) == *least);
        model.erase(least);
      }
      REQUIRE(q.size() == model.size());
    }
  }
}
