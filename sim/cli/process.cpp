// What the operating system says of this process; see the header.
#include "sim/cli/process.hpp"
#include <sys/resource.h>
#include <fstream>
#include <string>

namespace twin::cli {

Process::Process() : main_(std::chrono::steady_clock::now()) {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return;
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  before_main_s_ = seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double Process::wall_s() const {
  return before_main_s_ + std::chrono::duration<double>(std::chrono::steady_clock::now() - main_).count();
}

// VmHWM rather than ru_maxrss, which a process inherits from the one that it was forked from.
std::int64_t Process::peak_rss_bytes() const {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib * 1024;
  }
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<std::int64_t>(usage.ru_maxrss) * 1024 : 0;
}

}  // namespace twin::cli
