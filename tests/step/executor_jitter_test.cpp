// Jitter as expected maxima: its arithmetic, and against sampled noise on explicit systems of up to 1,024 ranks.
#include "sim/step/executor_jitter.hpp"
#include <catch2/catch.hpp>
#include <cmath>
#include "sim/core/order_statistics.hpp"
#include "tests/step/executor_world.hpp"
#include "tests/step/fold_case.hpp"

using namespace twin::step;
using namespace twin::step::test;

namespace {

struct Excess {                                            // step time beyond the noiseless one, ns
  double quiet = 0, expected = 0, sampled = 0, error = 0;  // error: standard error of the sampled mean
};

Excess excess(const Config& config, int samples) {
  auto c = build(config);
  c.options.record = false;
  const auto end = [&](bool jitter, bool sample, std::uint64_t seed) {
    c.options.jitter = jitter;
    c.options.sample = sample;
    c.options.seed = seed;
    return static_cast<double>(execute(c.system, c.cost, c.options)->end.count());
  };
  const double quiet = end(false, false, 1);
  Excess e{.quiet = quiet, .expected = end(true, false, 1) - quiet};
  double squares = 0;
  for (int i = 0; i < samples; ++i) {
    const double x = end(false, true, static_cast<std::uint64_t>(i) + 1) - quiet;
    e.sampled += x / samples;
    squares += x * x / samples;
  }
  e.error = std::sqrt((squares - e.sampled * e.sampled) / samples);
  return e;
}

Config job(int tp, int dp, int pp) {
  Config c{.tp = tp, .dp = dp, .pp = pp, .micro = 8, .layers = 2};
  c.world_reduce = true;
  c.tp_bytes = 1 << 20;
  c.dp_bytes = 1 << 22;
  return c;
}

void check(const Config& config, int samples, double tolerance) {
  const auto e = excess(config, samples);
  const double off = e.expected / e.sampled - 1;
  CAPTURE(config.tp, config.dp, config.pp, e.expected, e.sampled, e.error, off);
  CHECK(e.sampled > 3 * e.error);
  CHECK(std::abs(e.expected - e.sampled) <= tolerance * e.sampled + 3 * e.error);
}

}  // namespace

TEST_CASE("a join of equals waits for the expected maximum", "[step][jitter][fast]") {
  for (const std::int64_t n : {1, 2, 8, 1024}) {
    std::vector<Arrival> one{{.time = 1000, .sigma = 1000, .variance = 1000000, .spread = 0, .count = n}};
    std::vector<Arrival> each(static_cast<std::size_t>(n),
                              {.time = 1000, .sigma = 1000, .variance = 1000000, .count = 1});
    const auto folded = join(one, n), unfolded = join(each, n);
    CHECK(folded.delay == (1000 * twin::core::expected_max_q20(n)) >> 20);
    CHECK(folded.delay == unfolded.delay);
    CHECK(folded.variance == unfolded.variance);
    CHECK(folded.variance == (1000000 * variance_of_max_q20(n)) >> 20);
  }
  CHECK(variance_of_max_q20(2) == std::llround((1 - 1 / 3.14159265358979) * 1048576));  // known: 1 - 1/pi
}

TEST_CASE("a rank that is far behind waits for nobody", "[step][jitter][fast]") {
  std::vector<Arrival> a{{.time = 100000, .sigma = 1000, .variance = 1000000, .count = 1},
                         {.time = 1000, .sigma = 1000, .variance = 1000000, .count = 63}};
  CHECK(join(a, 64).delay == 0);
}

TEST_CASE("many that are little earlier still delay the last", "[step][jitter][fast]") {
  // 63 ranks one sigma earlier: their expected maximum is 2.35 - 1 sigma after the latest, who has none.
  std::vector<Arrival> a{{.time = 2000, .sigma = 0, .variance = 0, .count = 1},
                         {.time = 1000, .sigma = 1000, .variance = 1000000, .count = 63}};
  const auto delay = join(a, 64).delay;
  CHECK(delay > 1300);
  CHECK(delay < 1400);
}

TEST_CASE("independent groups of one collective: exact in expectation", "[step][jitter][fast]") {
  // n ranks compute 1 ms with sigma 10 us, then meet: end = 1 ms + c(n) sigma.
  World w(16);
  w.kind("dp", false);
  const auto l = w.link(1);
  std::vector<std::int32_t> all;
  for (std::int32_t r = 0; r < 16; ++r) all.push_back(r);
  w.group(0, all, {{l, kOne}});
  for (std::size_t r = 0; r < 16; ++r) {
    const auto c = w.compute(r, {.ns = 1000000, .variance_ns2 = 100000000});
    w.comm(r, {.bytes = 0}, {c});
  }
  const auto t = w.run();
  REQUIRE(t);
  CHECK(t->end.count() == 1000000 + ((10000 * twin::core::expected_max_q20(16)) >> 20));
}

// One kind of noise at a time: white, or between ranks.
Config noisy(Config c, bool white) {  // 2 % of each op, or 1 % of a rank
  c.variance_ppm2 = white ? 400 : 0;
  c.persistent_sigma = white ? 0 : 0.01;
  return c;
}

TEST_CASE("expected maxima agree with sampled noise without pipelines", "[step][jitter][slow]") {
  for (const bool white : {true, false})
    for (const int tp : {1, 8}) check(noisy(job(tp, 64 / tp, 1), white), 40, 0.25);
}

// Where groups nest (the world is the tensor group) lateness that members share is counted again, and a pipeline
// absorbs part of a stage's lateness or adds to it at ties: there the excess itself is not met, the step is, within 1
// %.
TEST_CASE("expected maxima stay within 1 % of the step where groups nest or pipelines absorb", "[step][jitter][slow]") {
  const int plans[][3] = {{8, 1, 1}, {8, 4, 4}, {1, 1, 4}, {2, 8, 4}};
  for (const bool white : {true, false})
    for (const auto& plan : plans) {
      const auto e = excess(noisy(job(plan[0], plan[1], plan[2]), white), 40);
      CAPTURE(plan[0], plan[1], plan[2], white, e.quiet, e.expected, e.sampled, e.error);
      CHECK(std::abs(e.expected - e.sampled) <= 0.01 * e.quiet + 3 * e.error);
    }
}

TEST_CASE("expected maxima agree with sampled noise on 1,024 ranks", "[step][jitter][slow]") {
  auto c = job(8, 32, 4);
  c.variance_ppm2 = 400;
  c.persistent_sigma = 0.005;
  check(c, 10, 0.25);
}

TEST_CASE("a lateness of many seconds keeps its size", "[fast][jitter]") {
  const std::int64_t spread = std::int64_t{6'000'000'000} << 20;  // 6 s: its square is beyond 63 bits
  CHECK(std::abs(static_cast<double>(lateness_sigma(0, spread)) / 6e9 - 1) < 1e-5);
  CHECK(std::abs(static_cast<double>(lateness_sigma(kMostVariance, spread)) / std::hypot(6e9, std::sqrt(0x1p61)) - 1) <
        1e-5);
}
