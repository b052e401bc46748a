// Speed and memory of whole steps at the sizes that the README names, one JSON line a case, in one process a case so
// that peaks are its own. cpu_s counts; wall_s is noisy where cores are shared.
//   bench_step_scale [CASE...]   no case: all; list: their names. meets_target: within the ceilings that are promised.
//   bench_step_scale --smoke     the short cases against what was recorded for an optimised build on one core of a
//                                2020s server: no more than kSlackTime times the CPU time, kSlackMemory times the peak
//                                memory, and no more classes. 1 if one is over: a lost fold, a solve gone quadratic or
//                                a leak is, a busy machine is not.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>
#include "sim/step/step.hpp"
#include "workloads/scenario_reader.hpp"

using namespace twin;
using nlohmann::json;

namespace {

double clock_s(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double peak_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

struct Ceiling {  // 0: none
  double cpu_s = 0, mb = 0, steps_per_s = 0;
};

constexpr double kSlackTime = 3, kSlackMemory = 1.6;

struct Recorded {  // of one preparation and one run; cpu_s of 0: not in the smoke test
  double cpu_s = 0, mb = 0;
  std::int64_t classes = 0;
};

struct Case {
  std::string name;
  std::function<json()> scenario;
  step::StepOptions options;
  int runs = 1;  // of run_step; prepared once
  Ceiling ceiling;
  Recorded recorded;
};

json llama(int nodes) {
  auto s = *work::load_scenario_json("");
  s["cluster"]["nodes"] = nodes;
  s["batch"]["global"] = nodes * 8 / 8;
  return s;
}

json with_slow(json s, int count, unsigned seed, double most = 1.5) {
  std::mt19937_64 random(seed);
  const auto ranks = s["cluster"]["nodes"].get<std::uint64_t>() * 8;
  for (int i = 0; i < count; ++i) {
    const auto rank = static_cast<std::uint64_t>(count) == ranks ? static_cast<std::uint64_t>(i) : random() % ranks;
    const double factor = 1.0001 + (most - 1) * static_cast<double>(random() % 10000) / 10000;
    s["faults"].push_back({{"slow", {{"rank", rank}, {"factor", factor}}}});
  }
  return s;
}

json with_weak_nics(json s, int count, unsigned seed) {
  std::mt19937_64 random(seed);
  const auto nodes = s["cluster"]["nodes"].get<std::uint64_t>();
  for (int i = 0; i < count; ++i)
    s["faults"].push_back(
        {{"link", {{"match", fmt::format("nic:node{}/{}", random() % nodes, random() % 8)}, {"capacity", 0.5}}}});
  return s;
}

json gpt3(int global) {
  return {{"model", "gpt3-175b"},
          {"cluster", {{"node", "dgx-a100"}, {"nodes", 64}}},
          {"parallel", {{"tp", 8}, {"pp", 8}, {"dp", 8}}},
          {"batch", {{"global", global}, {"micro", 1}, {"seq", 2048}}}};
}

json ecmp(json s) {
  s["cluster"]["routing"] = "ecmp";
  return s;
}

std::vector<Case> cases() {
  const step::StepOptions merged{}, per_op{.merge = step::MergeMode::kOff};
  return {
      {"llama_16k", [] { return llama(2048); }, per_op, 1, {0.5, 200, 0}, {0.075, 29, 16}},
      {"llama_16k_slow10", [] { return with_slow(llama(2048), 10, 5); }, per_op, 1, {1, 500, 0}, {1.05, 29, 1408}},
      {"llama_16k_nic10", [] { return with_weak_nics(llama(2048), 10, 6); }, per_op, 1, {1, 500, 0}},
      {"llama_16k_slow10_nic10", [] { return with_weak_nics(with_slow(llama(2048), 10, 5), 10, 6); }, per_op, 1, {}},
      {"llama_131k", [] { return llama(16384); }, per_op, 1, {1.5, 500, 0}},
      {"llama_131k_slow10", [] { return with_slow(llama(16384), 10, 5); }, per_op, 1, {}},
      {"llama_131k_nic10", [] { return with_weak_nics(llama(16384), 10, 6); }, per_op, 1, {}},
      {"llama_1k_ecmp", [] { return ecmp(llama(128)); }, per_op, 1, {}},
      {"llama_2k_none_alike", [] { return with_slow(llama(256), 2048, 7, 1.05); }, per_op, 1, {}, {2.5, 33, 2048}},
      {"llama_4k_none_alike", [] { return with_slow(llama(512), 4096, 7, 1.05); }, per_op, 1, {}},
      {"llama_16k_none_alike", [] { return with_slow(llama(2048), 16384, 7, 1.05); }, per_op, 1, {60, 4096, 0}},
      {"gpt3_512", [] { return gpt3(1536); }, per_op, 20, {0, 0, 5}},
      {"gpt3_512_merged", [] { return gpt3(1536); }, merged, 100, {0, 0, 50}, {0.0045, 6, 8}},
  };
}

json run_step_case(const Case& c) {
  const double wall = clock_s(CLOCK_MONOTONIC), begin = clock_s(CLOCK_PROCESS_CPUTIME_ID);
  const auto fail = [&](const core::Error& e) { return json{{"case", c.name}, {"error", e.text()}}; };
  const auto scenario = work::scenario_from_json(c.scenario(), c.name);
  if (!scenario) return fail(scenario.error());
  const auto prepared = step::prepare_step(*scenario, c.options);
  if (!prepared) return fail(prepared.error());
  const double ready = clock_s(CLOCK_PROCESS_CPUTIME_ID);
  step::StepResult last;
  for (int i = 0; i < c.runs; ++i) {
    auto r = step::run_step(**prepared, device::Constants::builtin());
    if (!r) return fail(r.error());
    last = std::move(*r);
  }
  const double end = clock_s(CLOCK_PROCESS_CPUTIME_ID), run_s = (end - ready) / c.runs;
  json out = {{"case", c.name},
              {"ranks", last.ranks},
              {"classes", last.classes},
              {"step_s", last.step_time_s},
              {"prepare_cpu_s", ready - begin},
              {"run_cpu_s", run_s},
              {"cpu_s", ready - begin + run_s},
              {"wall_s", clock_s(CLOCK_MONOTONIC) - wall},
              {"events", last.events},
              {"events_per_s", static_cast<double>(last.events) / run_s},
              {"steps_per_s", 1 / run_s},
              {"peak_mb", peak_mb()}};
  const auto& most = c.ceiling;
  bool ok = true;
  if (most.cpu_s > 0) ok = ok && out["cpu_s"] <= most.cpu_s;
  if (most.mb > 0) ok = ok && out["peak_mb"] <= most.mb;
  if (most.steps_per_s > 0) ok = ok && out["steps_per_s"] >= most.steps_per_s;
  if (most.cpu_s + most.mb + most.steps_per_s > 0) out["meets_target"] = ok;
  return out;
}

// The line of a smoke case, told whether it holds to what was recorded.
json compared(json line, const Recorded& was) {
  if (line.contains("error")) return line;
  line["cpu_of_recorded"] = line["cpu_s"].get<double>() / was.cpu_s;
  line["mb_of_recorded"] = line["peak_mb"].get<double>() / was.mb;
  line["holds"] = line["cpu_of_recorded"] <= kSlackTime && line["mb_of_recorded"] <= kSlackMemory &&
                  line["classes"].get<std::int64_t>() <= was.classes;
  return line;
}

// Runs in a child, so that its peak memory is its own; prints its line. True: it exited with 0.
bool apart(const std::function<bool()>& body) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const bool ok = body();
    std::fflush(stdout);
    _exit(ok ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool show(const json& line) {
  std::printf("%s\n", line.dump().c_str());
  return !line.contains("error");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  bool ok = true;
  for (const auto& c : cases()) {
    const bool smoke = first == "--smoke" && c.recorded.cpu_s > 0;
    bool wanted = argc == 1 || smoke;
    for (int i = 1; i < argc; ++i) wanted = wanted || c.name == argv[i];
    if (first == "list")
      std::printf("%s\n", c.name.c_str());
    else if (wanted)
      ok = apart([&] {
             const auto line = smoke ? compared(run_step_case(c), c.recorded) : run_step_case(c);
             return show(line) && line.value("holds", true);
           }) &&
           ok;
  }
  return ok ? 0 : 1;
}
