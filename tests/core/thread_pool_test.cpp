// Each index once, nesting, and the same exception for any number of threads. Also run under -fsanitize=thread.
#include "sim/core/thread_pool.hpp"
#include <atomic>
#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>
#include <vector>

using twin::core::ThreadPool;

TEST_CASE("parallel_for does each index once, for any number of threads", "[fast]") {
  for (std::size_t threads : {1UL, 2UL, 3UL, 8UL}) {
    ThreadPool pool(threads);
    CHECK(pool.threads() == threads);
    for (std::size_t n : {0UL, 1UL, 2UL, 7UL, 1000UL}) {
      std::vector<int> count(n, 0);
      pool.parallel_for(n, [&](std::size_t i) { ++count[i]; });
      CHECK(count == std::vector<int>(n, 1));
    }
  }
}

TEST_CASE("parallel_for nests", "[fast]") {
  ThreadPool pool(4);
  std::atomic<int> total{0};
  pool.parallel_for(20, [&](std::size_t) { pool.parallel_for(30, [&](std::size_t) { ++total; }); });
  CHECK(total == 600);
}

TEST_CASE("parallel_for throws the exception of the smallest index", "[fast]") {
  for (std::size_t threads : {1UL, 2UL, 8UL})
    for (int round = 0; round < 50; ++round) {
      ThreadPool pool(threads);
      std::vector<int> count(200, 0);
      std::string what;
      try {
        pool.parallel_for(200, [&](std::size_t i) {
          ++count[i];
          if (i % 50 == 49) throw std::runtime_error(std::to_string(i));
        });
      } catch (const std::exception& e) {
        what = e.what();
      }
      REQUIRE(what == "49");
      for (std::size_t i = 0; i < 50; ++i) REQUIRE(count[i] == 1);
    }
}
