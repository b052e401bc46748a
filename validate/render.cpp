// The report as JSON (DESIGN.md fixes the keys) and as a table for the console.
#include <fmt/format.h>
#include <cmath>
#include "sim/report/table.hpp"
#include "validate/validate.hpp"

namespace twin::validate {
namespace {

using nlohmann::json;

json stats_json(const ErrorStats& s) {
  return {{"count", s.count},
          {"median_abs_error", s.median},
          {"p90_abs_error", s.p90},
          {"bias", s.bias},
          {"mean_abs_error", s.mean}};
}

json against_json(const Against& a) {
  json out = stats_json(a.theirs);
  out["name"] = a.name;
  out["ours_on_same_rows"] = stats_json(a.ours);
  return out;
}

json summary_json(const Summary& s) {
  json out = stats_json(s.errors);
  out["skipped"] = s.skipped;
  out["skipped_by_reason"] = s.skipped_by_reason;
  out["coverage"] = s.coverage;
  out["fits"] = s.fits;
  if (s.lgo) out["leave_group_out"] = stats_json(*s.lgo);
  if (s.lfo) out["leave_file_out"] = stats_json(*s.lfo);
  if (s.best_peer) out["best_peer"] = against_json(*s.best_peer);
  if (s.null) out["null"] = against_json(*s.null);
  if (s.prototype) out["prototype"] = against_json(*s.prototype);
  if (s.prototype_lgo) out["prototype_leave_group_out"] = against_json(*s.prototype_lgo);
  if (s.prototype_lfo) out["prototype_leave_file_out"] = against_json(*s.prototype_lfo);
  return out;
}

json row_json(const ReportRow& row) {
  json out = {{"id", row.id}, {"source", row.source}, {"kind", row.kind}, {"assumed", row.assumed}};
  const bool step = row.kind == "step";
  if (!step) out["metric"] = row.metric, out["unit"] = row.unit;
  if (row.measured > 0) out[step ? "measured_s" : "measured"] = row.measured;
  if (!row.error) {
    out["skipped"] = row.skipped;
    return out;
  }
  out[step ? "predicted_s" : "predicted"] = row.predicted;
  out["error"] = *row.error;
  if (row.fits) out["fits"] = *row.fits;
  if (row.interval[1] > 0) out["interval_s"] = {row.interval[0], row.interval[1]};
  if (row.null_error) out["null_error"] = *row.null_error;
  if (row.lgo_error) out["leave_group_out_error"] = *row.lgo_error;
  if (row.lfo_error) out["leave_file_out_error"] = *row.lfo_error;
  if (!row.strata.empty()) out["strata"] = row.strata;
  if (!row.special.empty()) out["special"] = row.special;
  return out;
}

std::string pair(const ErrorStats& s) { return fmt::format("{:.1f} / {:.1f}", 100 * s.median, 100 * s.p90); }

void add_line(report::Table& table, const std::string& name, const Summary& s) {
  if (s.errors.count == 0) {
    table.add({name, "0", fmt::format("{}", s.skipped)});
    return;
  }
  const auto other = [](const std::optional<Against>& a) { return a ? pair(a->theirs) : std::string("-"); };
  const auto ours = [](const std::optional<ErrorStats>& e) { return e ? pair(*e) : std::string("-"); };
  const auto peer = s.best_peer ? fmt::format("{} {} (ours {}, n {})", pair(s.best_peer->theirs), s.best_peer->name,
                                              pair(s.best_peer->ours), s.best_peer->theirs.count)
                                : std::string("-");
  table.add({name, fmt::format("{}", s.errors.count), fmt::format("{}", s.skipped), pair(s.errors),
             fmt::format("{:+.1f}", 100 * s.errors.bias), fmt::format("{:.0f}", 100 * s.coverage),
             fmt::format("{:.0f}", 100 * s.fits), ours(s.lgo), ours(s.lfo), other(s.prototype), other(s.null), peer});
}

}  // namespace

json to_json(const ValidationReport& report) {
  json out = {{"schema_version", 1}, {"rows", json::array()}, {"warnings", report.warnings}};
  for (const ReportRow& row : report.rows) out["rows"].push_back(row_json(row));
  json& summary = out["summary"];
  summary["all"] = summary_json(report.all);
  summary["files"] = json::object();
  summary["strata"] = json::object();
  summary["memory"] = json::object();
  for (const auto& [name, s] : report.files) summary["files"][name] = summary_json(s);
  for (const auto& [name, s] : report.memory) summary["memory"][name] = summary_json(s);
  for (const auto& [dimension, values] : report.strata)
    for (const auto& [value, s] : values) summary["strata"][dimension][value] = summary_json(s);
  return out;
}

std::string to_text(const ValidationReport& report) {
  const std::vector<std::string> header = {"",
                                           "rows",
                                           "skipped",
                                           "median / p90 %",
                                           "bias",
                                           "in 90 %",
                                           "fits %",
                                           "leave group out",
                                           "leave file out",
                                           "prototype",
                                           "null",
                                           "best public simulator"};
  report::Table table(header, "lrrrrrrrrrrl");
  for (const auto& [name, s] : report.files) add_line(table, name, s);
  for (const auto& [dimension, values] : report.strata)
    for (const auto& [value, s] : values) add_line(table, dimension + " " + value, s);
  add_line(table, "all steps", report.all);
  std::string out = "Step time, |predicted / measured - 1|\n" + table.text();
  if (!report.memory.empty()) {
    report::Table memory({"", "rows", "skipped", "median / p90 %", "bias", "largest %"}, "lrrrrr");
    for (const auto& [name, s] : report.memory) {
      double largest = 0;
      for (const ReportRow& row : report.rows)
        if (row.kind != "step" && row.source == name && row.error) largest = std::max(largest, std::abs(*row.error));
      memory.add({name, fmt::format("{}", s.errors.count), fmt::format("{}", s.skipped), pair(s.errors),
                  fmt::format("{:+.1f}", 100 * s.errors.bias), fmt::format("{:.1f}", 100 * largest)});
    }
    out += "\nMemory, |predicted / measured - 1|\n" + memory.text();
  }
  std::map<std::string, int> reasons;
  for (const auto& [name, s] : report.files)
    for (const auto& [reason, count] : s.skipped_by_reason) reasons[reason] += count;
  if (!reasons.empty()) out += "\nSkipped\n";
  for (const auto& [reason, count] : reasons) out += fmt::format("  {:5}  {}\n", count, reason);
  for (const std::string& warning : report.warnings) out += "warning: " + warning + "\n";
  return out;
}

}  // namespace twin::validate
