// The gate: figures recorded with a release; a later one may not be worse by more than the slack.
#include <fmt/format.h>
#include <cmath>
#include "sim/core/embedded.hpp"
#include "validate/validate.hpp"

namespace twin::validate {
namespace {

using nlohmann::json;

constexpr double kSlack = 0.005;  // of a fraction: half a point
constexpr int kSmallest = 4;      // strata with fewer rows are not recorded

json figures(const Summary& s) {
  const auto rounded = [](double x) { return std::round(x * 1e4) / 1e4; };
  return {{"count", s.errors.count}, {"median", rounded(s.errors.median)}, {"p90", rounded(s.errors.p90)}};
}

std::map<std::string, const Summary*> named(const ValidationReport& report) {
  std::map<std::string, const Summary*> out;
  out["all"] = &report.all;
  for (const auto& [name, s] : report.files) out["file " + name] = &s;
  for (const auto& [name, s] : report.memory) out["memory " + name] = &s;
  for (const auto& [dimension, values] : report.strata)
    for (const auto& [value, s] : values) out[dimension + " " + value] = &s;
  return out;
}

}  // namespace

json record(const ValidationReport& report) {
  json out = {{"slack", kSlack}, {"figures", json::object()}};
  for (const auto& [name, s] : named(report))
    if (s->errors.count >= kSmallest) out["figures"][name] = figures(*s);
  return out;
}

std::vector<std::string> gate(const ValidationReport& report, const json& recorded) {
  std::vector<std::string> out;
  const double slack = recorded.value("slack", kSlack);
  const auto current = named(report);
  for (const auto& [name, then] : recorded.at("figures").items()) {
    const auto it = current.find(name);
    if (it == current.end()) continue;  // other rows than the recorded ones were given
    const ErrorStats& now = it->second->errors;
    const int count = then.at("count").get<int>();
    if (now.count < count) out.push_back(fmt::format("{}: {} rows predicted, {} recorded", name, now.count, count));
    if (now.count != count) continue;
    for (const auto& [key, value] : {std::pair{"median", now.median}, {"p90", now.p90}})
      if (const double limit = then.at(key).get<double>() + slack; value > limit)
        out.push_back(fmt::format("{}: {} |error| {:.2f} %, recorded {:.2f} % (+ {:.2f})", name, key, 100 * value,
                                  100 * then.at(key).get<double>(), 100 * slack));
  }
  return out;
}

std::vector<std::string> gate(const ValidationReport& report) {
  const auto text = core::embedded("validate/published/recorded.json");
  if (text.empty()) return {"no recorded figures (validate/published/recorded.json)"};
  return gate(report, json::parse(text));
}

}  // namespace twin::validate
