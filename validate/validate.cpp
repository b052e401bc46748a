#include "validate/validate.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <set>
#include "validate/report_rows.hpp"

namespace twin::validate {
namespace {

void say(const ValidateOptions& options, const std::string& line) {
  if (options.progress) options.progress(line);
}

ValidationReport report_for(const std::vector<Row>& rows, const std::vector<Case>& cases, const std::vector<int>& folds,
                            const device::Constants& constants, const ValidateOptions& options) {
  ValidationReport report;
  report.rows = step_rows(cases, constants, options.threads);
  add_null_errors(cases, folds, report.rows);
  auto peaks = peak_rows(cases, constants, options.threads);
  report.rows.insert(report.rows.end(), peaks.begin(), peaks.end());
  auto memory = memory_rows(rows, constants, options);
  report.rows.insert(report.rows.end(), memory.begin(), memory.end());
  report.warnings = device::structure_warnings(constants);
  return report;
}

// 90 % half-widths of |log(measured / predicted)| by distance, each file's weight capped; a class without 10 rows takes
// the next wider one.
nlohmann::json interval_json(const std::vector<Case>& cases, const std::vector<std::size_t>& fitted,
                             const std::vector<int>& group_fold, const std::vector<int>& file_fold,
                             const std::vector<double>& lgo, const std::vector<double>& lfo,
                             const std::vector<double>& weights) {
  enum { kSeen, kAccelerator, kNew, kClasses };
  std::vector<double> residual[kClasses], weight[kClasses];
  const auto add = [&](const std::vector<int>& fold, const std::vector<double>& predicted) {
    for (std::size_t i = 0; i < fitted.size(); ++i) {
      if (!(predicted[i] > 0)) continue;
      const Case& c = cases[fitted[i]];
      bool pair = false, accelerator = false;
      for (std::size_t j = 0; j < fitted.size(); ++j) {
        const Case& other = cases[fitted[j]];
        if (fold[j] == fold[i] || other.device != c.device) continue;
        accelerator = true;
        pair = pair || other.row.scenario->stack.name == c.row.scenario->stack.name;
      }
      const auto k = static_cast<std::size_t>(pair ? kSeen : accelerator ? kAccelerator : kNew);
      residual[k].push_back(std::abs(std::log(*c.row.measured_s / predicted[i])));
      weight[k].push_back(weights[i]);
    }
  };
  add(group_fold, lgo);
  add(file_fold, lfo);
  double width[kClasses] = {0.15, 0.25, 0.35};
  for (std::size_t k = 0; k < kClasses; ++k) {
    if (residual[k].size() >= 10) width[k] = weighted_quantile(residual[k], weight[k], 0.9);
    if (k > 0) width[k] = std::max(width[k], width[k - 1]);
  }
  const auto rounded = [](double x) { return std::round(x * 1e4) / 1e4; };
  return {
      {"seen", rounded(width[kSeen])}, {"accelerator", rounded(width[kAccelerator])}, {"new", rounded(width[kNew])}};
}

double significant(double x) {  // five digits, in the shortest spelling
  return std::stod(fmt::format("{:.5g}", x));
}

}  // namespace

ValidationReport validate(const std::vector<Row>& rows, const device::Constants& constants,
                          const ValidateOptions& options) {
  const std::vector<Case> cases = make_cases(rows, options.prepare, options.stacks, options.threads);
  say(options, fmt::format("{} step rows prepared", cases.size()));
  ValidationReport report = report_for(rows, cases, group_folds(cases), constants, options);
  fill_summaries(report);
  return report;
}

core::Result<Calibration> cross_validated(const std::vector<Row>& rows, const device::Constants& start,
                                          const ValidateOptions& options) {
  const std::vector<Case> cases = make_cases(rows, options.prepare, options.stacks, options.threads);
  std::vector<std::size_t> fitted;
  std::vector<FitRow> fit_rows;
  std::vector<std::string> groups, files;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    if (!c.run) continue;  // rows that the totals leave out still say what a software stack costs
    fitted.push_back(i);
    fit_rows.push_back({c.run.get(), *c.row.measured_s, c.row.noise, c.row.group, c.row.file});
    groups.push_back(c.row.file + "\n" + c.row.group);
    files.push_back(c.row.file);
  }
  if (fit_rows.size() < 20)
    return core::Error{core::ErrorCode::kInconsistent, "cross-validation",
                       fmt::format("expected at least 20 rows with a scenario to fit on, found {}", fit_rows.size()),
                       ""};
  FitOptions fit_options;
  fit_options.threads = options.threads;
  fit_options.progress = options.progress;
  Calibration out;
  out.fit = fit(fit_rows, start, fit_options);
  const std::vector<int> group_fold = make_folds(groups, 8), file_fold = make_folds(files, 0);
  say(options, "leave-group-out");
  const std::vector<double> lgo = cross_validate(fit_rows, out.fit, group_fold, fit_options);
  say(options, "leave-file-out");
  const std::vector<double> lfo = cross_validate(fit_rows, out.fit, file_fold, fit_options);

  nlohmann::json values = nlohmann::json::object();
  for (std::size_t j = 0; j < out.fit.active.size(); ++j) {
    const int index = out.fit.active[j];
    const double value = significant(std::exp(out.fit.theta[j]));
    values[start.all()[static_cast<std::size_t>(index)].name] = value;
    out.fit.constants.set(index, value);
  }
  out.report = report_for(rows, cases, group_folds(cases), out.fit.constants, options);
  std::set<std::string> seen;
  for (std::size_t i = 0; i < fitted.size(); ++i) {
    ReportRow& row = out.report.rows[fitted[i]];
    if (lgo[i] > 0) row.lgo_error = lgo[i] / row.measured - 1;
    if (lfo[i] > 0) row.lfo_error = lfo[i] / row.measured - 1;
    const Case& c = cases[fitted[i]];
    const work::Stack& stack = c.row.scenario->stack;
    seen.insert(c.device + "/" + (stack.calibration.empty() ? stack.name : stack.calibration));
  }
  const std::vector<double> weights = fit_weights(fit_rows, std::vector<char>(fit_rows.size(), 1), fit_options);
  fill_summaries(out.report);
  const Summary& all = out.report.all;
  out.json = {
      {"schema_version", 1},
      {"values", values},
      {"interval", interval_json(cases, fitted, group_fold, file_fold, lgo, lfo, weights)},
      {"seen", seen},
      {"provenance",
       {{"rows", fit_rows.size()},
        {"files", std::set<std::string>(files.begin(), files.end())},
        {"method", "MAP in log space, pseudo-Huber loss at 4 % and the row's noise, 4 rows' weight a group, 15 a file"},
        {"objective", significant(out.fit.objective)},
        {"in_sample", {{"median", significant(all.errors.median)}, {"p90", significant(all.errors.p90)}}}}}};
  if (all.lgo)
    out.json["provenance"]["leave_group_out"] = {{"median", significant(all.lgo->median)},
                                                 {"p90", significant(all.lgo->p90)}};
  if (all.lfo)
    out.json["provenance"]["leave_file_out"] = {{"median", significant(all.lfo->median)},
                                                {"p90", significant(all.lfo->p90)}};
  return out;
}

}  // namespace twin::validate
