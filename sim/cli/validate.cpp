// traintwin validate [ROWS.json...]: predicts measured runs and says how wrong the predictions are.
#include "validate/validate.hpp"
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include "sim/cli/command.hpp"
#include "sim/core/json_reader.hpp"
#include "sim/report/step_json.hpp"
#include "validate/compact.hpp"

namespace twin::cli {
namespace {

using core::Error;
using core::ErrorCode;
using core::Result;

struct Options {
  std::vector<std::string> files;
  std::string calibration, write_calibration, record, compact;
  int threads = 2;
  bool json = false, gate = false, cross_validate = false, quiet = false;
};

Result<std::vector<validate::Row>> read_rows(const Options& o) {
  if (o.files.empty()) return validate::embedded_rows();
  std::vector<validate::Row> rows;
  for (const auto& file : o.files) {
    auto some = validate::read_rows(file);
    if (!some) return some.error();
    rows.insert(rows.end(), std::make_move_iterator(some->begin()), std::make_move_iterator(some->end()));
  }
  return rows;
}

Result<void> write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  if (!(out << text) || !out.flush()) return Error{ErrorCode::kUsage, path, "cannot be written", ""};
  return {};
}

// Maintenance of validate/published: each file of rows in the compact form.
Result<Output> compact(const Options& o) {
  for (const auto& file : o.files) {
    const auto text = core::read_file(file);
    if (!text) return text.error();
    const auto small = validate::compact_rows(*text, file, validate::stack_catalog());
    if (!small) return small.error();
    if (small->empty()) continue;
    const auto path = std::filesystem::path(o.compact) / std::filesystem::path(file).filename();
    if (auto written = write_file(path.string(), *small); !written) return written.error();
    std::fprintf(stderr, "traintwin: wrote %s\n", path.string().c_str());
  }
  return Output{};
}

Result<Output> finish(const Options& o, const validate::ValidationReport& report, const Process& process) {
  Output out;
  if (!o.record.empty())
    if (auto written = write_file(o.record, validate::record(report).dump(1) + "\n"); !written) return written.error();
  std::vector<std::string> violations;
  if (o.gate) violations = validate::gate(report);
  for (const auto& v : violations) std::fprintf(stderr, "traintwin: gate: %s\n", v.c_str());
  if (!violations.empty()) out.exit = kAnswerIsNo;
  if (!o.json) {
    out.text = validate::to_text(report);
    if (o.gate)
      out.text +=
          violations.empty() ? "gate: passed\n" : "gate: " + std::to_string(violations.size()) + " violations\n";
    return out;
  }
  auto object = validate::to_json(report);
  object["schema_version"] = report::kSchemaVersion;
  if (o.gate) object["gate"] = {{"passed", violations.empty()}, {"violations", violations}};
  object["wall_s"] = process.wall_s();
  object["peak_rss_bytes"] = process.peak_rss_bytes();
  out.text = object.dump(2) + "\n";
  return out;
}

Result<Output> run(const Options& o, const Process& process) {
  if (o.threads < 1 || o.threads > 1024)
    return Error{ErrorCode::kRange, "--threads", "expected 1 to 1024, found " + std::to_string(o.threads), ""};
  if (!o.compact.empty()) return compact(o);
  auto constants = o.calibration.empty() ? Result<device::Constants>(device::Constants::builtin())
                                         : device::load_calibration(o.calibration);
  if (!constants) return constants.error();
  const auto rows = read_rows(o);
  if (!rows) return rows.error();
  validate::ValidateOptions options;
  options.threads = o.threads;
  if (!o.quiet)
    options.progress = [](const std::string& line) { std::fprintf(stderr, "traintwin: %s\n", line.c_str()); };
  if (!o.cross_validate && o.write_calibration.empty())
    return finish(o, validate::validate(*rows, *constants, options), process);
  auto crossed = validate::cross_validated(*rows, *constants, options);
  if (!crossed) return crossed.error();
  if (!o.write_calibration.empty())
    if (auto written = write_file(o.write_calibration, crossed->json.dump(1) + "\n"); !written) return written.error();
  return finish(o, crossed->report, process);
}

}  // namespace

Command add_validate(CLI::App& root, const Process& process) {
  CLI::App* app =
      root.add_subcommand("validate", "predict measured runs; error by file, accelerator, strategy, scale, precision");
  auto o = std::make_shared<Options>();
  app->add_option("ROWS", o->files, "files of measured rows; default: the published runs in the binary");
  app->add_flag("--json", o->json, "one JSON object on stdout");
  app->add_flag("--gate", o->gate, "exit 1 when a recorded figure got worse by more than its slack");
  app->add_flag("--cross-validate", o->cross_validate, "refit; add leave-group-out and leave-file-out errors");
  app->add_option("--calibration", o->calibration, "constants from this file")->type_name("FILE");
  app->add_option("--write-calibration", o->write_calibration, "refit and write the constants")->type_name("OUT");
  app->add_option("--record", o->record, "write the figures that --gate compares with")->type_name("OUT");
  app->add_option("--compact", o->compact, "only rewrite ROWS in the compact form into this folder")
      ->type_name("FOLDER");
  app->add_option("--threads", o->threads, "worker threads; the result does not depend on it")
      ->type_name("N")
      ->capture_default_str();
  app->add_flag("--quiet", o->quiet, "no progress on stderr");
  return {app, [o, &process] { return run(*o, process); }};
}

}  // namespace twin::cli
