// Looking for words in what sources print: case folded, substrings.
#pragma once
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace twin::validate {

inline std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

inline bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace twin::validate
