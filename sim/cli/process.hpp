// What the operating system says of this process: wall time since its start and the most memory that it held.
#pragma once
#include <chrono>
#include <cstdint>

namespace twin::cli {

class Process {
 public:
  Process();                            // to be made first thing in main
  double wall_s() const;                // since the start of the process: CPU time before main counts as wall time
  std::int64_t peak_rss_bytes() const;  // 0 where the system does not tell

 private:
  std::chrono::steady_clock::time_point main_;
  double before_main_s_ = 0;
};

}  // namespace twin::cli
