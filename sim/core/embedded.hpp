// Files that CMake put into the binary: catalogs, constants, measured rows. Paths are relative to the repository's
// root.
#pragma once
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace twin::core {

const std::vector<std::pair<std::string_view, std::string_view>>& embedded_files();  // (path, content), sorted by path

// Content of one file; empty if there is none.
inline std::string_view embedded(std::string_view path) {
  for (const auto& [name, content] : embedded_files())
    if (name == path) return content;
  return {};
}

}  // namespace twin::core
