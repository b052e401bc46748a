// traintwin version, and traintwin test where the launcher was passed by.
#include <memory>
#include "sim/cli/command.hpp"
#include "sim/report/step_json.hpp"

namespace twin::cli {

Command add_version(CLI::App& root, const Process&) {
  CLI::App* app = root.add_subcommand("version", "version of traintwin and of its JSON");
  return {app, []() -> core::Result<Output> {
            return Output{"traintwin " TWIN_VERSION ", JSON schema " + std::to_string(report::kSchemaVersion) + "\n",
                          kDone};
          }};
}

Command add_test(CLI::App& root, const Process&) {
  CLI::App* app = root.add_subcommand("test", "build and run the tests (--ci: with all that CI adds)");
  auto ci = std::make_shared<bool>(false);
  app->add_flag("--ci", *ci, "also what CI adds");
  return {app, [ci]() -> core::Result<Output> {
            return core::Error{core::ErrorCode::kUsage, "test", "expected the launcher, found the bare binary",
                               "run ./traintwin test in the checkout: the launcher builds the tests and runs them"};
          }};
}

}  // namespace twin::cli
