// Rewrites a file of measured rows into our compact form: only the fields that this layer reads, plus the source of
// each row; what is equal in all rows moves into "defaults" (row.hpp reads it back). Rows outside the dense scope are
// dropped.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include "sim/core/result.hpp"
#include "validate/normalise.hpp"

namespace twin::validate {

// JSON text of the compact form; an empty string when no row is kept.
core::Result<std::string> compact_rows(std::string_view text, const std::string& file, const StackFinder& stacks);

}  // namespace twin::validate
