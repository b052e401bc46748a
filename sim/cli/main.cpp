// traintwin: parses the command line, runs one command, prints. Exit codes: 0 done; 1 the answer is no (the object is
// still printed); 2 bad usage or input (stdout empty, one message on stderr); 3 a fault of our own.
#include <cstdio>
#include <exception>
#include <new>
#include "sim/cli/command.hpp"
#include "sim/cli/usage.hpp"
#include "sim/core/json_reader.hpp"

namespace twin::cli {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  traintwin step                                   Llama-3 405B on 16,384 H100: step time, MFU, memory\n"
    "  traintwin step run.json --set parallel.tp=4 --json\n"
    "  traintwin step --explain --trace step.pftrace    why it takes so long; opens in ui.perfetto.dev\n"
    "  traintwin collective all_reduce --cluster dgx-h100x4\n"
    "  traintwin validate                               error against measured runs\n"
    "Exit codes: 0 done; 1 the answer is no; 2 bad usage or input (one message on stderr).";

// Fixed by the design, not in this version.
const std::vector<std::string> kLater = {"run",    "sweep",   "ingest", "capture", "calibrate",
                                         "replay", "compare", "watch",  "advise"};

int fail(const core::Error& error) {
  std::fprintf(stderr, "traintwin: %s\n", error.text().c_str());
  return kBadUsage;
}

int print(const Output& output) {
  const bool written = std::fwrite(output.text.data(), 1, output.text.size(), stdout) == output.text.size();
  if (!written || std::fflush(stdout) != 0) return fail({core::ErrorCode::kUsage, "stdout", "cannot be written", ""});
  return output.exit;
}

std::string help(const CLI::App& root, const CLI::App& command) {
  return &command == &root ? root.help() : command.help(root.get_name());
}

int run(const Command& command) {
  if (const auto extras = command.app->remaining(); !extras.empty())
    return fail(unknown_argument(*command.app, extras.front()));
  const auto output = command.run();
  return output ? print(*output) : fail(output.error());
}

int unknown_command(const std::string& found, const std::vector<Command>& commands) {
  std::vector<std::string> names = {"help"};
  for (const auto& c : commands) names.push_back(c.app->get_name());
  for (const auto& later : kLater)
    if (later == found)
      return fail(
          {core::ErrorCode::kUnsupported, found, "this command is not in this version", "there are " + joined(names)});
  return fail(unknown_name("command line", "a command", found, names));
}

int print_help(const CLI::App& app, const std::vector<Command>& commands, const std::string& name) {
  if (name.empty()) return print({app.help(), kDone});
  for (const auto& c : commands)
    if (c.app->get_name() == name) return print({help(app, *c.app), kDone});
  return unknown_command(name, commands);
}

int dispatch(CLI::App& app, const std::vector<Command>& commands, int argc, const char* const* argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  if (first == "help") return print_help(app, commands, argc > 2 ? argv[2] : "");
  const CLI::App* current = &app;
  for (const auto& c : commands)
    if (c.app->get_name() == first) current = c.app;
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return print_help(app, commands, current == &app ? "" : first);
  } catch (const CLI::ParseError& e) {
    return fail(parse_error(*current, e));
  }
  for (const auto& c : commands)
    if (c.app->parsed()) return run(c);
  if (const auto rest = app.remaining(); !rest.empty()) return unknown_command(rest.front(), commands);
  std::fputs(app.help().c_str(), stderr);
  return fail({core::ErrorCode::kUsage, "command line", "expected a command, found nothing",
               "traintwin step runs the default scenario"});
}

int main_guarded(int argc, const char* const* argv) {
  const Process process;
  CLI::App app(
      "Simulates large-scale training: how long a step takes, where the time goes, whether it fits, how sure that is.",
      "traintwin");
  app.allow_extras();
  app.require_subcommand(0, 1);
  std::vector<Command> commands;
  for (const auto add : {add_step, add_validate, add_collective, add_catalog, add_test, add_version}) {
    commands.push_back(add(app, process));
    commands.back().app->allow_extras();
  }
  app.footer(kExamples);  // after the commands, which would take it over
  return dispatch(app, commands, argc, argv);
}

}  // namespace
}  // namespace twin::cli

int main(int argc, char** argv) {
  try {
    return twin::cli::main_guarded(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs(
        "traintwin: memory: expected enough for this input, found none left (a smaller batch, model or cluster)\n",
        stderr);
    return twin::cli::kBadUsage;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "traintwin: internal error: %s (a fault of traintwin, not of the input; please report it)\n",
                 e.what());
    return twin::cli::kInternalError;
  }
}
