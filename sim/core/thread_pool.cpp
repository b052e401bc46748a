// Indices are handed out by one atomic counter per parallel_for; a job that is open stays in a list under the pool's
// lock, and its caller leaves only when no worker is inside it.
#include "sim/core/thread_pool.hpp"
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace twin::core {
namespace {

// One parallel_for. Lives on the caller's stack; a thread touches it only between enter and leave, under the pool's
// lock.
struct Job {
  std::size_t n = 0;
  const std::function<void(std::size_t)>* body = nullptr;
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> failed{std::numeric_limits<std::size_t>::max()};  // smallest index that threw
  std::exception_ptr error;                                                  // its exception; under the pool's lock
  std::size_t workers = 0;                                                   // inside now; under the pool's lock
};

}  // namespace

struct ThreadPool::State {
  std::mutex mutex;
  std::condition_variable work, done;
  std::vector<Job*> jobs;  // that may have indices left; the last is the innermost
  bool stop = false;
  std::vector<std::thread> threads;

  void work_on(Job& job) {
    for (std::size_t i = job.next.fetch_add(1); i < job.n; i = job.next.fetch_add(1)) {
      if (i > job.failed.load()) return;  // all that follow are larger still
      try {
        (*job.body)(i);
      } catch (...) {
        std::lock_guard lock(mutex);
        if (i > job.failed.load()) continue;
        job.failed = i;
        job.error = std::current_exception();
      }
    }
  }

  void serve() {
    std::unique_lock lock(mutex);
    while (true) {
      work.wait(lock, [&] { return stop || !jobs.empty(); });
      if (stop) return;
      Job* job = jobs.back();
      ++job->workers;
      lock.unlock();
      work_on(*job);
      lock.lock();
      std::erase(jobs, job);  // no index is left
      if (--job->workers == 0) done.notify_all();
    }
  }
};

ThreadPool::ThreadPool(std::size_t threads) : state_(std::make_unique<State>()) {
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  for (std::size_t i = 1; i < threads; ++i) state_->threads.emplace_back([s = state_.get()] { s->serve(); });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stop = true;
  }
  state_->work.notify_all();
  for (auto& thread : state_->threads) thread.join();
}

std::size_t ThreadPool::threads() const { return state_->threads.size() + 1; }

void ThreadPool::parallel_for(std::size_t n, const std::function<void(std::size_t)>& body) {
  Job job;
  job.n = n;
  job.body = &body;
  const bool shared = n > 1 && !state_->threads.empty();
  if (shared) {
    std::lock_guard lock(state_->mutex);
    state_->jobs.push_back(&job);
    state_->work.notify_all();
  }
  state_->work_on(job);
  if (shared) {
    std::unique_lock lock(state_->mutex);
    std::erase(state_->jobs, &job);
    state_->done.wait(lock, [&] { return job.workers == 0; });
  }
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace twin::core
