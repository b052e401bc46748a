// Link faults of a regular cluster. A selector is KIND:PART/PART...; "*" stands for any part, parts left out at the end
// too:
//   nic:node17/3   nvlink:node17/3   leaf:4/uplink/2   agg:5/uplink/1   *
// Both directions of a match get its fraction; fractions of one link multiply and are rounded to a capacity once.
#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include "sim/core/json_reader.hpp"
#include "topologies/regular.hpp"

namespace twin::topo {
namespace {

using core::Error;
using core::ErrorCode;
using core::Result;

struct Selector {
  std::string kind;
  int first = -1, second = -1;  // -1: any
};

Result<int> part(std::string_view text, std::string_view prefix, const std::string& where,
                 const std::string& expected) {
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  if (text == "*") return -1;
  int v = 0;
  auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (problem != std::errc() || end != text.data() + text.size() || v < 0)
    return Error{ErrorCode::kParse, where, "expected " + expected + ", found \"" + std::string(text) + "\"", ""};
  return v;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const auto slash = text.find('/');
    parts.emplace_back(text.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    text.remove_prefix(slash + 1);
  }
}

const char* const kForms = "forms: nic:node17/3, nvlink:node17/3, leaf:4/uplink/2, agg:5/uplink/1; * for any part";

Result<Selector> parse(const std::string& match, const std::string& where) {
  if (match == "*") return Selector{"*"};
  const auto colon = match.find(':');
  Selector s{match.substr(0, colon)};
  const std::vector<std::string> kinds = {"nic", "nvlink", "leaf", "agg"};
  if (colon == std::string::npos || std::find(kinds.begin(), kinds.end(), s.kind) == kinds.end()) {
    const std::string close = core::nearest(s.kind, kinds);
    return Error{ErrorCode::kNotFound, where, "expected a link selector, found \"" + match + "\"",
                 (close.empty() ? "" : "did you mean \"" + close + ":...\"? ") + std::string(kForms)};
  }
  auto parts = split(std::string_view(match).substr(colon + 1));
  const bool tier = s.kind == "leaf" || s.kind == "agg";
  if (parts.size() > (tier ? 3U : 2U))
    return Error{ErrorCode::kParse, where, "expected a link selector, found \"" + match + "\" with too many parts",
                 kForms};
  if (tier && parts.size() > 1) {
    if (parts[1] != "uplink" && parts[1] != "*")
      return Error{ErrorCode::kParse, where, "expected \"uplink\" or \"*\", found \"" + parts[1] + "\"", kForms};
    parts.erase(parts.begin() + 1);
  }
  auto first = part(parts[0], tier ? "" : "node", where, tier ? "a number or *" : "nodeNUMBER or *");
  if (!first) return first.error();
  s.first = *first;
  if (parts.size() < 2) return s;
  auto second = part(parts[1], "", where, "a number or *");
  if (!second) return second.error();
  s.second = *second;
  return s;
}

// One block of links that come in pairs (out and back), laid out as `first` x `second`.
struct Block {
  int out, back, firsts, seconds, first_offset;
};

std::vector<Block> blocks(const Selector& s, const Layout& at, const std::vector<Group>& groups) {
  std::vector<Block> found;
  const bool any = s.kind == "*";
  for (const auto& g : groups) {
    if (any || s.kind == "nvlink")
      found.push_back(
          {at.egress + g.first_device, at.ingress + g.first_device, g.nodes, g.kind.per_node, g.first_node});
    if (any || s.kind == "nic")
      found.push_back({at.tx + g.first_nic, at.rx + g.first_nic, g.nodes, g.bundles, g.first_node});
  }
  if ((any || s.kind == "leaf") && at.spines > 0) found.push_back({at.up, at.down, at.leaves, at.spines, 0});
  if ((any || s.kind == "agg") && at.cores > 0)
    found.push_back({at.agg_up, at.agg_down, at.pods * at.spines, at.cores, 0});
  return found;
}

std::string ranges(const std::string& kind, const std::vector<Block>& found) {
  if (found.empty()) return "this fabric has no " + kind + " links";
  int firsts = 0, seconds = 0;
  for (const auto& b : found) {
    firsts = std::max(firsts, b.first_offset + b.firsts);
    seconds = std::max(seconds, b.seconds);
  }
  const bool tier = kind == "leaf" || kind == "agg";
  return fmt::format("valid: {}:{}0..{}/{}0..{}", kind, tier ? "" : "node", firsts - 1, tier ? "uplink/" : "",
                     seconds - 1);
}

bool multiply(const Block& b, const Selector& s, double by, std::vector<double>& factor) {
  const int f0 = s.first < 0 ? 0 : s.first - b.first_offset, f1 = s.first < 0 ? b.firsts : f0 + 1;
  const int s0 = std::max(s.second, 0), s1 = s.second < 0 ? b.seconds : s0 + 1;
  if (f0 < 0 || f1 > b.firsts || s1 > b.seconds) return false;
  for (int f = f0; f < f1; ++f)
    for (int k = s0; k < s1; ++k)
      for (const int link : {b.out + f * b.seconds + k, b.back + f * b.seconds + k})
        factor[static_cast<std::size_t>(link)] *= by;
  return true;
}

}  // namespace

Result<void> Regular::apply(const std::vector<LinkFault>& faults, const std::string&) {
  if (faults.empty()) return {};
  auto sorted = faults;  // products must not depend on the order of the list
  std::sort(sorted.begin(), sorted.end(), [](const LinkFault& a, const LinkFault& b) {
    return a.capacity != b.capacity ? a.capacity < b.capacity : a.match < b.match;
  });
  std::vector<double> factor(capacity_.size(), 1);
  for (const auto& fault : sorted) {
    const std::string where = "faults: link \"" + fault.match + "\"";
    if (!(fault.capacity >= 0 && fault.capacity <= 1))
      return Error{ErrorCode::kRange, where, fmt::format("expected a capacity in 0..1, found {:g}", fault.capacity),
                   ""};
    auto selector = parse(fault.match, where);
    if (!selector) return selector.error();
    const auto found = blocks(*selector, at_, groups_);
    bool any = false;
    for (const auto& b : found) any = multiply(b, *selector, fault.capacity, factor) || any;
    if (!any)
      return Error{ErrorCode::kNotFound, where, "expected a selector that matches a link, found one that matches none",
                   ranges(selector->kind, found)};
  }
  for (std::size_t i = 0; i < factor.size(); ++i) {
    if (factor[i] == 1) continue;
    healthy_ = false;
    const auto left = static_cast<std::int64_t>(std::llround(static_cast<double>(capacity_[i]) * factor[i]));
    capacity_[i] = factor[i] > 0 ? std::max<std::int64_t>(left, 1) : 0;
  }
  return {};
}

}  // namespace twin::topo
