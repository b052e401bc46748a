// Numbers as people read them: 8.41 s, 12.3 ms, 71.4 GB, 16,384. Decimal units for bytes (80 GB is 80e9), as data
// sheets have. Every function gives at most 4 significant digits and never throws; not-a-number prints as "-".
#pragma once
#include <cstdint>
#include <string>

namespace twin::report {

std::string format_seconds(double s);                            // "8.41 s", "12.3 ms", "431 us", "57 ns"
std::string format_bytes(double bytes);                          // "71.4 GB"
std::string format_count(std::int64_t n);                        // "16,384"
std::string format_si(double value);                             // "1.23 M"
std::string format_unit(double value, const std::string& unit);  // "2.78 kJ"
std::string format_percent(double ratio);                        // "41.3 %"
std::string format_digits(double value, int digits = 3);  // `digits` significant digits, never an exponent below 1e15

}  // namespace twin::report
