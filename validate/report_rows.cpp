#include "validate/report_rows.hpp"
#include <algorithm>
#include <array>
#include <cmath>
#include "validate/parallel.hpp"

namespace twin::validate {
namespace {

constexpr double kGib = 1073741824.0;
constexpr int kGroupFolds = 8;

ReportRow described(const Case& c) {
  ReportRow row;
  row.id = c.row.id;
  row.source = c.row.file + ".json";
  row.skipped = c.skipped;
  row.measured = c.row.measured_s.value_or(0);
  row.strata = c.strata;
  row.special = c.special;
  row.apart = c.row.apart;
  if (c.row.scenario) row.assumed = c.row.scenario->assumed;
  return row;
}

double category(const step::MemoryReport& memory, std::initializer_list<const char*> names) {
  double sum = 0;
  for (const char* name : names)
    if (const auto it = memory.by_category.find(name); it != memory.by_category.end()) sum += it->second;
  return sum;
}

core::Result<step::StepResult> simulate(const work::Scenario& s, const device::Constants& constants,
                                        const ValidateOptions& options) {
  auto run = options.prepare(s);
  if (!run) return run.error();
  return (*run)(constants);
}

}  // namespace

std::vector<ReportRow> step_rows(const std::vector<Case>& cases, const device::Constants& constants, int threads) {
  std::vector<ReportRow> out(cases.size());
  const std::vector<device::Constants> own(static_cast<std::size_t>(std::max(1, threads)), constants);
  parallel_for(cases.size(), threads, [&](std::size_t i, int thread) {
    ReportRow& row = out[i] = described(cases[i]);
    if (!cases[i].run) return;
    const auto result = (*cases[i].run)(own[static_cast<std::size_t>(thread)]);
    if (!result) {
      row.skipped = "simulator: " + result.error().text();
      return;
    }
    row.predicted = result->step_time_s;
    row.error = row.predicted / row.measured - 1;
    row.fits = result->memory.fits;
    row.interval[0] = result->interval_s[0];
    row.interval[1] = result->interval_s[1];
    for (const std::string& line : result->assumed)
      if (std::find(row.assumed.begin(), row.assumed.end(), line) == row.assumed.end()) row.assumed.push_back(line);
  });
  return out;
}

std::vector<int> group_folds(const std::vector<Case>& cases) {
  std::vector<std::string> groups;
  for (const Case& c : cases) groups.push_back(c.row.file + "\n" + c.row.group);
  return make_folds(groups, kGroupFolds);
}

void add_null_errors(const std::vector<Case>& cases, const std::vector<int>& fold, std::vector<ReportRow>& rows) {
  std::vector<std::array<std::string, 3>> keys(cases.size());
  std::vector<double> rate(cases.size(), 0.0);  // FLOP/s of one accelerator
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!cases[i].row.scenario || !cases[i].row.measured_s) continue;
    const std::string& precision = cases[i].strata.at("precision");
    const std::string width = precision == "bf16" || precision == "fp16" || precision == "fp32" ? "16" : "8";
    const bool fsdp = cases[i].strata.at("strategy").find("fsdp") != std::string::npos;
    keys[i] = {cases[i].row.accelerator, cases[i].row.accelerator + width,
               cases[i].row.accelerator + width + (fsdp ? "s" : "")};
    rate[i] = model_flops(*cases[i].row.scenario) / (cases[i].row.world * *cases[i].row.measured_s);
  }
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (rate[i] <= 0 || cases[i].row.apart) continue;
    for (int level = 2; level >= -1; --level) {
      std::vector<double> known;
      for (std::size_t j = 0; j < cases.size(); ++j) {
        const bool same =
            level < 0 || keys[j][static_cast<std::size_t>(level)] == keys[i][static_cast<std::size_t>(level)];
        if (rate[j] > 0 && fold[j] != fold[i] && !cases[j].row.apart && same) known.push_back(rate[j]);
      }
      if (known.empty()) continue;
      rows[i].null_error = rate[i] / percentile(known, 0.5) - 1;
      break;
    }
  }
}

std::vector<ReportRow> memory_rows(const std::vector<Row>& rows, const device::Constants& constants,
                                   const ValidateOptions& options) {
  std::vector<ReportRow> out;
  for (const Row& source : rows) {
    if (source.kind != "memory" && source.kind != "memory_relative") continue;
    for (const MemoryCase& c : memory_cases(source, rows, options.stacks)) {
      ReportRow row;
      row.id = c.id, row.source = c.file + ".json", row.kind = "memory", row.metric = c.metric, row.unit = c.unit;
      row.measured = c.measured, row.skipped = c.skipped;
      if (c.scenario) {
        row.assumed = c.scenario->assumed;
        const auto result = simulate(*c.scenario, constants, options);
        const auto baseline = c.baseline ? simulate(*c.baseline, constants, options) : result;
        if (result && baseline) {
          const double activations = category(result->memory, {"activations"});
          if (c.metric == "params_optimizer") {
            row.predicted = category(result->memory, {"parameters", "gradients", "optimizer"}) / kGib;
          } else {
            row.predicted =
                c.unit == "%" ? 100 * activations / category(baseline->memory, {"activations"}) : activations / kGib;
          }
          row.error = row.predicted / row.measured - 1;
          row.fits = result->memory.fits;
        } else {
          row.skipped = "simulator: " + (result ? baseline.error() : result.error()).text();
        }
      }
      out.push_back(std::move(row));
    }
  }
  return out;
}

std::vector<ReportRow> peak_rows(const std::vector<Case>& cases, const device::Constants& constants, int threads) {
  std::vector<ReportRow> all(cases.size());
  const std::vector<device::Constants> own(static_cast<std::size_t>(std::max(1, threads)), constants);
  parallel_for(cases.size(), threads, [&](std::size_t i, int thread) {
    if (!cases[i].run || !cases[i].row.measured_peak_gib) return;
    ReportRow& row = all[i] = described(cases[i]);
    row.kind = "memory", row.metric = "peak", row.unit = "GiB";
    row.measured = *cases[i].row.measured_peak_gib;
    const auto result = (*cases[i].run)(own[static_cast<std::size_t>(thread)]);
    if (!result) {
      row.skipped = "simulator: " + result.error().text();
      return;
    }
    row.predicted = result->memory.peak_bytes / kGib;
    row.error = row.predicted / row.measured - 1;
    row.fits = result->memory.fits;
  });
  std::vector<ReportRow> out;
  for (ReportRow& row : all)
    if (!row.id.empty()) out.push_back(std::move(row));
  return out;
}

}  // namespace twin::validate
