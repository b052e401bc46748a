// traintwin step [SCENARIO]: simulates one training step and prints it.
#include "sim/step/step.hpp"
#include <fmt/format.h>
#include <cstdio>
#include <memory>
#include "sim/cli/command.hpp"
#include "sim/cli/scenario_args.hpp"
#include "sim/cli/usage.hpp"
#include "sim/report/explain.hpp"
#include "sim/report/format.hpp"
#include "sim/report/perfetto_trace.hpp"
#include "sim/report/step_json.hpp"
#include "sim/report/step_summary.hpp"
#include "workloads/scenario_reader.hpp"

namespace twin::cli {
namespace {

struct Options {
  ScenarioArgs scenario;
  std::string calibration, trace, html, fold = "on", jitter = "on", merge = "auto", network = "fluid";
  std::uint64_t seed = 1;
  bool json = false, explain = false, print_scenario = false, stats = false;
};

core::Result<step::StepOptions> step_options(const Options& o) {
  step::StepOptions options;
  const auto fold = pick("--fold", o.fold, {"on", "off"});
  const auto jitter = pick("--jitter", o.jitter, {"on", "off", "sample"});
  const auto merge = pick("--merge", o.merge, {"auto", "off"});
  const auto network = pick("--network", o.network, {"fluid", "flows", "simgrid"});
  for (const auto* choice : {&fold, &jitter, &merge, &network})
    if (!*choice) return choice->error();
  if (o.network == "simgrid")
    return core::Error{core::ErrorCode::kUnsupported, "--network", "expected fluid or flows, found 'simgrid'",
                       "SimGrid is the referee of the tests in this version"};
  options.jitter = *jitter != 1;
  options.sample_jitter = *jitter == 2;
  options.fold = *fold == 0 && !options.sample_jitter;
  options.merge = *merge == 0 ? step::MergeMode::kAuto : step::MergeMode::kOff;
  options.network = o.network;
  options.seed = o.seed;
  options.record = true;  // the breakdown is read off the timeline
  return options;
}

void print_stats(const step::StepResult& r, double read_s, double simulate_s, const Process& process) {
  std::fprintf(stderr, "ranks %s, classes %s, events %s\n", report::format_count(r.ranks).c_str(),
               report::format_count(r.classes).c_str(), report::format_count(r.events).c_str());
  if (r.timeline) {
    const auto& s = r.timeline->stats;
    std::fprintf(stderr, "ops %s, fluid solves %s, activities solved %s\n", report::format_count(s.ops).c_str(),
                 report::format_count(s.solves).c_str(), report::format_count(s.activities_solved).c_str());
  }
  std::fprintf(stderr, "read %s, simulate %s, events per second %s, peak memory %s\n",
               report::format_seconds(read_s).c_str(), report::format_seconds(simulate_s).c_str(),
               report::format_si(static_cast<double>(r.events) / (simulate_s > 0 ? simulate_s : 1)).c_str(),
               report::format_bytes(static_cast<double>(process.peak_rss_bytes())).c_str());
}

core::Result<void> write_trace(const Options& o, const step::StepResult& result, const work::Scenario& scenario) {
  report::TraceOptions options;
  options.job = scenario.model.name.empty() ? "traintwin step" : scenario.model.name;
  for (const auto& samples : result.memory_samples) {
    options.memory.emplace_back();
    for (const auto& [time_ns, bytes] : samples) options.memory.back().push_back({time_ns, bytes});
  }
  const auto stats = report::write_perfetto(result, o.trace, options);
  if (!stats) return stats.error();
  std::fprintf(stderr, "traintwin: wrote %s: %s slices of %s classes, %s\n", o.trace.c_str(),
               report::format_count(stats->slices).c_str(), report::format_count(stats->classes_written).c_str(),
               report::format_bytes(static_cast<double>(stats->bytes)).c_str());
  if (stats->classes_left_out)
    std::fprintf(stderr, "traintwin: %s classes are left out of the trace, evenly, to keep it readable\n",
                 report::format_count(stats->classes_left_out).c_str());
  return {};
}

core::Result<Output> simulate(const Options& o, const work::Scenario& scenario, const step::StepOptions& options,
                              const Process& process) {
  auto constants = o.calibration.empty() ? core::Result<device::Constants>(device::Constants::builtin())
                                         : device::load_calibration(o.calibration);
  if (!constants) return constants.error();
  constants->start_tracking();
  const double read_s = process.wall_s();
  const auto result = step::simulate_step(scenario, options, *constants);
  if (!result) return result.error();
  const double simulate_s = process.wall_s() - read_s;
  if (!o.trace.empty())
    if (auto written = write_trace(o, *result, scenario); !written) return written.error();
  if (o.stats) print_stats(*result, read_s, simulate_s, process);
  Output out{{}, result->memory.fits ? kDone : kAnswerIsNo};
  if (!result->memory.fits)
    std::fprintf(stderr, "traintwin: does not fit in memory: %s\n", result->memory.advice.c_str());
  if (o.json) {
    auto object = report::step_json(*result, {});
    if (o.explain) object["explain"] = report::explain(*result, *constants);
    object["wall_s"] = process.wall_s();
    object["peak_rss_bytes"] = process.peak_rss_bytes();
    out.text = object.dump(2) + "\n";
    return out;
  }
  out.text = report::step_summary(*result, scenario);
  if (o.explain) out.text += report::explain(*result, *constants);
  out.text += fmt::format("{} wall time, {} peak memory\n", report::format_seconds(process.wall_s()),
                          report::format_bytes(static_cast<double>(process.peak_rss_bytes())));
  return out;
}

core::Result<Output> run(const Options& o, const Process& process) {
  if (!o.html.empty())
    return core::Error{core::ErrorCode::kUnsupported, "--html", "HTML reports are not in this version",
                       "--trace writes a Perfetto trace"};
  const auto options = step_options(o);
  if (!options) return options.error();
  const auto scenario = read_scenario_args(o.scenario);
  if (!scenario) return scenario.error();
  if (o.print_scenario) {
    if (auto sound = check_on_cluster(*scenario); !sound) return sound.error();
    return Output{work::scenario_to_json(*scenario).dump(2) + "\n", kDone};
  }
  return simulate(o, *scenario, *options, process);
}

}  // namespace

Command add_step(CLI::App& root, const Process& process) {
  CLI::App* app = root.add_subcommand("step", "simulate one training step: time, MFU, memory, where the time goes");
  auto o = std::make_shared<Options>();
  app->footer(
      "Examples:\n"
      "  traintwin step run.json --set parallel.tp=4 --set batch.micro=2\n"
      "  traintwin step --megatron pretrain.sh --cluster dgx-h100x64 --json\n"
      "Exit 1: the model does not fit in memory; the result is still printed.");
  add_scenario_args(*app, o->scenario);
  app->add_option("--calibration", o->calibration, "constants from this file")->type_name("FILE")->check(not_empty);
  app->add_flag("--json", o->json, "one JSON object on stdout");
  app->add_flag("--explain", o->explain, "critical path, exposed communication, constants and their sources");
  app->add_flag("--print-scenario", o->print_scenario, "the effective scenario as JSON; nothing is simulated");
  app->add_option("--trace", o->trace, "write a Perfetto trace (ui.perfetto.dev)")->type_name("OUT")->check(not_empty);
  app->add_option("--html", o->html, "write an HTML report (not in this version)")->type_name("OUT");
  app->add_option("--fold", o->fold, "off: simulate every rank, not one per class")
      ->type_name("on|off")
      ->capture_default_str();
  app->add_option("--jitter", o->jitter, "sample: draw noise per rank instead of expected maxima")
      ->type_name("on|off|sample")
      ->capture_default_str();
  app->add_option("--merge", o->merge, "off: keep ops apart that no other stream can see")
      ->type_name("auto|off")
      ->capture_default_str();
  app->add_option("--network", o->network, "flows: expand collectives into messages")
      ->type_name("fluid|flows|simgrid")
      ->capture_default_str();
  app->add_option("--seed", o->seed, "of --jitter sample")->type_name("N")->check(not_negative)->capture_default_str();
  app->add_flag("--stats", o->stats, "counts and times of the simulation, on stderr");
  return {app, [o, &process] { return run(*o, process); }};
}

}  // namespace twin::cli
