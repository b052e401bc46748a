// Events per second of the bare event loop (hold model: each event that is handled pushes one or two, a third of which
// go stale), at several numbers of pending events. Usage: bench_event_loop [EVENTS]; a fixed count, so that callgrind's
// instruction count per event is comparable between builds.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include "sim/core/event_queue.hpp"

namespace {
using namespace twin::core;

std::uint64_t mix(std::uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

double run(std::int32_t pending, std::int64_t events) {
  EventQueue queue;
  queue.reserve(static_cast<std::size_t>(pending) * 2);
  std::vector<std::uint32_t> version(static_cast<std::size_t>(pending), 0);
  std::uint64_t state = 88172645463325252ULL;
  const auto later = [&] { return Time::ns(static_cast<std::int64_t>(mix(state) % 2000)); };
  for (std::int32_t i = 0; i < pending; ++i) queue.push(later(), 0, i, 0);
  std::int64_t popped = 0, handled = 0, checksum = 0;
  const auto begin = std::chrono::steady_clock::now();
  while (popped < events) {
    const Event e = queue.pop();
    ++popped;
    auto& current = version[static_cast<std::size_t>(e.id)];
    if (e.version != current) continue;
    ++handled;
    checksum += e.time.count() ^ e.id;
    queue.push(e.time + later(), e.kind, e.id, ++current);
    if (handled % 2 == 0) queue.push(e.time + later(), e.kind, e.id, ++current);  // the one before is stale now
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("%8d pending %10lld events (%4.1f %% stale) %7.2f M events/s  checksum %lld\n", pending,
              static_cast<long long>(popped),
              100.0 * static_cast<double>(popped - handled) / static_cast<double>(popped),
              static_cast<double>(popped) / seconds * 1e-6, static_cast<long long>(checksum));
  return seconds;
}
}  // namespace

int main(int argc, char** argv) {
  const std::int64_t events = argc > 1 ? std::atoll(argv[1]) : 5000000;
  for (std::int32_t pending : {16, 256, 4096, 65536, 1048576}) run(pending, events);
  return 0;
}
