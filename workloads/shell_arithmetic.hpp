// Integer arithmetic of a shell's $(( )), after its variables were replaced: + - * / % and parentheses.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace twin::work {

std::optional<std::int64_t> evaluate_arithmetic(std::string_view text);  // nullopt: something else, or it overflows

}  // namespace twin::work
