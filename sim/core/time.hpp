// Simulated time: int64 nanoseconds, a strong type, saturating at Time::never(); never a double for a clock.
// Durations and instants share the type. Seconds appear only at the edges (from_seconds rounds half up, seconds()
// reads).
#pragma once
#include <compare>
#include <cstdint>
#include <limits>

namespace twin::core {

class Time {
 public:
  constexpr Time() = default;
  static constexpr Time ns(std::int64_t v) { return Time(v); }
  static constexpr Time zero() { return Time(0); }
  static constexpr Time never() { return Time(std::numeric_limits<std::int64_t>::max()); }
  static constexpr Time from_seconds(double s) {
    if (!(s < 9.2e9)) return never();
    return s <= 0 ? zero() : Time(static_cast<std::int64_t>(s * 1e9 + 0.5));
  }
  constexpr std::int64_t count() const { return ns_; }
  constexpr double seconds() const { return static_cast<double>(ns_) * 1e-9; }
  constexpr bool is_never() const { return ns_ == never().ns_; }
  friend constexpr auto operator<=>(Time, Time) = default;
  // Sums saturate: never + x == never, and an overflow becomes never.
  friend constexpr Time operator+(Time a, Time b) {
    std::int64_t r = 0;
    if (a.is_never() || b.is_never() || __builtin_add_overflow(a.ns_, b.ns_, &r)) return never();
    return Time(r);
  }
  friend constexpr Time operator-(Time a, Time b) { return a.is_never() ? never() : Time(a.ns_ - b.ns_); }
  constexpr Time& operator+=(Time b) { return *this = *this + b; }

 private:
  explicit constexpr Time(std::int64_t v) : ns_(v) {}
  std::int64_t ns_ = 0;
};

}  // namespace twin::core
