// A fixed set of threads for work that is independent by index. parallel_for(n, body) calls body(i) once for each i in
// 0..n-1, in any order on any thread, and returns when all are done. The caller works too, so calls may nest. A body
// that writes only what belongs to i (results[i]) gives the same outcome for any number of threads; reduce afterwards,
// in order of i. If bodies throw, the exception of the smallest such i is thrown again: the same with one thread or
// many (indices above a failed one may be left out).
//   ThreadPool pool(8);
//   pool.parallel_for(points.size(), [&](std::size_t i) { results[i] = evaluate(points[i]); });
#pragma once
#include <cstddef>
#include <functional>
#include <memory>

namespace twin::core {

class ThreadPool {
 public:
  explicit ThreadPool(std::size_t threads = 0);  // 0: one for each core. 1: no thread is started, the caller does all.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  std::size_t threads() const;  // the caller included
  void parallel_for(std::size_t n, const std::function<void(std::size_t)>& body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace twin::core
