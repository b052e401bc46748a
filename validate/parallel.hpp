// f(index, thread) for index 0..count-1 on `threads` threads. Each index writes its own slot, so results do not depend
// on the number of threads.
#pragma once
#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace twin::validate {

inline void parallel_for(std::size_t count, int threads, const std::function<void(std::size_t, int)>& f) {
  if (threads <= 1 || count <= 1) {
    for (std::size_t i = 0; i < count; ++i) f(i, 0);
    return;
  }
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t)
    pool.emplace_back([&, t] {
      for (std::size_t i = next++; i < count; i = next++) f(i, t);
    });
  for (std::thread& thread : pool) thread.join();
}

}  // namespace twin::validate
