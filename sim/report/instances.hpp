// Which ops of which classes are one communication. Instances of a group are matched in order of posting per membership
// (executor.hpp), so the n-th op that a class posts on a membership is part of the group's n-th instance.
// Used to draw flows and to walk the critical path from a communication to the peer that came last.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>
#include "sim/step/step.hpp"

namespace twin::report {

struct Member {
  std::int32_t rank = -1;  // class
  std::int32_t op = -1;
};

class Instances {
 public:
  // `result` must have been recorded (system, programs, timeline present).
  explicit Instances(const step::StepResult& result);
  // Instance of an op, -1 for compute. Ids are dense and start at 0.
  std::int32_t of(std::int32_t rank, std::int32_t op) const;
  // Members in order of class.
  const std::vector<Member>& members(std::int32_t instance) const {
    return members_[static_cast<std::size_t>(instance)];
  }
  std::size_t count() const { return members_.size(); }

 private:
  std::vector<std::int64_t> offset_;
  std::vector<std::int32_t> instance_;  // per op of the timeline
  std::vector<std::vector<Member>> members_;
};

}  // namespace twin::report
