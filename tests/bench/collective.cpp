// Time and memory of the fabric layer's heavy cases: lowering at 1,024 and 4,096 ranks, a fluid collective, and a ring
// all-reduce of 1 GiB stepped message by message. Prints one line each; exit 1 if a limit is missed.
//   bench_collective [RANKS of the stepped ring, default 4096]
#include <sys/resource.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include "sim/fabric/collective_table.hpp"
#include "sim/fabric/flows.hpp"
#include "tests/fabric/fake_view.hpp"

using namespace twin;
using namespace twin::fabric;

namespace {

bool failed = false;

template <class F>
void timed(const char* what, double limit_s, F&& f) {
  const auto t0 = std::chrono::steady_clock::now();
  f();
  const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%-58s %9.3f ms (limit %6.0f)  peak %4ld MB\n", what, s * 1e3, limit_s * 1e3, usage.ru_maxrss / 1024);
  failed = failed || s > limit_s || usage.ru_maxrss > 1000000;
}

FakeView cluster(int ranks) { return FakeView({.nodes = ranks / 8, .uplink = 400e9, .pod = 16, .spines = 16}); }

}  // namespace

int main(int argc, char** argv) {
  const int stepped = argc > 1 ? std::atoi(argv[1]) : 4096;
  const auto& constants = device::Constants::builtin();
  const FakeView v = cluster(1024);
  const auto m = all_devices(v);
  timed("lower ring, 1,024 ranks, 16 spines", 0.01, [&] { (void)lower(v, Algorithm::kRing, m); });
  timed("lower tree, 1,024 ranks, 16 spines", 0.02, [&] { (void)lower(v, Algorithm::kTree, m); });
  timed("lower all-to-all, 1,024 ranks, 16 spines", 0.05, [&] { (void)lower(v, Algorithm::kPairwise, m); });
  timed("fluid all-reduce of 1 GiB, 1,024 ranks, lower included", 0.01, [&] {
    const auto rows = collective_table(v, {CollectiveOp::kAllReduce, m, 1 << 30, 1 << 30, 2}, constants);
    if (!rows || rows->size() != 1) failed = true;
  });
  const FakeView big = cluster(stepped);
  timed("stepped ring all-reduce of 1 GiB, one channel", 60, [&] {
    const auto run =
        run_flows(big, CollectiveOp::kAllReduce, 1 << 30, all_devices(big), {Algorithm::kRing, Protocol::kSimple, 1});
    if (!run) {
      failed = true;
      return;
    }
    std::printf("  %ld messages in %ld solves, %.6f s simulated\n", static_cast<long>(run->messages),
                static_cast<long>(run->solves), run->time.seconds());
    failed = failed || run->messages != 2LL * stepped * (stepped - 1);
  });
  return failed ? 1 : 0;
}
