// How numbers, tables and bars are printed.
#include "sim/report/format.hpp"
#include <catch2/catch.hpp>
#include <limits>
#include "sim/report/table.hpp"

using namespace twin::report;

TEST_CASE("numbers are printed as people read them", "[fast]") {
  CHECK(format_seconds(8.4123) == "8.41 s");
  CHECK(format_seconds(0.0123456) == "12.3 ms");
  CHECK(format_seconds(0.9996) == "1.00 s");
  CHECK(format_seconds(431e-6) == "431 us");
  CHECK(format_seconds(57e-9) == "57.0 ns");
  CHECK(format_seconds(12345) == "12345 s");
  CHECK(format_seconds(0) == "0 s");
  CHECK(format_seconds(std::numeric_limits<double>::quiet_NaN()) == "-");
  CHECK(format_bytes(71.4e9) == "71.4 GB");
  CHECK(format_bytes(12) == "12.0 B");
  CHECK(format_unit(2776, "J") == "2.78 kJ");
  CHECK(format_bytes(999.7e6) == "1.00 GB");
  CHECK(format_count(16384) == "16,384");
  CHECK(format_count(-1234567) == "-1,234,567");
  CHECK(format_count(999) == "999");
  CHECK(format_percent(0.4127) == "41.3 %");
  CHECK(format_si(2.345e6) == "2.35 M");
  CHECK(format_digits(9.996) == "10.0");
}

TEST_CASE("tables line up, also with blocks, and leave no blanks at line ends", "[fast]") {
  Table t({"name", "n", ""}, "lrl");
  t.add({"a", "1", bar(1, 2)});
  t.add({"long", "100", bar(0.5, 2)});
  CHECK(t.text() ==
        "name    n\n"
        "----  ---  --\n"
        "a       1  \u2588\u2588\n"
        "long  100  \u2588\n");
}

TEST_CASE("a bar is proportional and clamped", "[fast]") {
  CHECK(display_width(bar(1, 10)) == 10);
  CHECK(bar(0, 10).empty());
  CHECK(bar(-3, 10).empty());
  CHECK(bar(7, 4) == bar(1, 4));
  CHECK(bar(1.0 / 16, 2) == "\u258f");
}
