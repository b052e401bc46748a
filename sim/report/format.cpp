// Numbers as people read them; see the header.
#include "sim/report/format.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <cmath>

namespace twin::report {

std::string format_digits(double value, int digits) {
  if (!std::isfinite(value)) return "-";
  if (value == 0) return "0";
  const double magnitude = std::abs(value);
  if (magnitude >= 1e15) return fmt::format("{:.{}e}", value, digits - 1);
  int before = static_cast<int>(std::floor(std::log10(magnitude))) + 1;
  const double unit = std::pow(10.0, before - digits);
  if (std::round(magnitude / unit) * unit >= std::pow(10.0, before)) ++before;  // 9.996 has two digits before the point
  return fmt::format("{:.{}f}", value, std::clamp(digits - before, 0, 12));
}

std::string format_seconds(double s) {
  if (!std::isfinite(s)) return "-";
  const double magnitude = std::abs(s);
  if (magnitude == 0) return "0 s";
  if (magnitude >= 0.9995) return format_digits(s) + " s";
  if (magnitude >= 0.9995e-3) return format_digits(s * 1e3) + " ms";
  if (magnitude >= 0.9995e-6) return format_digits(s * 1e6) + " us";
  return format_digits(s * 1e9) + " ns";
}

std::string format_si(double value) {
  if (!std::isfinite(value)) return "-";
  static constexpr const char* kPrefix[] = {"", " k", " M", " G", " T", " P", " E"};
  std::size_t i = 0;
  while (std::abs(value) >= 999.5 && i + 1 < std::size(kPrefix)) value /= 1e3, ++i;
  return format_digits(value) + kPrefix[i];
}

std::string format_unit(double value, const std::string& unit) {
  const std::string text = format_si(value);
  if (text == "-") return text;
  return text + (text.find(' ') == std::string::npos ? " " : "") + unit;
}

std::string format_bytes(double bytes) { return format_unit(bytes, "B"); }

std::string format_count(std::int64_t n) {
  std::string digits = std::to_string(n);
  const std::size_t first = n < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string format_percent(double ratio) { return std::isfinite(ratio) ? fmt::format("{:.1f} %", ratio * 100) : "-"; }

}  // namespace twin::report
