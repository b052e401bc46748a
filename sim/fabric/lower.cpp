// Link loads of each algorithm, the mean over all channels. Unit (kFine): one full buffer in one direction.
//   ring: domains in order of first member. Between consecutive domains one edge, spread over the members; inside a
//   domain
//     of k a chain of k-1 edges that rotates: every member sends and receives (k-1)/k; inside one single domain 1.
//   nvls: every member sends the buffer to the switch and takes the result: 1 + 1/k per direction in an all-reduce
//     (multimem.ld_reduce of all data plus multimem.st of its shard); across domains a double binary tree on the NICs.
//   sharp: in-node as above, then each NIC sends its share 1/k up and takes it down, once.
//   all-to-all: message 1/n per pair; across domains with PXN: the messages of a domain for b gather over NVLink at the
//     member of b's index, whose NIC sends them.
// Source: NCCL 2.2x graph search and device code; DESIGN.md idea 2; reference/folding.md 5.
#include "sim/fabric/members.hpp"

namespace twin::fabric {

void lower_ring(const View& view, const Members& m, Loads& loads) {
  const std::size_t n = m.domains.size();
  for (std::size_t d = 0; d < n; ++d) {
    const auto k = static_cast<std::int64_t>(m.size(d));
    add_inside(view, m.domains[d], n == 1 ? kFine : kFine / k * (k - 1), loads);
    if (k > 1) loads.neighbours(m.domains[d][0], m.domains[d][1]);
    if (n == 1) break;
    const auto& next = m.domains[(d + 1) % n];
    add_between(m.domains[d], next, kFine, loads);
    loads.neighbours(m.domains[d].front(), next.front());
  }
}

void lower_nvls(const View& view, const Members& m, Loads& loads) {
  const std::size_t n = m.domains.size();
  for (const auto& domain : m.domains) {
    const auto k = static_cast<std::int64_t>(domain.size());
    if (k > 1) loads.neighbours(domain[0], domain[1]);
    add_inside(view, domain, n == 1 ? kFine : kFine + kFine / k, loads);
  }
  for (int tree = 0; tree < 2 && n > 1; ++tree)
    for (std::size_t d = 0; d < n; ++d) {
      const int parent = dtree_parent(static_cast<int>(n), static_cast<int>(d), tree);
      if (parent < 0) continue;
      const auto& up = m.domains[static_cast<std::size_t>(parent)];
      add_between(m.domains[d], up, kFine / 2, loads);
      add_between(up, m.domains[d], kFine / 2, loads);
      loads.neighbours(m.domains[d].front(), up.front());
    }
}

void lower_sharp(const View& view, const Members& m, Loads& loads) {
  const std::size_t n = m.domains.size();
  for (std::size_t d = 0; d < n; ++d) {
    const auto k = static_cast<std::int64_t>(m.size(d));
    const std::int64_t inside = view.features().nvls ? kFine + kFine / k : 2 * (kFine / k) * (k - 1);
    add_inside(view, m.domains[d], inside, loads);
    if (k > 1) loads.neighbours(m.domains[d][0], m.domains[d][1]);
    if (n == 1) break;
    const auto& next = m.domains[(d + 1) % n];
    add_between(m.domains[d], next, kFine, loads);
    loads.neighbours(m.domains[d].front(), next.front());
  }
}

void lower_all_to_all(const Members& m, Loads& loads) {
  const std::size_t n = m.domains.size();
  const std::int64_t message = kFine / m.ranks;
  for (std::size_t d = 0; d < n; ++d) {
    const auto& from = m.domains[d];
    const std::size_t k = from.size();
    std::vector<std::int64_t> via(
        k, 1);  // messages that a member takes from each other one: its own, and those it forwards
    for (std::size_t e = 0; e < n; ++e)
      if (e != d)
        for (std::size_t b = 0; b < m.size(e); ++b) ++via[b % k];
    for (std::size_t a = 0; a < k; ++a)
      for (std::size_t p = 0; p < k; ++p)
        if (a != p) loads.add(from[a], from[p], message * via[p]);
    for (std::size_t e = 0; e < n; ++e)
      if (e != d)
        for (std::size_t b = 0; b < m.size(e); ++b)
          loads.add(from[b % k], m.domains[e][b], message * static_cast<std::int64_t>(k));
    if (k > 1) loads.neighbours(from[0], from[1]);
    for (std::size_t stride = 1; stride < n; stride *= 2) loads.neighbours(from[0], m.domains[(d + stride) % n][0]);
  }
}

core::Result<Pattern> lower(const View& view, Algorithm algorithm, std::span<const core::DeviceId> members) {
  const Members m = group_by_domain(view, members);
  const bool one_way = algorithm == Algorithm::kPairwise && members.size() == 2;
  const bool all_pairs = algorithm == Algorithm::kExchange || (algorithm == Algorithm::kPairwise && !one_way);
  std::size_t routes = members.size() * 2;
  if (all_pairs) routes = members.size() * (m.domains.size() + 8);
  Loads loads(view, members.size() < 2 ? 0 : routes);
  if (members.size() < 2) return loads.finish(m);
  if (one_way) {
    loads.add(members[0], members[1], kFine);
    loads.neighbours(members[0], members[1]);
    return loads.finish(m);
  }
  switch (algorithm) {
    case Algorithm::kRing:
      lower_ring(view, m, loads);
      break;
    case Algorithm::kTree:
      lower_tree(view, m, loads);
      break;
    case Algorithm::kNvls:
    case Algorithm::kNvlsTree:
      lower_nvls(view, m, loads);
      break;
    case Algorithm::kSharp:
      lower_sharp(view, m, loads);
      break;
    case Algorithm::kPairwise:
    case Algorithm::kExchange:
      lower_all_to_all(m, loads);
      break;
  }
  return loads.finish(m);
}

}  // namespace twin::fabric
