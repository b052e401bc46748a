// A recorded step made by hand: two pipeline stages (classes), a message from the first to the second, a tp collective
// on each. Times in ns; the numbers are what the tests derive their expectations from.
//   stage 0: compute [0,100] (kernels 30 + 10), tp [100,140], send posted 140, moves [150,190]
//   stage 1: recv posted 0, starts 150, ends 190; compute [190,310]; compute [315,400]; tp [320,330] hidden
#pragma once
#include <memory>
#include "sim/step/step.hpp"

namespace twin::report::test {

inline step::Program two_op_base(const char* first) {
  step::Program p;
  p.names = {first, "all-gather", "activation", "block backward"};
  return p;
}

inline void finish(step::Program& p, const std::vector<std::pair<int, int>>& edges) {
  p.in_degree.assign(p.ops.size(), 0);
  p.successor_start.assign(p.ops.size() + 1, 0);
  for (std::size_t i = 0; i < p.ops.size(); ++i) {
    for (const auto& [from, to] : edges)
      if (from == static_cast<int>(i)) {
        p.successors.push_back(to);
        ++p.in_degree[static_cast<std::size_t>(to)];
      }
    p.successor_start[i + 1] = static_cast<std::int32_t>(p.successors.size());
  }
}

inline step::StepResult recorded_step() {
  using namespace step;
  const Op compute0{
      .type = OpType::kCompute, .stream = Stream::kCompute, .body = 0, .micro_batch = 3, .chunk = 1, .layer = 7};
  const Op tp{.type = OpType::kComm, .stream = Stream::kTp, .category = Category::kTp, .body = 0};
  Program p0 = two_op_base("block forward");
  p0.ops = {
      compute0, tp, {.type = OpType::kComm, .stream = Stream::kPpSendForward, .category = Category::kPp, .body = 1}};
  p0.bundles = {{.work_ns = 100, .name = 0, .first_kernel = 0, .kernels = 2}};
  p0.kernel_names = {"qkv", "attn"};
  p0.kernel_ns = {30, 10};
  p0.comms = {{.kind = 0, .op = fabric::CollectiveOp::kAllGather, .bytes = 4096, .name = 1},
              {.kind = 1,
               .role = 0,
               .op = fabric::CollectiveOp::kSendRecv,
               .bytes = 1024,
               .name = 2,
               .category = Category::kPp}};
  finish(p0, {{0, 1}, {1, 2}});
  Program p1 = two_op_base("block forward");
  p1.ops = {{.type = OpType::kComm, .stream = Stream::kPpRecvForward, .category = Category::kPp, .body = 1},
            {.type = OpType::kCompute, .stream = Stream::kCompute, .body = 0},
            {.type = OpType::kCompute, .stream = Stream::kCompute, .body = 1},
            tp};
  p1.bundles = {{.work_ns = 120, .name = 0}, {.work_ns = 85, .name = 3}};
  p1.comms = p0.comms;
  p1.comms[1].role = 1;
  finish(p1, {{0, 1}, {1, 3}});
  StepResult r;
  auto system = std::make_shared<System>();
  system->program = {0, 1};
  system->speed = {1 << 20, 1 << 20};
  system->memberships = 3;  // tp, pp sender, pp receiver
  system->group_of = {0, 2, -1, 1, -1, 2};
  system->population = {8, 8};
  system->kinds = {{.name = "tp/ring", .algorithm = fabric::Algorithm::kRing},
                   {.name = "pp", .algorithm = fabric::Algorithm::kPairwise, .p2p = true}};
  system->membership_of_kind = {0, 1};
  system->group_kind = {0, 0, 1};
  system->group_geometry = {0, 0, 1};
  system->geometries = {{.ranks = 8}, {.ranks = 2}};
  auto timeline = std::make_shared<Timeline>();
  timeline->end = core::Time::ns(400);
  timeline->op_offset = {0, 3, 7};
  timeline->posted = {0, 100, 140, 0, 190, 310, 320};
  timeline->start = {0, 100, 150, 150, 190, 315, 320};
  timeline->finish = {100, 140, 190, 190, 310, 400, 330};
  timeline->rank_end = {190, 400};
  r.step_time_s = 400e-9;
  r.class_rows = {{.name = "stage 0", .ranks = 8},
                  {.name = "stage 1", .ranks = 8, .first_rank = 8, .stage = 1, .program = 1}};
  r.critical_class = 1;
  r.classes = 2;
  r.ranks = 16;
  auto programs = std::make_shared<std::vector<Program>>(std::vector<Program>{std::move(p0), std::move(p1)});
  system->programs = programs.get();
  r.system = system;
  r.programs = programs;
  r.timeline = timeline;
  return r;
}

}  // namespace twin::report::test
