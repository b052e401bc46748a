// Weighted max-min fair sharing of links by fluid activities, in integers, solved again only where something changed.
//
// Unknowns     r(A) >= 0, the rate of each active activity A.
// Constraints  for each link L: sum over A of W(A,L) r(A) <= C(L), and for each activity: r(A) <= cap(A).
// Solution     the max-min one: no r(A)/phi(A) can grow without lowering an r(B)/phi(B) that is not larger. It exists,
// is
//              unique, and is found by raising one level for all, r(A) = phi(A) level, fixing the activities of a link
//              when it fills and an activity when it reaches its cap. Property that verify() asks: every activity is at
//              its cap, or crosses a full link on which no other activity has a larger r/phi.
// Units        capacity, cap and rate: int64 in 2^-32 byte/ns (fluid_rate()); weight: int64, 2^20 = 1; remaining: 128
// bit
//              in 2^-32 byte. The level of a link is floor(left * 2^20 / sum(W phi)) over its open activities; all that
//              tie at the smallest level are fixed together; r = min(cap, phi level), but at least 1 so that everything
//              ends. That may overload a link by its count of such activities times 2^-32 byte/ns, only below that
//              level.
// Order        all sums are integers: the order of links, activities, starts and ends never changes a bit.
// Dead links   an activity that crosses a link of capacity 0, or whose cap is 0, has rate 0 and finish Time::never():
// it
//              stalls, takes nothing from the other links, and resumes when the capacity comes back.
// Quotient     where one activity stands for a class of alike groups, W(A,L) is the sum of the weights of the class's
//              groups on one link of class L, and phi is one group's. Same bits as with every group on its own.
//
// Example      C(X) = 10, C(Y) = 4; A crosses X, B crosses X and Y, weights and phi 1. Levels: X 10/2 = 5, Y 4/1 = 4. Y
// is
//              smaller: B = 4. X has 6 left for A: A = 6. If A stands for three groups on X, W(A,X) = 3 and X's level
//              is 10/4 = 2.5: X fills first and A = B = 2.5.
// Use          start(), end(), set_capacity() as events of one time stamp are handled; then one solve(now), which
// returns the
//              activities whose rate, and so finish(), changed. No allocation after the constructor but for scratch
//              growth.
// Local        a start or an end that cannot move any other rate is settled on its own links (fluid_local.cpp proves
//              it). A link that its users cannot fill, whatever the others do, joins no components (fluid_slack.cpp).
// Cost         start() and end(): linear in the activity's links. solve(): the same for an activity that shares no link
//              that can fill, else linear in the component's incidences, and n log n in those of links that two or more
//              share: a link with one user acts on that user alone, like a cap. set_capacity(): linear in all
//              incidences.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>
#include "sim/core/time.hpp"

namespace twin::core {

__extension__ typedef __int128 Int128;

constexpr std::int64_t kWeightOne = std::int64_t{1} << 20;
constexpr std::int64_t kUncapped = std::int64_t{1} << 62;  // the largest capacity and cap

std::int64_t fluid_rate(double bytes_per_s);  // to 2^-32 byte/ns, nearest; at most kUncapped; negative and NaN are 0
double fluid_bytes_per_s(std::int64_t rate);  // and back
std::int64_t fluid_weight(double weight);     // to 2^-20, nearest
Int128 fluid_bytes(std::int64_t bytes);       // to 2^-32 byte

// What never changes: links, and which activities may cross which of them. Activity a crosses link[k] with weight[k]
// for k in offset[a]..offset[a+1]; weights of 0 are left out; a link named twice counts twice.
struct FluidStructure {
  std::vector<std::int64_t> capacity;     // per link
  std::vector<std::size_t> offset = {0};  // activities + 1
  std::vector<std::int32_t> link;
  std::vector<std::int64_t> weight;
  std::vector<std::int64_t> phi;  // per activity, >= 1
  // Appends an activity and returns its id.
  std::int32_t add(std::int64_t phi_of_one, const std::vector<std::pair<std::int32_t, std::int64_t>>& uses);
};

class Fluid {
 public:
  explicit Fluid(const FluidStructure& structure);
  void start(std::int32_t activity, Time now, std::int64_t bytes, std::int64_t cap = kUncapped);  // must not be active
  void end(std::int32_t activity);  // finished or not; must be active
  void set_capacity(std::int32_t link, std::int64_t capacity);
  void set_cap(std::int32_t activity, std::int64_t cap);  // of an active one
  bool dirty() const { return !dirty_links_.empty() || !dirty_activities_.empty(); }
  // Rates as of now. The activities whose rate changed, those just started included; valid until the next solve().
  const std::vector<std::int32_t>& solve(Time now);
  void reset();  // nothing active; capacities stay

  bool active(std::int32_t activity) const { return at(activity).active; }
  std::int64_t rate(std::int32_t activity) const { return at(activity).rate; }
  // now + ceil(remaining / rate) as of the last change; never() where stalled or not active.
  Time finish(std::int32_t activity) const { return at(activity).finish; }
  // Grows at each start, end and change of rate: an end event that carries an older one is stale.
  std::uint32_t version(std::int32_t activity) const { return at(activity).version; }
  // What its rate is with no other active, and how long that takes.
  std::int64_t rate_alone(std::int32_t activity, std::int64_t cap) const;
  Time time_alone(std::int32_t activity, std::int64_t bytes, std::int64_t cap) const;
  Int128 remaining(std::int32_t activity, Time now) const;  // in 2^-32 byte, >= 0
  std::int64_t capacity(std::int32_t link) const { return links_[static_cast<std::size_t>(link)].capacity; }
  std::size_t activities() const { return activities_.size(); }
  std::size_t links() const { return links_.size(); }

  // Violations of the constraints and of the max-min property over all active activities; 0 is right. Not while
  // dirty().
  std::int64_t verify() const;
  std::int64_t verify(const std::vector<std::int64_t>& rates) const;  // of another allocation, one rate per activity
  std::int64_t solves() const { return solves_; }                     // components solved
  std::int64_t touched() const { return touched_; }                   // activities in them

 private:
  struct Use {  // one incidence, stored by activity
    std::int32_t link;
    std::uint32_t place;  // in the link's list of active users
    std::int64_t weight;
    std::int64_t alone;  // level of the link while nobody else uses it
  };
  struct User {  // the same incidence, stored by link while active
    std::int32_t activity;
    std::uint32_t use;
    std::int64_t weight;
  };
  struct Activity {
    Int128 remaining = 0;
    std::int64_t rate = 0, next_rate = 0, cap = 0, cap_level = 0, phi = 1;
    std::int64_t alone = 0;  // level with no other active
    std::int64_t most = 0;   // while active: no level is higher, of alone and its cap
    std::int64_t level = 0;  // at which it was fixed
    std::int64_t limit = 0;  // while filling: level that its cap and the links it has for itself allow
    Time last, finish = Time::never();
    std::uint32_t begin = 0, end = 0;                // uses
    std::uint32_t shared_begin = 0, shared_end = 0;  // while filling: into shared_
    std::uint32_t version = 0;
    std::uint64_t mark = 0;
    std::int32_t dead = 0;  // links of capacity 0 that it crosses
    bool active = false, fresh = false, fixed = false;
  };
  struct Link {
    Int128 demand = 0;          // sum of W phi over active users
    Int128 bound = 0;           // sum of W phi (most + 2): what they can use together, and rounding
    Int128 left = 0, open = 0;  // while filling: capacity not taken, demand not fixed
    std::int64_t capacity = 0;
    std::uint32_t first = 0, count = 0;  // active users
    std::uint64_t mark = 0;
    bool dirty = false;  // waits for solve()
  };
  struct Others {  // of one activity on a link
    Int128 used = 0;
    std::int64_t level = 0;  // highest
  };
  struct Level {
    std::int64_t level;
    std::int32_t id;
    bool operator<(const Level& o) const { return level > o.level; }  // smallest on top of a std heap
  };
  const Activity& at(std::int32_t a) const { return activities_[static_cast<std::size_t>(a)]; }
  Activity& at(std::int32_t a) { return activities_[static_cast<std::size_t>(a)]; }
  Link& link_at(std::int32_t l) { return links_[static_cast<std::size_t>(l)]; }
  static bool tight(const Link& l);  // it may fill
  bool shares(const Activity& x) const;
  void rebound(Activity& x);
  void solve_component();
  void collect();
  void collect_links(Activity& x);
  void touch(std::int32_t link);
  bool others_on(const Use& use, std::int32_t activity, Others& out) const;
  bool ends_alone(std::int32_t activity) const;
  bool starts_alone(std::int32_t activity);
  void set_alone(Activity& x);
  static std::int64_t rate_at(const Activity& x, std::int64_t level);
  void fill();
  void open_component();
  std::int64_t lowest_level();
  void fix(Activity& x, std::int64_t level);
  void fix_caps_below(std::size_t& next, std::int64_t level);
  void commit(Time now);

  std::vector<Activity> activities_;
  std::vector<Use> uses_;
  std::vector<Link> links_;
  std::vector<User> users_;
  std::vector<std::int32_t> dirty_links_, dirty_activities_, changed_;
  std::vector<std::int32_t> component_links_, component_activities_, batch_;
  std::vector<Level> heap_, caps_;
  std::vector<std::uint32_t> shared_;  // uses of shared links, by activity of the component
  std::size_t unfixed_ = 0;
  std::uint64_t epoch_ = 0;
  std::int64_t solves_ = 0, touched_ = 0;
};

}  // namespace twin::core
