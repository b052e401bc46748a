#include "sim/fabric/collective_table.hpp"
#include <algorithm>
#include <map>
#include <set>

namespace twin::fabric {
namespace {

__extension__ typedef __int128 i128;

CollectiveRow row_of(const View& view, const CollectiveRequest& r, std::int64_t bytes, const Choice& choice,
                     const Pattern& p, const device::Constants& constants) {
  const Cost c = cost(view, r.op, bytes, choice, p.geometry, constants);
  const Alone a = alone(view, p, c);
  CollectiveRow row;
  row.bytes = bytes;
  row.time_us = constants.get("nccl.launch_us") + (c.latency + a.time).seconds() * 1e6;
  row.algbw_gbps = static_cast<double>(bytes) / row.time_us * 1e-3;
  row.busbw_gbps = row.algbw_gbps * busbw_factor(r.op, p.geometry.ranks);
  row.algorithm = name(choice.algorithm);
  row.protocol = name(choice.protocol);
  row.channels = choice.channels;
  row.limiting_link = a.link.valid() ? view.link_name(a.link) : "channels";
  return row;
}

core::Error range_error(std::string where, std::string message, std::string hint = "") {
  return {core::ErrorCode::kRange, std::move(where), std::move(message), std::move(hint)};
}

}  // namespace

Algorithm pattern_of(CollectiveOp op, Algorithm algorithm) {
  if (op == CollectiveOp::kAllToAll && algorithm == Algorithm::kPairwise) return Algorithm::kExchange;
  if (op == CollectiveOp::kSendRecv) return Algorithm::kPairwise;
  return algorithm;
}

Alone alone(const View& view, const Pattern& pattern, const Cost& c) {
  Alone out;
  if (c.busiest_bytes == 0) return out;
  std::int64_t rate = std::max<std::int64_t>(1, c.rate_cap);
  for (const LinkLoad& l : pattern.loads) {
    const auto fair = static_cast<std::int64_t>(static_cast<i128>(view.capacity(l.link)) * kUnit / l.units);
    if (fair < rate) {
      rate = fair;
      out.link = l.link;
    }
  }
  if (rate <= 0) {
    out.time = core::Time::never();
    return out;
  }
  const i128 left = static_cast<i128>(c.busiest_bytes) << kRateBits;
  out.time = core::Time::ns(static_cast<std::int64_t>((left + rate - 1) / rate));
  return out;
}

core::Result<std::vector<CollectiveRow>> collective_table(const View& view, const CollectiveRequest& r,
                                                          const device::Constants& constants) {
  if (r.op == CollectiveOp::kSendRecv && r.members.size() != 2)
    return range_error("--ranks", "send_recv takes 2 ranks, found " + std::to_string(r.members.size()),
                       "source,destination");
  if (r.members.size() < 2)
    return range_error("--ranks", "expected 2 ranks or more, found " + std::to_string(r.members.size()));
  if (r.min_bytes < 1 || r.max_bytes < r.min_bytes)
    return range_error("--max", "expected 1 <= min <= max, found " + std::to_string(r.min_bytes) + " and " +
                                    std::to_string(r.max_bytes));
  if (!(r.factor > 1.0001))
    return range_error("--factor", "expected a number above 1, found " + std::to_string(r.factor));
  const Algorithm first =
      r.op == CollectiveOp::kSendRecv || r.op == CollectiveOp::kAllToAll ? Algorithm::kPairwise : Algorithm::kRing;
  std::map<Algorithm, Pattern> patterns;
  const auto pattern = [&](Algorithm a) -> core::Result<const Pattern*> {
    const Algorithm as = pattern_of(r.op, a);
    if (const auto it = patterns.find(as); it != patterns.end()) return &it->second;
    auto p = lower(view, as, r.members);
    if (!p) return p.error();
    return &patterns.emplace(as, *std::move(p)).first->second;
  };
  auto base = pattern(first);
  if (!base) return base.error();
  std::vector<CollectiveRow> rows;
  for (double at = static_cast<double>(r.min_bytes); at <= static_cast<double>(r.max_bytes) * (1 + 1e-9);
       at *= r.factor) {
    const auto bytes = static_cast<std::int64_t>(at + 0.5);
    if (!rows.empty() && rows.back().bytes == bytes) continue;
    const Choice choice = choose(view, r.op, bytes, (*base)->geometry, constants);
    auto p = pattern(choice.algorithm);
    if (!p) return p.error();
    rows.push_back(row_of(view, r, bytes, choice, **p, constants));
  }
  return rows;
}

core::Result<CollectiveOp> parse_op(std::string_view text) {
  std::string word;
  for (const char c : text)
    if (c != '_' && c != '-') word += c;
  for (int i = 0; i <= static_cast<int>(CollectiveOp::kSendRecv); ++i) {
    std::string candidate;
    for (const char* c = name(static_cast<CollectiveOp>(i)); *c; ++c)
      if (*c != '_') candidate += *c;
    if (word == candidate) return static_cast<CollectiveOp>(i);
  }
  return core::Error{core::ErrorCode::kNotFound, "OP",
                     "expected all_reduce, all_gather, reduce_scatter, broadcast, all_to_all or send_recv, found \"" +
                         std::string(text) + "\"",
                     ""};
}

core::Result<std::int64_t> parse_bytes(std::string_view text, const std::string& where) {
  const std::string s(text);
  std::size_t used = 0;
  double value = -1;
  try {
    value = std::stod(s, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  std::string unit = s.substr(used);
  if (!unit.empty() && (unit.back() == 'B' || unit.back() == 'b')) unit.pop_back();
  if (!unit.empty() && unit.back() == 'i') unit.pop_back();
  static const std::string kUnits = "KMGT";
  if (unit.size() == 1) {
    const auto at = kUnits.find(static_cast<char>(unit[0] & ~0x20));
    if (at != std::string::npos) {
      value *= static_cast<double>(std::int64_t{1} << (10 * (at + 1)));
      unit.clear();
    }
  }
  if (used == 0 || !unit.empty() || !(value >= 1) || value > 1e16)
    return core::Error{core::ErrorCode::kRange, where, "expected a size such as 8, 64K, 1G, found \"" + s + "\"",
                       "K, M, G are powers of 1024"};
  return static_cast<std::int64_t>(value + 0.5);
}

core::Result<std::vector<core::DeviceId>> parse_ranks(std::string_view text, int devices, const std::string& where) {
  const std::string s(text);
  const bool list = s.find_first_of(",-") != std::string::npos;
  std::vector<core::DeviceId> out;
  std::set<int> seen;
  std::size_t at = 0;
  while (at <= s.size()) {
    std::size_t end = s.find(',', at);
    if (end == std::string::npos) end = s.size();
    const std::string part = s.substr(at, end - at);
    int from = 0, to = 0;
    char junk = 0;
    int n = std::sscanf(part.c_str(), "%d-%d%c", &from, &to, &junk);
    if (n == 1 && std::sscanf(part.c_str(), "%d%c", &from, &junk) == 1) to = from, n = 2;
    if (n != 2) return range_error(where, "expected N or a list such as 0,8,16-23, found \"" + s + "\"");
    if (!list) from = 0, to = to - 1;
    if (from < 0 || to < from || to >= devices)
      return range_error(where, "expected ranks of 0.." + std::to_string(devices - 1) + ", found \"" + part + "\"",
                         "the cluster has " + std::to_string(devices) + " devices");
    for (int d = from; d <= to; ++d) {
      if (!seen.insert(d).second) return range_error(where, "rank " + std::to_string(d) + " is named twice");
      out.push_back(core::DeviceId{d});
    }
    at = end + 1;
  }
  return out;
}

}  // namespace twin::fabric
