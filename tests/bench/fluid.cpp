// Cost of the fluid solver per event (a start or an end), for components of one to three activities, and for large
// ones: the cost of an activity must not grow with their number. Usage: bench_fluid [EVENTS]; a fixed count and no
// timing loop, so it runs under callgrind as it is.
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
  std::int32_t groups, per_group, links, uses;  // links of a group, and how many of them an activity crosses
};

// `groups` components; in each `per_group` activities over the same links start again as soon as they end.
double run(const Case& c, std::int64_t events) {
  FluidStructure s;
  for (std::int32_t l = 0; l < c.groups * c.links; ++l)
    s.capacity.push_back(fluid_rate(50e9 + 1e7 * (l * 7919 % 1000)));
  for (std::int32_t g = 0; g < c.groups; ++g)
    for (std::int32_t i = 0; i < c.per_group; ++i) {
      std::vector<std::pair<std::int32_t, std::int64_t>> uses;
      for (std::int32_t k = 0; k < c.uses; ++k) uses.push_back({g * c.links + (i + 37 * k) % c.links, kWeightOne - k});
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
  std::printf("%-38s %9lld events %8.3f us/event  %6.1f activities/solve\n", c.name, static_cast<long long>(done),
              seconds * 1e6 / static_cast<double>(done),
              static_cast<double>(fluid.touched()) / static_cast<double>(fluid.solves()));
  return seconds;
}
}  // namespace

int main(int argc, char** argv) {
  const std::int64_t events = argc > 1 ? std::atoll(argv[1]) : 1000000;
  run({"1 activity, 2 links", 64, 1, 2, 2}, events);
  run({"1 activity, 8 links", 64, 1, 8, 8}, events);
  run({"2 activities, 4 links", 64, 2, 4, 4}, events);
  run({"3 activities, 8 links", 64, 3, 8, 8}, events);
  run({"16 activities, 8 links", 8, 16, 8, 8}, events / 8);
  run({"1,000 activities, 1,000 links, 4 each", 1, 1000, 1000, 4}, events / 5000);
  run({"10,000 activities, 10,000 links", 1, 10000, 10000, 4}, events / 50000);
  run({"10,000 activities, 64 links, 4 each", 1, 10000, 64, 4}, events / 50000);
  return 0;
}
