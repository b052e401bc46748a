// Random scenarios that pass validation: models of a few layers, nodes and fabrics of the catalog at small radix, every
// plan axis, shard, schedule, recomputation, overlap and software that a step knows; faults of ranks and links. For
// comparisons of one way to run a step with another.
#pragma once
#include <cstdint>
#include <string>
#include "workloads/scenario.hpp"

namespace twin::step::test {

struct ScenarioDraw {
  int least_ranks = 16, most_ranks = 128;
  int most_ops = 200000;  // of all ranks together, about
  bool healthy = false;
};

work::Scenario random_scenario(std::uint64_t seed, const ScenarioDraw& draw, std::string* text = nullptr);
work::Scenario scenario_of(const std::string& json);

}  // namespace twin::step::test
