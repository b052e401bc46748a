// The text of `traintwin step --explain`; see the header.
#include "sim/report/explain.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <tuple>
#include "sim/report/critical_path.hpp"
#include "sim/report/format.hpp"
#include "sim/report/names.hpp"
#include "sim/report/table.hpp"

namespace twin::report {
namespace {

struct Share {
  std::int64_t ns = 0, count = 0;
};

std::string class_label(const step::StepResult& r, std::int32_t rank) {
  const auto at = static_cast<std::size_t>(rank);
  return at < r.class_rows.size() && !r.class_rows[at].name.empty() ? r.class_rows[at].name
                                                                    : fmt::format("class {}", rank);
}

double seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

// (class, category, op name) of a segment; gaps are what the host had not issued yet.
std::tuple<std::int32_t, std::string, std::string> key_of(const step::StepResult& r, const PathSegment& s) {
  if (s.op < 0) return {s.rank, "host", "waiting to be issued"};
  const auto& p = (*r.programs)[static_cast<std::size_t>(r.system->program[static_cast<std::size_t>(s.rank)])];
  const auto& op = p.ops[static_cast<std::size_t>(s.op)];
  const auto body = static_cast<std::size_t>(op.body);
  const std::int32_t name = op.type == step::OpType::kComm ? p.comms[body].name : p.bundles[body].name;
  return {s.rank, category_name(op.category), p.names[static_cast<std::size_t>(name)]};
}

template <class Key>
std::vector<std::pair<Key, Share>> longest_first(const std::map<Key, Share>& shares) {
  std::vector<std::pair<Key, Share>> sorted(shares.begin(), shares.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.ns > b.second.ns; });
  return sorted;
}

}  // namespace

std::string explain_critical_path(const step::StepResult& result, std::size_t rows) {
  const auto path = critical_path(result);
  if (path.empty()) return "empty\n";
  std::map<std::tuple<std::int32_t, std::string, std::string>, Share> shares;
  std::map<std::string, Share> categories;
  std::int64_t total = 0, hops = 0;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const auto key = key_of(result, path[i]);
    for (Share* s : {&shares[key], &categories[std::get<1>(key)]}) s->ns += path[i].length(), ++s->count;
    total += path[i].length();
    if (i && path[i].rank != path[i - 1].rank) ++hops;
  }
  std::string out =
      fmt::format("{} ops, {} changes of class, {}:", format_count(static_cast<std::int64_t>(path.size())),
                  format_count(hops), format_seconds(seconds(total)));
  const double whole = std::max(1.0, static_cast<double>(total));
  for (const auto& [category, s] : longest_first(categories))
    out += fmt::format(" {} {}", category, format_percent(static_cast<double>(s.ns) / whole));
  out += "\n";
  Table table({"time", "share", "ops", "kind", "op", "class"}, "rrrlll");
  Share rest;
  for (const auto& [key, s] : longest_first(shares)) {
    if (table.rows() == rows) {
      rest.ns += s.ns;
      rest.count += s.count;
      continue;
    }
    table.add({format_seconds(seconds(s.ns)), format_percent(static_cast<double>(s.ns) / whole), format_count(s.count),
               std::get<1>(key), std::get<2>(key), class_label(result, std::get<0>(key))});
  }
  if (rest.count)
    table.add({format_seconds(seconds(rest.ns)), format_percent(static_cast<double>(rest.ns) / whole),
               format_count(rest.count), "", "all others", ""});
  return out + table.text();
}

std::string explain_exposure(const step::StepResult& result) {
  Table table({"communication", "ops", "in flight", "hidden by compute", "exposed", "waiting for peers"}, "l");
  for (const Exposure& e : exposures(result, result.critical_class))
    table.add({category_name(e.category), format_count(e.ops), format_seconds(seconds(e.busy)),
               format_seconds(seconds(e.hidden)), format_seconds(seconds(e.exposed())),
               format_seconds(seconds(e.waiting))});
  if (!table.rows()) return "no communication on " + class_label(result, result.critical_class) + "\n";
  return "on " + class_label(result, result.critical_class) + "\n" + table.text();
}

std::string explain_constants(const device::Constants& constants) {
  Table table({"constant", "value", "unit", "level", "prior", "source"}, "lrllrl");
  for (const int i : constants.used()) {
    const device::Constant& c = constants.all()[static_cast<std::size_t>(i)];
    table.add({c.name, format_digits(c.value, 4), c.unit, std::string(1, c.level),
               c.value == c.prior ? "=" : format_digits(c.prior, 4), c.source});
  }
  return table.rows() ? table.text() : "none were read\n";
}

std::string explain(const step::StepResult& result, const device::Constants& constants) {
  std::string out;
  const auto part = [&](const std::string& heading, const std::string& text) {
    out += "\n" + heading + "\n" + text + (text.empty() || text.back() != '\n' ? "\n" : "");
  };
  if (result.system && result.programs && result.timeline) {
    part("Critical path", explain_critical_path(result));
    part("Communication", explain_exposure(result));
  }
  const bool tracked = !constants.used().empty();
  for (const auto& [heading, text] : result.explain)
    if (!tracked || heading != "constants used") part(heading, text);  // the table below says more
  part("Constants (level A accelerator, B kernel, C software stack, D mechanism, E fabric)",
       explain_constants(constants));
  return out;
}

}  // namespace twin::report
