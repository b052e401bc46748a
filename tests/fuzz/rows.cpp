// Fuzz target: files of measured rows.
#include "sim/core/check.hpp"
#include "tests/fuzz/target.hpp"
#include "validate/row.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto rows = twin::validate::parse_rows({reinterpret_cast<const char*>(data), size}, "fuzz.json");
  if (!rows) TWIN_CHECK(!rows.error().message.empty());
  return 0;
}
