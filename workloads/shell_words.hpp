// The words that a launch script would hand to its program: the part of POSIX shell and bash that training scripts use.
// Variables and arrays (=, +=, export), quotes, continuations, comments, ${V:-default}, ${A[@]}, $((a * b)). Nothing is
// run: a command substitution or an unset variable is empty, all branches of an `if` are read in order, loops once;
// each is noted.
#pragma once
#include <string>
#include <string_view>
#include <vector>
#include "sim/core/result.hpp"

namespace twin::work {

struct ShellWord {
  std::string text;
  int line = 0;
};

struct ShellScript {
  std::vector<std::vector<ShellWord>> commands;  // expanded; assignments are not among them
  std::vector<ShellWord> array_words;  // of all arrays and option-like strings, for fragments without a command
  std::vector<std::string> notes;      // what was guessed, with its line
};

// Errors: an unclosed quote, bracket or parenthesis, with file and line; a script that expands without end.
core::Result<ShellScript> read_shell(std::string_view text, const std::string& file);

}  // namespace twin::work
