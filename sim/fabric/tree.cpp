// NCCL's double binary tree (src/graph/trees.cc) and its loads. Domain d is an inner node of one tree and a leaf of the
// other, each tree carries half of the buffer: up to the root and down again. Inside a domain the tree is a chain
// through all members, up and down, that rotates over the channels: 2 (k-1)/k per direction.
//   btree: bit = lowest set bit of the rank; parent = (rank ^ bit) | (bit << 1), if >= n: rank ^ bit; root is 0.
//   dtree: tree 1 mirrors the ranks (n even) or shifts them by one (n odd).
#include "sim/fabric/members.hpp"

namespace twin::fabric {

int btree_parent(int n, int rank) {
  if (rank == 0) return -1;
  const int bit = rank & -rank;
  const int up = (rank ^ bit) | (bit << 1);
  return up >= n ? rank ^ bit : up;
}

int dtree_parent(int n, int rank, int tree) {
  if (tree == 0) return btree_parent(n, rank);
  if (n % 2 == 1) {  // shift
    const int up = btree_parent(n, (rank - 1 + n) % n);
    return up < 0 ? -1 : (up + 1) % n;
  }
  const int up = btree_parent(n, n - 1 - rank);
  return up < 0 ? -1 : n - 1 - up;
}

void lower_tree(const View& view, const Members& m, Loads& loads) {
  const std::size_t n = m.domains.size();
  for (std::size_t d = 0; d < n; ++d) {
    const auto k = static_cast<std::int64_t>(m.size(d));
    add_inside(view, m.domains[d], 2 * (kFine / k) * (k - 1), loads);
    if (k > 1) loads.neighbours(m.domains[d][0], m.domains[d][1]);
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

}  // namespace twin::fabric
