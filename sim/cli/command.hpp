// What each command's file provides: it adds its subcommand to the parser and gives back what runs it.
// A command never prints to stdout itself: it returns the text, which main prints at once, so that an error leaves
// stdout empty. Progress and notes go to stderr.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>
#include "sim/cli/process.hpp"
#include "sim/core/result.hpp"

namespace twin::cli {

enum ExitCode { kDone = 0, kAnswerIsNo = 1, kBadUsage = 2, kInternalError = 3 };

struct Output {
  std::string text;  // for stdout
  int exit = kDone;
};

struct Command {
  CLI::App* app = nullptr;
  std::function<core::Result<Output>()> run;
};

Command add_step(CLI::App& root, const Process& process);
Command add_validate(CLI::App& root, const Process& process);
Command add_collective(CLI::App& root, const Process& process);
Command add_catalog(CLI::App& root, const Process& process);
Command add_test(CLI::App& root, const Process& process);
Command add_version(CLI::App& root, const Process& process);

}  // namespace twin::cli
