// Error summaries by file and stratum, beside the best peer, the null model and the prototype on the same rows.
#include <algorithm>
#include <cmath>
#include <set>
#include "validate/facts.hpp"
#include "validate/report_rows.hpp"
#include "validate/validate.hpp"

namespace twin::validate {
namespace {

RowKey key_of(const ReportRow& row) { return {row.source.substr(0, row.source.rfind(".json")), row.id}; }

struct Pairs {
  std::vector<double> theirs, ours;
  void add(double a, double b) { theirs.push_back(a), ours.push_back(b); }
  std::optional<Against> against(const std::string& name) const {
    if (theirs.empty()) return std::nullopt;
    return Against{name, error_stats(theirs), error_stats(ours)};
  }
};

// The peer with the smallest median |error| among those that predict at least a quarter of the rows.
std::optional<Against> best_peer(const std::vector<const ReportRow*>& rows) {
  std::map<std::string, Pairs> peers;
  std::size_t predicted = 0;
  for (const ReportRow* row : rows) {
    if (!row->error) continue;
    ++predicted;
    const auto it = facts().peers.find(key_of(*row));
    if (it == facts().peers.end()) continue;
    for (const auto& [peer, error] : it->second) peers[peer].add(error, *row->error);
  }
  std::optional<Against> best;
  for (const auto& [name, pairs] : peers) {
    if (4 * pairs.theirs.size() < predicted) continue;
    const auto candidate = pairs.against(name);
    if (!best || candidate->theirs.median < best->theirs.median) best = candidate;
  }
  return best;
}

}  // namespace

Summary summarise(const std::vector<const ReportRow*>& rows) {
  Summary out;
  std::vector<double> errors, lgo, lfo;
  Pairs null, prototype[3];
  int covered = 0, with_interval = 0, fitting = 0, with_fits = 0;
  for (const ReportRow* row : rows) {
    if (!row->error) {
      ++out.skipped;
      ++out.skipped_by_reason[row->skipped];
      continue;
    }
    errors.push_back(*row->error);
    if (row->fits) ++with_fits, fitting += *row->fits;
    if (row->interval[1] > 0)
      ++with_interval, covered += row->measured >= row->interval[0] && row->measured <= row->interval[1];
    if (row->lgo_error) lgo.push_back(*row->lgo_error);
    if (row->lfo_error) lfo.push_back(*row->lfo_error);
    if (row->kind != "step") continue;
    if (row->null_error) null.add(*row->null_error, row->lgo_error.value_or(*row->error));
    if (const auto it = facts().prototype.find(key_of(*row)); it != facts().prototype.end()) {
      prototype[0].add(it->second[0], *row->error);
      if (row->lgo_error) prototype[1].add(it->second[1], *row->lgo_error);
      if (row->lfo_error) prototype[2].add(it->second[2], *row->lfo_error);
    }
  }
  out.errors = error_stats(errors);
  out.coverage = with_interval > 0 ? static_cast<double>(covered) / with_interval : 0;
  out.fits = with_fits > 0 ? static_cast<double>(fitting) / with_fits : 0;
  if (!lgo.empty()) out.lgo = error_stats(lgo);
  if (!lfo.empty()) out.lfo = error_stats(lfo);
  if (!rows.empty() && rows.front()->kind == "step") out.best_peer = best_peer(rows);
  out.null = null.against("null model, leave-group-out");
  out.prototype = prototype[0].against("prototype, in-sample");
  out.prototype_lgo = prototype[1].against("prototype, leave-group-out");
  out.prototype_lfo = prototype[2].against("prototype, leave-file-out");
  return out;
}

void fill_summaries(ValidationReport& report) {
  std::vector<const ReportRow*> all;
  std::map<std::string, std::vector<const ReportRow*>> files, memory;
  std::map<std::string, std::map<std::string, std::vector<const ReportRow*>>> strata;
  for (const ReportRow& row : report.rows) {
    if (row.kind != "step") {
      memory[row.source].push_back(&row);
      continue;
    }
    files[row.source].push_back(&row);
    if (row.apart) continue;
    all.push_back(&row);
    for (const auto& [dimension, value] : row.strata) strata[dimension][value].push_back(&row);
    for (const std::string& name : row.special) strata["special"][name].push_back(&row);
  }
  report.all = summarise(all);
  for (const auto& [name, rows] : files) report.files[name] = summarise(rows);
  for (const auto& [name, rows] : memory) report.memory[name] = summarise(rows);
  for (const auto& [dimension, values] : strata)
    for (const auto& [value, rows] : values) report.strata[dimension][value] = summarise(rows);
}

}  // namespace twin::validate
