// The chain of ops that made the step as long as it is, walked back from the last op of the critical class: each op's
// predecessor is the dependency (or the op before it on its stream) that finished last; a communication that waited for
// a peer continues on that peer. Segments cover the step without overlap: their lengths sum to its end. Also: how much
// of each kind of communication compute hides on one class.
#pragma once
#include <cstdint>
#include <string>
#include <vector>
#include "sim/step/step.hpp"

namespace twin::report {

struct PathSegment {
  std::int32_t rank = 0;            // class
  std::int32_t op = -1;             // -1: a gap in which nothing that the next op waits for ran (host issue)
  std::int64_t begin = 0, end = 0;  // ns
  std::int64_t length() const { return end - begin; }
};

// In order of time. Needs a recorded result.
std::vector<PathSegment> critical_path(const step::StepResult& result);

struct Exposure {  // of one category of communication on one class, ns
  step::Category category = step::Category::kTp;
  std::int64_t ops = 0;
  std::int64_t busy = 0;     // at least one in flight (from posting to end)
  std::int64_t hidden = 0;   // of that, while a compute op ran
  std::int64_t waiting = 0;  // of that, posted but peers missing
  std::int64_t exposed() const { return busy - hidden; }
};
std::vector<Exposure> exposures(const step::StepResult& result, std::int32_t rank);

}  // namespace twin::report
