// Cost of the fluid solver per event (a start or an end), for components of one to three activities, and for one large
// component. Usage: bench_fluid [EVENTS]; a fixed count and no timing loop, so it runs under callgrind as it is.
#include "sim/core/fluid.hpp"
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <queue>
#include <string>

namespace {
using namespace twin::core;

struct Case {
  const char* name;
  std::int32_t groups, per_group, links_per_activity;
};

// `groups` components; in each `per_group` activities over the same links start again as soon as they end.
double run(const Case& c, std::int64_t events) {
  FluidStructure s;
  s.capacity.assign(static_cast<std::size_t>(c.groups * c.links_per_activity), fluid_rate(50e9));
  for (std::int32_t g = 0; g < c.groups; ++g)
    for (std::int32_t i = 0; i < c.per_group; ++i) {
      std::vector<std::pair<std::int32_t, std::int64_t>> uses;
      for (std::int32_t k = 0; k < c.links_per_activity; ++k)
        uses.push_back({g * c.links_per_activity + (k + i) % c.links_per_activity, kWeightOne - k});
      s.add(1 + i % 3, uses);
    }
  Fluid fluid(s);
  struct End {
    Time time;
    std::int32_t activity;
    std::uint32_t version;
    bool operator<(const End& o) const { return time > o.time; }
  };
  std::priority_queue<End> queue;
  Time now;
  const auto push = [&] {
    for (std::int32_t a : fluid.solve(now)) queue.push({fluid.finish(a), a, fluid.version(a)});
  };
  std::int64_t done = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (std::int32_t a = 0; a < static_cast<std::int32_t>(fluid.activities()); ++a)
    fluid.start(a, now, 100000 + 7919 * a % 100000);
  push();
  while (done < events) {
    const End e = queue.top();
    queue.pop();
    if (fluid.version(e.activity) != e.version) continue;
    now = e.time;
    fluid.end(e.activity);
    fluid.start(e.activity, now, 100000 + 7919 * done % 100000);
    done += 2;
    if (queue.empty() || queue.top().time > now) push();
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("%-34s %9lld events %8.3f us/event  %6.1f activities/solve\n", c.name, static_cast<long long>(done),
              seconds * 1e6 / static_cast<double>(done),
              static_cast<double>(fluid.touched()) / static_cast<double>(fluid.solves()));
  return seconds;
}
}  // namespace

int main(int argc, char** argv) {
  const std::int64_t events = argc > 1 ? std::atoll(argv[1]) : 1000000;
  run({"1 activity, 2 links", 64, 1, 2}, events);
  run({"1 activity, 8 links", 64, 1, 8}, events);
  run({"2 activities, 4 links", 64, 2, 4}, events);
  run({"3 activities, 8 links", 64, 3, 8}, events);
  run({"16 activities, 8 links", 8, 16, 8}, events / 8);
  run({"4,000 activities, 64 links each 8", 1, 4000, 8}, events / 5000);
  return 0;
}
