// Schedules as executed orders: completeness, causality across stages, in-flight micro batches, warm-up lengths.
#include "sim/step/schedule.hpp"
#include <catch2/catch.hpp>
#include <map>
#include <set>

using namespace twin;
using step::Pass;
using work::Schedule;

namespace {

std::vector<std::vector<Pass>> all_stages(Schedule s, step::ScheduleShape shape) {
  std::vector<std::vector<Pass>> out;
  for (int stage = 0; stage < shape.pp; ++stage) out.push_back(step::make_schedule(s, shape, stage));
  return out;
}

// Plays the stages against each other, one pass a tick: a pass may run once its input exists. False: a deadlock.
bool playable(const std::vector<std::vector<Pass>>& stages, const step::ScheduleShape& shape) {
  std::set<std::tuple<bool, int, int>> done;  // forward, chunk, micro batch
  std::vector<std::size_t> at(stages.size(), 0);
  const int chunks = shape.pp * shape.vpp;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t s = 0; s < stages.size(); ++s) {
      while (at[s] < stages[s].size()) {
        const Pass& p = stages[s][at[s]];
        const int chunk = static_cast<int>(s) + shape.pp * p.virtual_stage;
        const bool ready = p.forward ? chunk == 0 || done.count({true, chunk - 1, p.micro_batch})
                                     : (chunk == chunks - 1 || done.count({false, chunk + 1, p.micro_batch})) &&
                                           done.count({true, chunk, p.micro_batch});
        if (!ready) break;
        done.insert({p.forward, chunk, p.micro_batch});
        ++at[s];
        moved = true;
      }
    }
  }
  for (std::size_t s = 0; s < stages.size(); ++s)
    if (at[s] != stages[s].size()) return false;
  return true;
}

}  // namespace

TEST_CASE("every schedule runs each pass once and never deadlocks", "[fast]") {
  for (const Schedule s : {Schedule::kGpipe, Schedule::k1f1b, Schedule::kInterleaved1f1b})
    for (const int pp : {2, 3, 4, 8})
      for (const int vpp : {1, 2, 5})
        for (const int m : {1, 2, 3, 4, 7, 8, 13, 16}) {
          if (s == Schedule::k1f1b && vpp > 1) continue;
          if (s == Schedule::kInterleaved1f1b && vpp > 1 && m % pp != 0) continue;  // refused by validate_scenario
          const step::ScheduleShape shape{.pp = pp, .vpp = vpp, .micro_batches = m};
          const auto stages = all_stages(s, shape);
          INFO("schedule " << work::name(s) << " pp " << pp << " vpp " << vpp << " m " << m);
          for (const auto& passes : stages) {
            std::set<std::tuple<bool, int, int>> seen;
            for (const Pass& p : passes) seen.insert({p.forward, p.virtual_stage, p.micro_batch});
            CHECK(seen.size() == passes.size());
            CHECK(passes.size() == static_cast<std::size_t>(2 * vpp * m));
          }
          CHECK(playable(stages, shape));
        }
}

TEST_CASE("1F1B keeps at most pp - stage micro batches, GPipe all", "[fast]") {
  const step::ScheduleShape shape{.pp = 8, .vpp = 1, .micro_batches = 32};
  for (int stage = 0; stage < 8; ++stage) {
    CHECK(step::peak_in_flight(step::make_schedule(Schedule::k1f1b, shape, stage), {1.0}).total == 8 - stage);
    CHECK(step::peak_in_flight(step::make_schedule(Schedule::kGpipe, shape, stage), {1.0}).total == 32);
  }
}

// Narayanan et al. 2021: warm-up of 2 (pp - stage - 1) + (vpp - 1) pp chunks, and one more in steady state.
TEST_CASE("interleaved 1F1B warms up as Megatron does", "[fast]") {
  const step::ScheduleShape shape{.pp = 4, .vpp = 3, .micro_batches = 16};
  for (int stage = 0; stage < 4; ++stage) {
    const auto passes = step::make_schedule(Schedule::kInterleaved1f1b, shape, stage);
    std::size_t warmup = 0;
    while (passes[warmup].forward) ++warmup;
    CHECK(warmup == static_cast<std::size_t>(2 * (4 - stage - 1) + 2 * 4 + 1));
    CHECK(step::peak_in_flight(passes, {1.0, 1.0, 1.0}).total == static_cast<std::int64_t>(warmup));
  }
}
