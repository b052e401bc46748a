// Comparison of the twin with measured runs: one report row per measured figure, and summaries by file and stratum with
// what the best public simulator, the null model and the closed-form prototype reach on the same rows.
//
//   auto rows = embedded_rows();                                        // or read_rows(path) of each file
//   auto report = validate(*rows, device::Constants::builtin(), {});    // predicts
//   auto crossed = cross_validated(*rows, ..., {});                     // refits, adds leave-group-out and
//   leave-file-out std::cout << to_text(report); to_json(report).dump();
#pragma once
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>
#include "validate/cases.hpp"
#include "validate/fit.hpp"
#include "validate/metrics.hpp"

namespace twin::validate {

struct ValidateOptions {
  int threads = 2;
  Prepare prepare = step_simulator();
  StackFinder stacks = stack_catalog();
  std::function<void(const std::string&)> progress;  // one line each; the CLI sends them to stderr
};

struct ReportRow {
  std::string id, source, kind = "step", metric, unit;  // metric and unit for kinds other than step
  double measured = 0, predicted = 0;                   // seconds, or in `unit`
  std::optional<double> error;                          // absent when skipped
  std::optional<bool> fits;
  std::string skipped;
  std::vector<std::string> assumed;
  double interval[2] = {0, 0};
  std::optional<double> null_error, lgo_error, lfo_error;  // null: leave-group-out
  std::map<std::string, std::string> strata;
  std::vector<std::string> special;
  bool apart = false;
};

struct Against {  // someone else on the rows that both predict
  std::string name;
  ErrorStats theirs, ours;
};

struct Summary {
  ErrorStats errors;
  int skipped = 0;
  std::map<std::string, int> skipped_by_reason;
  double coverage = 0;  // share of rows whose measured time lies in the 90 % interval
  double fits = 0;      // share
  std::optional<ErrorStats> lgo, lfo;
  std::optional<Against> best_peer, null, prototype, prototype_lgo, prototype_lfo;
};

struct ValidationReport {
  std::vector<ReportRow> rows;
  Summary all;  // step rows, but those reported apart
  std::map<std::string, Summary> files;
  std::map<std::string, std::map<std::string, Summary>> strata;  // "accelerator" -> "h100" -> ...; "special" too
  std::map<std::string, Summary> memory;                         // by file: rows of kind memory
  std::vector<std::string> warnings;                             // efficiencies above 1 and their like
};

ValidationReport validate(const std::vector<Row>& rows, const device::Constants& constants,
                          const ValidateOptions& options);

// Fits the constants to the rows, and adds leave-group-out and leave-file-out predictions to the report at the fit.
struct Calibration {
  FitResult fit;
  ValidationReport report;
  nlohmann::json json;  // contents of validate/calibration.json
};
core::Result<Calibration> cross_validated(const std::vector<Row>& rows, const device::Constants& start,
                                          const ValidateOptions& options);

Summary summarise(const std::vector<const ReportRow*>& rows);
nlohmann::json to_json(const ValidationReport& report);
std::string to_text(const ValidationReport& report);

// The gate: recorded.json holds medians and p90s by file and stratum; worse by more than its slack is a violation.
std::vector<std::string> gate(const ValidationReport& report);  // against the embedded validate/published/recorded.json
std::vector<std::string> gate(const ValidationReport& report, const nlohmann::json& recorded);
nlohmann::json record(const ValidationReport& report);

}  // namespace twin::validate
