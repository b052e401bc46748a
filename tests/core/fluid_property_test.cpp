// Properties over random systems. Sizes, weights and capacities are drawn both round (many exact ties) and rough, and
// some links are dead or tiny, because that is where a solver goes wrong.
#include <rapidcheck.h>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>
#include "tests/core/fluid_reference.hpp"

using namespace twin::core;

namespace {

struct Draw {
  std::mt19937_64 engine;
  std::int64_t operator()(std::int64_t low, std::int64_t high) {  // inclusive; the same on every library
    return low + static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(high - low + 1));
  }
};

// Links 0..nics-1 bind their activities; each further link is a core link that all may cross, its capacity about what
// `together` of them use, to the unit: it goes from slack to tight and back as they start and end.
FluidStructure draw_cores(Draw& draw, std::int32_t max_links, std::int64_t max_activities) {
  FluidStructure s;
  const auto nics = static_cast<std::int32_t>(draw(1, max_links)), cores = static_cast<std::int32_t>(draw(1, 3));
  const std::int64_t nic = draw(0, 1) == 0 ? std::int64_t{50} << 32 : draw(1000, std::int64_t{50} << 32);
  for (std::int32_t l = 0; l < nics; ++l) s.capacity.push_back(draw(0, 5) == 0 ? nic / 2 : nic);
  for (std::int32_t c = 0; c < cores; ++c) {
    const std::int64_t together = draw(1, max_activities);
    s.capacity.push_back(nic * together + (draw(0, 1) == 0 ? draw(-3, 3) * together : draw(-nic / 2, nic / 2)));
  }
  const std::int64_t activities = draw(1, max_activities);
  for (std::int64_t a = 0; a < activities; ++a) {
    const std::int64_t w = draw(0, 2) == 0 ? kWeightOne / 2 : kWeightOne;
    std::vector<std::pair<std::int32_t, std::int64_t>> uses{{static_cast<std::int32_t>(draw(0, nics - 1)), w}};
    for (std::int32_t c = 0; c < cores; ++c)
      if (draw(0, 2) > 0) uses.push_back({nics + c, draw(0, 3) == 0 ? w / 2 : w});
    s.add(draw(0, 3) == 0 ? draw(1, 8) : 1, uses);
  }
  return s;
}

FluidStructure draw_structure(Draw& draw, std::int32_t max_links, std::int64_t max_activities) {
  if (draw(0, 2) == 0) return draw_cores(draw, max_links, max_activities);
  FluidStructure s;
  const bool round = draw(0, 1) == 0, dead = draw(0, 3) == 0, tiny = draw(0, 9) == 0;
  const auto links = static_cast<std::int32_t>(draw(1, max_links));
  for (std::int32_t l = 0; l < links; ++l) {
    s.capacity.push_back(round ? draw(1, 4) * (std::int64_t{25} << 32) : draw(1, std::int64_t{900} << 32));
    if (dead && draw(0, 7) == 0) s.capacity.back() = 0;
    if (tiny) s.capacity.back() = draw(0, 20);
  }
  const std::int64_t activities = draw(1, max_activities), most = std::min<std::int64_t>(links, draw(1, 6));
  for (std::int64_t a = 0; a < activities; ++a) {
    std::vector<std::pair<std::int32_t, std::int64_t>> uses;
    for (std::int64_t i = draw(0, most); i > 0; --i)
      uses.push_back(
          {static_cast<std::int32_t>(draw(0, links - 1)), round ? kWeightOne >> draw(0, 3) : draw(0, 3 * kWeightOne)});
    s.add(round ? std::int64_t{1} << draw(0, 2) : draw(1, 64), uses);
  }
  return s;
}

std::int64_t draw_cap(Draw& draw) {
  const std::int64_t kind = draw(0, 9);
  if (kind < 4) return kUncapped;
  if (kind < 7) return draw(1, 4) * (std::int64_t{5} << 32);
  return kind == 7 ? draw(0, 3) : draw(1, std::int64_t{100} << 32);
}

// A random history of starts, ends, capacity and cap changes; after each solve, everything equals the reference.
int differing(std::uint64_t seed, std::int32_t max_links, std::int64_t max_activities, int steps) {
  Draw draw{std::mt19937_64(seed)};
  FluidStructure s = draw_structure(draw, max_links, max_activities);
  Fluid fluid(s);
  std::vector<ReferenceActivity> activities(s.phi.size());
  std::vector<std::int64_t> before(s.phi.size(), 0);
  int wrong = 0;
  for (int step = 0; step < steps; ++step) {
    for (std::int64_t i = draw(1, 8); i > 0; --i) {
      const auto a = static_cast<std::size_t>(draw(0, static_cast<std::int64_t>(s.phi.size()) - 1));
      const auto l = static_cast<std::size_t>(draw(0, static_cast<std::int64_t>(s.capacity.size()) - 1));
      const std::int64_t kind = draw(0, 9);
      if (kind == 0) {
        s.capacity[l] = draw(0, 3) * (std::int64_t{25} << 32) + draw(0, 1);
        fluid.set_capacity(static_cast<std::int32_t>(l), s.capacity[l]);
      } else if (!activities[a].active) {
        activities[a] = {true, draw_cap(draw)};
        fluid.start(static_cast<std::int32_t>(a), Time::ns(step), 1 << 30, activities[a].cap);
      } else if (kind == 1) {
        activities[a].cap = draw_cap(draw);
        fluid.set_cap(static_cast<std::int32_t>(a), activities[a].cap);
      } else if (kind < 6) {
        activities[a].active = false;
        fluid.end(static_cast<std::int32_t>(a));
      }
    }
    std::vector<bool> reported(s.phi.size(), false);
    for (std::int32_t a : fluid.solve(Time::ns(step))) reported[static_cast<std::size_t>(a)] = true;
    const auto expected = reference_rates(s, activities);
    for (std::size_t a = 0; a < s.phi.size(); ++a) {
      const std::int64_t rate = fluid.rate(static_cast<std::int32_t>(a));
      wrong += rate != expected[a];
      wrong += activities[a].active && rate != before[a] && !reported[a];
      before[a] = activities[a].active ? rate : 0;
    }
    wrong += fluid.verify() != 0;
  }
  return wrong;
}

// All of a structure active from t = 0; rates.
std::vector<std::int64_t> all_rates(const FluidStructure& s, const std::vector<std::int64_t>& caps) {
  Fluid fluid(s);
  for (std::size_t a = 0; a < caps.size(); ++a)
    fluid.start(static_cast<std::int32_t>(a), Time::zero(), 1 << 20, caps[a]);
  fluid.solve(Time::zero());
  std::vector<std::int64_t> rates;
  for (std::size_t a = 0; a < caps.size(); ++a) rates.push_back(fluid.rate(static_cast<std::int32_t>(a)));
  return rates;
}

std::vector<std::int64_t> draw_caps(Draw& draw, std::size_t n) {
  std::vector<std::int64_t> caps;
  for (std::size_t i = 0; i < n; ++i) caps.push_back(draw_cap(draw));
  return caps;
}

}  // namespace

TEST_CASE("the solver equals the plain reference bit for bit", "[fast][prop]") {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    INFO("seed " << seed);
    REQUIRE(differing(seed, 8, 12, 6) == 0);
  }
}

TEST_CASE("the solver equals the plain reference in larger systems", "[slow][prop]") {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    INFO("seed " << seed);
    REQUIRE(differing(1000000 + seed, 40, 80, 12) == 0);
  }
}

TEST_CASE("verify catches every rate that is 1 % off", "[fast][prop]") {
  int mutants = 0, caught = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Draw draw{std::mt19937_64(seed)};
    const FluidStructure s = draw_structure(draw, 8, 12);
    Fluid fluid(s);
    const auto caps = draw_caps(draw, s.phi.size());
    for (std::size_t a = 0; a < caps.size(); ++a) fluid.start(static_cast<std::int32_t>(a), Time::zero(), 1, caps[a]);
    fluid.solve(Time::zero());
    std::vector<std::int64_t> rates;
    for (std::size_t a = 0; a < caps.size(); ++a) rates.push_back(fluid.rate(static_cast<std::int32_t>(a)));
    REQUIRE(fluid.verify(rates) == 0);
    for (std::size_t a = 0; a < caps.size(); ++a) {
      if (rates[a] < 100000000) continue;  // below that 1 % may be within rounding
      for (const std::int64_t wrong : {rates[a] - rates[a] / 100, rates[a] + rates[a] / 100, std::int64_t{0}}) {
        auto mutant = rates;
        mutant[a] = wrong;
        ++mutants;
        caught += fluid.verify(mutant) > 0;
      }
    }
  }
  CHECK(mutants > 1000);
  CHECK(caught == mutants);
}

TEST_CASE("renaming links and activities changes no rate", "[fast][prop]") {
  CHECK(rc::check([](std::uint64_t seed) {
    Draw draw{std::mt19937_64(seed)};
    const FluidStructure s = draw_structure(draw, 10, 20);
    const auto caps = draw_caps(draw, s.phi.size());
    std::vector<std::size_t> order(s.phi.size()), links(s.capacity.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::iota(links.begin(), links.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), draw.engine);
    std::shuffle(links.begin(), links.end(), draw.engine);
    FluidStructure t;
    t.capacity.resize(s.capacity.size());
    for (std::size_t l = 0; l < links.size(); ++l) t.capacity[links[l]] = s.capacity[l];
    std::vector<std::int64_t> shuffled_caps;
    for (std::size_t a : order) {
      std::vector<std::pair<std::int32_t, std::int64_t>> uses;
      for (std::size_t k = s.offset[a]; k < s.offset[a + 1]; ++k)
        uses.push_back({static_cast<std::int32_t>(links[static_cast<std::size_t>(s.link[k])]), s.weight[k]});
      std::reverse(uses.begin(), uses.end());
      t.add(s.phi[a], uses);
      shuffled_caps.push_back(caps[a]);
    }
    const auto plain = all_rates(s, caps), renamed = all_rates(t, shuffled_caps);
    for (std::size_t i = 0; i < order.size(); ++i) RC_ASSERT(renamed[i] == plain[order[i]]);
  }));
}

TEST_CASE("n copies of a system behave as its quotient with summed weights", "[fast][prop]") {
  CHECK(rc::check([](std::uint64_t seed) {
    Draw draw{std::mt19937_64(seed)};
    const FluidStructure s = draw_structure(draw, 6, 8);
    const auto caps = draw_caps(draw, s.phi.size());
    const std::int64_t copies = draw(2, 5);
    FluidStructure explicit_system, quotient;  // each activity is `copies` alike groups on the same links
    explicit_system.capacity = quotient.capacity = s.capacity;
    std::vector<std::int64_t> explicit_caps;
    for (std::size_t a = 0; a < s.phi.size(); ++a) {
      std::vector<std::pair<std::int32_t, std::int64_t>> one, sum;
      for (std::size_t k = s.offset[a]; k < s.offset[a + 1]; ++k) {
        one.push_back({s.link[k], s.weight[k]});
        sum.push_back({s.link[k], s.weight[k] * copies});
      }
      for (std::int64_t c = 0; c < copies; ++c) {
        explicit_system.add(s.phi[a], one);
        explicit_caps.push_back(caps[a]);
      }
      quotient.add(s.phi[a], sum);
    }
    const auto folded = all_rates(quotient, caps), unfolded = all_rates(explicit_system, explicit_caps);
    for (std::size_t i = 0; i < unfolded.size(); ++i)
      RC_ASSERT(unfolded[i] == folded[i / static_cast<std::size_t>(copies)]);
  }));
}

TEST_CASE("twice the capacities and caps are twice the rates, but for rounding", "[fast][prop]") {
  CHECK(rc::check([](std::uint64_t seed) {
    Draw draw{std::mt19937_64(seed)};
    FluidStructure s = draw_structure(draw, 6, 10);
    for (auto& c : s.capacity) c = c / (std::int64_t{1} << 32) * (std::int64_t{1} << 32);
    auto caps = draw_caps(draw, s.phi.size());
    for (auto& c : caps) c = c == kUncapped ? kUncapped / 2 : c;
    const auto once = all_rates(s, caps);
    for (auto& c : s.capacity) c *= 2;
    for (auto& c : caps) c *= 2;
    const auto twice = all_rates(s, caps);
    for (std::size_t a = 0; a < once.size(); ++a) {
      const double d = static_cast<double>(twice[a]) - 2 * static_cast<double>(once[a]);
      RC_ASSERT(std::abs(d) <= 1e-4 * static_cast<double>(twice[a]) + 1e4);
    }
  }));
}

TEST_CASE("bytes are conserved: what each link carried is what its transfers brought", "[fast][prop]") {
  CHECK(rc::check([](std::uint64_t seed) {
    Draw draw{std::mt19937_64(seed)};
    FluidStructure s = draw_structure(draw, 6, 10);
    for (auto& c : s.capacity) c = std::max(c, std::int64_t{1} << 32);
    Fluid fluid(s);
    const auto n = static_cast<std::int32_t>(s.phi.size());
    std::vector<Int128> moved(s.phi.size(), 0), brought(s.phi.size(), 0);
    Time now;
    for (std::int32_t a = 0; a < n; ++a) {
      const std::int64_t bytes = draw(0, 100000);
      brought[static_cast<std::size_t>(a)] = fluid_bytes(bytes);
      fluid.start(a, now, bytes, std::int64_t{10} << 32);
    }
    for (int ended = 0; ended < n;) {
      fluid.solve(now);
      Time next = Time::never();
      for (std::int32_t a = 0; a < n; ++a) next = std::min(next, fluid.finish(a));
      RC_ASSERT(!next.is_never());
      for (std::int32_t a = 0; a < n; ++a) {
        auto& m = moved[static_cast<std::size_t>(a)];
        m += Int128{fluid.rate(a)} * (next - now).count();
        if (!fluid.active(a)) continue;
        const Int128 left = brought[static_cast<std::size_t>(a)] - m;
        RC_ASSERT(fluid.remaining(a, next) == std::max(Int128{0}, left));
        if (fluid.finish(a) != next) continue;
        RC_ASSERT(left <= 0);
        RC_ASSERT(left > -Int128{fluid.rate(a)});  // ended within the last nanosecond
        fluid.end(a);
        ++ended;
      }
      now = next;
    }
  }));
}
