// Members of a communicator grouped by scale-up domain, and an accumulator of link loads. Shared by the lowerings.
#pragma once
#include <span>
#include <string>
#include <vector>
#include "sim/core/result.hpp"
#include "sim/fabric/collective.hpp"
#include "sim/fabric/view.hpp"

namespace twin::fabric {

// A full buffer (one ring edge, one tree edge, one rank's all-to-all buffer) while loads are being summed: finer than
// kUnit, so that shares of 1/k are rounded once, when the pattern is normalised.
inline constexpr int kFineBits = kWeightBits + 20;
inline constexpr std::int64_t kFine = std::int64_t{1} << kFineBits;

struct Members {
  std::vector<std::vector<core::DeviceId>> domains;  // in order of first member; members in rank order
  int ranks = 0;
  std::size_t size(std::size_t d) const { return domains[d].size(); }
};
Members group_by_domain(const View& view, std::span<const core::DeviceId> members);

// Sums routed units by link. The first pair without a path sticks as the error.
class Loads {
 public:
  explicit Loads(const View& view, std::size_t expected_routes) : view_(view) {
    if (expected_routes > 4096) dense_.assign(static_cast<std::size_t>(view.links()), 0);
  }
  void add(core::DeviceId a, core::DeviceId b, std::int64_t units);
  void neighbours(core::DeviceId a, core::DeviceId b) {  // counts towards the geometry's reach
    const Reach r = view_.reach(a, b);
    if (r > reach_) reach_ = r;
  }
  core::Result<Pattern> finish(const Members& members);

 private:
  void flush();
  const View& view_;
  std::vector<LinkLoad> raw_;
  std::vector<std::int64_t> dense_;
  Reach reach_ = Reach::kSelf;
  std::string error_;
};

// Every member of one domain sends and receives `units` inside it (a ring or multicast, mean over channels).
void add_inside(const View& view, const std::vector<core::DeviceId>& domain, std::int64_t units, Loads& loads);
// `units` from domain a to domain b, spread over the members: channel c leaves through c mod |a|, enters at c mod |b|.
void add_between(const std::vector<core::DeviceId>& a, const std::vector<core::DeviceId>& b, std::int64_t units,
                 Loads& loads);

void lower_ring(const View& view, const Members& m, Loads& loads);
void lower_tree(const View& view, const Members& m, Loads& loads);
void lower_nvls(const View& view, const Members& m, Loads& loads);
void lower_sharp(const View& view, const Members& m, Loads& loads);
void lower_all_to_all(const Members& m, Loads& loads);

// Parent of `rank` in NCCL's double binary tree over n ranks (trees.cc, ncclGetBtree / ncclGetDtree); -1: root.
int btree_parent(int n, int rank);
int dtree_parent(int n, int rank, int tree);

}  // namespace twin::fabric
