// Errors of usage, in the form that all errors have: where, expected, found, nearest valid name.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>
#include "sim/core/result.hpp"

namespace twin::cli {

// Index of value in names, else an error that lists them.
core::Result<std::size_t> pick(const std::string& flag, const std::string& value,
                               const std::vector<std::string>& names);
core::Error unknown_name(const std::string& where, const std::string& what, const std::string& found,
                         const std::vector<std::string>& names);
// An argument that the command did not take.
core::Error unknown_argument(const CLI::App& command, const std::string& argument);
// What CLI11 found wrong, in our form.
core::Error parse_error(const CLI::App& command, const CLI::ParseError& error);
// Checks for CLI11: "" where all is well.
std::string not_empty(const std::string& value);
std::string not_negative(const std::string& value);
std::string joined(const std::vector<std::string>& names);  // "a, b, c"

}  // namespace twin::cli
