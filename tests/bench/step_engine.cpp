// Speed and memory of refinement and executor on systems of the size that the targets name (no topology code involved).
//   bench_step_engine [healthy|faults|none|all] [ranks] [micro]
// healthy: tp8 pp16 folded; faults: ten slow ranks, scattered; none: every rank at its own speed, run explicit.
#include <sys/resource.h>
#include <time.h>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include "tests/step/fold_case.hpp"

using namespace twin::step;
using namespace twin::step::test;

namespace {

double now() {  // CPU time: the machine may be shared
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double peak_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

Config job(int ranks, int micro) {
  Config c{.tp = 8, .dp = ranks / 128, .pp = 16, .micro = micro, .layers = 8, .pod_nodes = 1 << 20};
  c.world_reduce = false;  // a single ring over all ranks would break the symmetry of rails
  c.variance_ppm2 = 100;
  for (auto& hold : c.hold) hold = 1;
  return c;
}

void time_run(const char* what, const System& system, const Case& c) {
  ExecOptions options = c.options;
  options.record = false;
  const double start = now();
  const auto t = execute(system, c.cost, options);
  const double wall = now() - start;
  if (!t) {
    std::printf("%s: %s\n", what, t.error().text().c_str());
    std::exit(1);
  }
  std::printf("  %s: %lld events, %lld ops, %.3f s, %.3f us/event, step %.3f s, peak %.0f MB\n", what,
              static_cast<long long>(t->stats.events), static_cast<long long>(t->stats.ops), wall,
              wall * 1e6 / static_cast<double>(t->stats.events), t->end.seconds(), peak_mb());
}

void run(const std::string& scenario, int ranks, int micro) {
  auto config = job(ranks, micro);
  std::mt19937_64 random(5);
  const auto any = [&](int n) { return static_cast<int>(random() % static_cast<std::uint64_t>(n)); };
  if (scenario == "faults")
    for (int i = 0; i < 10; ++i) config.slow.push_back({any(ranks), 1300});
  if (scenario == "none")
    for (int r = 0; r < ranks; ++r) config.slow.push_back({r, 1001 + any(50)});
  double start = now();
  auto c = build(config);
  const double built = now() - start;
  std::printf("%s, %d ranks: structure %.3f s", scenario.c_str(), ranks, built);
  if (scenario == "none") {
    std::printf("\n");
    time_run("explicit", c.system, c);
    return;
  }
  start = now();
  const auto partition = refine(c.system);
  const double refined = now() - start;
  const auto folded = quotient(c.system, partition);
  std::printf(", refine %.3f s, quotient %.3f s, classes %d\n", refined, now() - start - refined,
              partition.rank_classes);
  time_run("folded", folded, c);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string scenario = argc > 1 ? argv[1] : "all";
  const int ranks = argc > 2 ? std::atoi(argv[2]) : 16384, micro = argc > 3 ? std::atoi(argv[3]) : 16;
  if (scenario != "all") {
    run(scenario, ranks, micro);
    return 0;
  }
  for (const char* each : {"healthy", "faults", "none"}) run(each, ranks, micro);
}
