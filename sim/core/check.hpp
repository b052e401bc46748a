// TWIN_CHECK: a broken invariant of our own, never user input. Throws so that a fuzzer and a test see it.
#pragma once
#include <stdexcept>
#include <string>

namespace twin::core {

[[noreturn]] inline void check_failed(const char* expression, const char* file, int line) {
  throw std::logic_error(std::string(file) + ":" + std::to_string(line) + ": check failed: " + expression);
}

}  // namespace twin::core

#define TWIN_CHECK(expression) ((expression) ? void(0) : ::twin::core::check_failed(#expression, __FILE__, __LINE__))
