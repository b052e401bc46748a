// traintwin catalog [list [KIND] | show [KIND] NAME | schema]: what names there are and what they stand for.
#include "workloads/catalog.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <memory>
#include "sim/cli/command.hpp"
#include "sim/cli/usage.hpp"
#include "sim/report/step_json.hpp"
#include "topologies/cluster.hpp"
#include "workloads/scenario_reader.hpp"

namespace twin::cli {
namespace {

using core::Error;
using core::ErrorCode;
using core::Result;
using Words = std::vector<std::string>;

const Words kTopologyKinds = {"accelerators", "nodes", "fabrics", "clusters"};
const Words kWorkloadKinds = {"models", "stacks", "scenarios"};
constexpr std::size_t kLineWidth = 100;

bool is_topology(const std::string& kind) {
  return std::find(kTopologyKinds.begin(), kTopologyKinds.end(), kind) != kTopologyKinds.end();
}

Words kinds() {
  Words all = kTopologyKinds;
  all.insert(all.end(), kWorkloadKinds.begin(), kWorkloadKinds.end());
  return all;
}

Words names(const std::string& kind) {
  return is_topology(kind) ? topo::catalog_names(kind) : work::catalog_names(kind);
}
Result<std::string> entry(const std::string& kind, const std::string& name) {
  return is_topology(kind) ? topo::catalog_json(kind, name) : work::catalog_json(kind, name);
}

std::string wrapped(const Words& words) {
  std::string out, line = "  ";
  for (const auto& word : words) {
    if (line.size() + word.size() + 2 > kLineWidth) {
      out += line + "\n";
      line = "  ";
    }
    line += (line.size() > 2 ? "  " : "") + word;
  }
  return out + line + "\n";
}

Result<Output> list(const Words& words, bool json) {
  Words chosen = kinds();
  if (words.size() > 1) {
    const auto kind = pick("catalog list", words[1], kinds());
    if (!kind) return kind.error();
    chosen = {chosen[*kind]};
  }
  nlohmann::ordered_json object = {{"schema_version", report::kSchemaVersion}};
  std::string text;
  for (const auto& kind : chosen) {
    object[kind] = names(kind);
    text += kind + "\n" + wrapped(names(kind));
  }
  return Output{json ? object.dump(2) + "\n" : text, kDone};
}

// A name alone is looked for in every kind; one that several have needs its kind.
Result<Output> show(const Words& words) {
  if (words.size() < 2)
    return Error{ErrorCode::kUsage, "catalog show", "expected a name, found nothing",
                 "traintwin catalog list shows them"};
  Words chosen = kinds();
  if (words.size() > 2) {
    const auto kind = pick("catalog show", words[1], kinds());
    if (!kind) return kind.error();
    chosen = {chosen[*kind]};
  }
  const std::string& name = words.back();
  Words all, found_in;
  std::string text;
  for (const auto& kind : chosen) {
    for (const auto& n : names(kind)) all.push_back(n);
    if (auto json = entry(kind, name)) {
      text = *json;
      found_in.push_back(kind);
    }
  }
  if (found_in.empty()) {
    Error error = unknown_name("catalog show", "a catalog name", name, all);
    error.message = "expected a catalog name, found '" + name + "'";
    if (error.hint.empty()) error.hint = "traintwin catalog list shows them";
    return error;
  }
  if (found_in.size() > 1)
    return Error{ErrorCode::kUsage, "catalog show",
                 "expected a kind before '" + name + "', which is in " + joined(found_in),
                 "traintwin catalog show " + found_in.front() + " " + name};
  if (text.empty() || text.back() != '\n') text += '\n';
  return Output{text, kDone};
}

Result<Output> run(const Words& words, bool json) {
  const std::string verb = words.empty() ? "list" : words.front();
  const auto which = pick("catalog", verb, {"list", "show", "schema"});
  if (!which) return which.error();
  const std::size_t limits[] = {2, 3, 1};
  if (words.size() > limits[*which])
    return Error{ErrorCode::kUsage, "catalog " + verb, "expected no further argument, found '" + words.back() + "'",
                 ""};
  if (verb == "list") return list(words, json);
  if (verb == "show") return show(words);
  return Output{work::scenario_schema().dump(2) + "\n", kDone};
}

}  // namespace

Command add_catalog(CLI::App& root, const Process&) {
  CLI::App* app =
      root.add_subcommand("catalog", "names of accelerators, nodes, fabrics, clusters, models, stacks, scenarios");
  auto words = std::make_shared<Words>();
  auto json = std::make_shared<bool>(false);
  app->add_option("WHAT", *words,
                  "list [KIND], show [KIND] NAME, or schema (JSON Schema of a scenario); default: list");
  app->add_flag("--json", *json, "list as one JSON object");
  app->footer("A folder of your own comes first: $TRAINTWIN_CATALOG/<kind>/NAME.json");
  return {app, [words, json] { return run(*words, *json); }};
}

}  // namespace twin::cli
