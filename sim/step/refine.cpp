// Coarsest equitable partition by worklist refinement (Paige and Tarjan 1987; Valmari and Franceschinis 2010 for
// weights).
//
// One set of nodes: ranks, groups, links. A class taken from the worklist adds, for each edge into it, the hash of the
// edge's label to the neighbour's sum; each class with touched nodes splits by these sums, and all pieces but the
// largest join the worklist (sums are additive, so the last piece's follow by subtraction). O(edges log nodes); 4-7
// visits per edge seen.
#include <algorithm>
#include <numeric>
#include <utility>
#include "sim/step/refine_colour.hpp"

namespace twin::step {
namespace {

constexpr std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

class Worklist {
 public:
  Worklist(const System& s, const RefineOptions& options);
  void run();
  Partition partition() const;

 private:
  void initial_classes(const std::vector<std::uint64_t>& colour);
  void touch_neighbours(std::int32_t node);
  void touch_group_neighbours(std::int32_t g);
  void touch(std::int32_t node, std::uint64_t label) {
    if (!touched_flag_[index(node)]) {
      touched_flag_[index(node)] = 1;
      touched_.push_back(node);
    }
    sum_[index(node)] += label;
  }
  void split_touched();
  void split(std::int32_t c, std::int32_t touched);
  void new_class(std::int32_t begin, std::int32_t end);
  void place(std::int32_t node, std::int32_t position) {
    element_[index(position)] = node;
    position_[index(node)] = position;
  }

  const System& s_;
  RefineOptions options_;
  Incidence x_;
  std::vector<std::uint64_t> labels_;
  std::int32_t first_group_, first_link_, nodes_;
  // A class is element_[start_[c], end_[c]).
  std::vector<std::int32_t> element_, position_, class_, start_, end_;
  std::vector<std::int32_t> marked_;  // per class, touched members moved to its front so far
  std::vector<std::uint8_t> touched_flag_;
  std::vector<std::int32_t> queue_, touched_, touched_classes_, splitter_;
  std::vector<std::uint64_t> sum_;
  std::vector<std::pair<std::uint64_t, std::int32_t>> sorted_;
  std::vector<std::pair<std::int32_t, std::int32_t>> pieces_;
};

Worklist::Worklist(const System& s, const RefineOptions& options)
    : s_(s),
      options_(options),
      x_(incidence(s)),
      labels_(membership_labels(s, options.use_roles)),
      first_group_(static_cast<std::int32_t>(s.ranks())),
      first_link_(first_group_ + static_cast<std::int32_t>(s.groups())),
      nodes_(first_link_ + static_cast<std::int32_t>(s.links())) {
  sum_.assign(index(nodes_), 0);
  touched_flag_.assign(index(nodes_), 0);
  initial_classes(initial_colours(s));
}

void Worklist::initial_classes(const std::vector<std::uint64_t>& colour) {
  element_.resize(index(nodes_));
  position_.resize(index(nodes_));
  class_.resize(index(nodes_));
  std::vector<std::pair<std::uint64_t, std::int32_t>> order(index(nodes_));
  for (std::int32_t i = 0; i < nodes_; ++i) order[index(i)] = {colour[index(i)], i};
  std::sort(order.begin(), order.end());
  for (std::int32_t i = 0, begin = 0; i < nodes_; ++i) {
    place(order[index(i)].second, i);
    if (i + 1 < nodes_ && order[index(i)].first == order[index(i + 1)].first) continue;
    new_class(begin, i + 1);
    begin = i + 1;
  }
}

void Worklist::new_class(std::int32_t begin, std::int32_t end) {
  const auto id = static_cast<std::int32_t>(start_.size());
  start_.push_back(begin);
  end_.push_back(end);
  marked_.push_back(0);
  queue_.push_back(id);
  for (auto i = begin; i < end; ++i) class_[index(element_[index(i)])] = id;
}

void Worklist::touch_group_neighbours(std::int32_t g) {
  for (auto i = index(x_.member_start[index(g)]); i < index(x_.member_start[index(g) + 1]); ++i)
    touch(x_.member_rank[i], labels_[x_.member_membership[i]]);
  if (!options_.use_links || !options_.refine_links) return;
  for (auto i = static_cast<std::size_t>(s_.load_start[index(g)]);
       i < static_cast<std::size_t>(s_.load_start[index(g) + 1]); ++i)
    touch(first_link_ + s_.load_link[i], weight_label(s_.load_weight[i]));
}

void Worklist::touch_neighbours(std::int32_t node) {
  if (node < first_group_) {
    const auto memberships = index(s_.memberships);
    const auto* groups = s_.group_of.data() + index(node) * memberships;
    for (std::size_t m = 0; m < memberships; ++m)
      if (groups[m] >= 0) touch(first_group_ + groups[m], labels_[m]);
  } else if (node < first_link_) {
    touch_group_neighbours(node - first_group_);
  } else if (options_.use_links) {
    const auto l = index(node - first_link_);
    for (auto i = index(x_.user_start[l]); i < index(x_.user_start[l + 1]); ++i)
      touch(first_group_ + x_.user_group[i], weight_label(x_.user_weight[i]));
  }
}

void Worklist::split_touched() {
  touched_classes_.clear();
  for (const auto node : touched_) {  // move touched members to the front of their class
    const auto c = index(class_[index(node)]);
    if (marked_[c] == 0) touched_classes_.push_back(static_cast<std::int32_t>(c));
    const auto front = start_[c] + marked_[c]++, from = position_[index(node)];
    const auto other = element_[index(front)];
    place(other, from);
    place(node, front);
  }
  for (const auto c : touched_classes_) split(c, std::exchange(marked_[index(c)], 0));
  for (const auto node : touched_) sum_[index(node)] = touched_flag_[index(node)] = 0;
  touched_.clear();
}

void Worklist::split(std::int32_t c, std::int32_t touched) {
  const auto begin = start_[index(c)], end = end_[index(c)], middle = begin + touched;
  if (end - begin == 1) return;
  const auto first = sum_[index(element_[index(begin)])];
  bool same = true;
  for (auto i = begin + 1; i < middle && same; ++i) same = sum_[index(element_[index(i)])] == first;
  if (same && middle == end) return;
  pieces_.clear();
  if (same) {
    pieces_.push_back({begin, middle});
  } else {
    sorted_.clear();
    for (auto i = begin; i < middle; ++i) sorted_.push_back({sum_[index(element_[index(i)])], element_[index(i)]});
    std::sort(sorted_.begin(), sorted_.end());
    for (std::int32_t i = 0, run = 0; i < touched; ++i) {
      place(sorted_[index(i)].second, begin + i);
      if (i + 1 < touched && sorted_[index(i)].first == sorted_[index(i + 1)].first) continue;
      pieces_.push_back({begin + run, begin + i + 1});
      run = i + 1;
    }
  }
  if (middle < end) pieces_.push_back({middle, end});
  std::size_t largest = 0;
  const auto size = [&](std::size_t i) { return pieces_[i].second - pieces_[i].first; };
  for (std::size_t i = 1; i < pieces_.size(); ++i)
    if (size(i) > size(largest)) largest = i;
  start_[index(c)] = pieces_[largest].first;
  end_[index(c)] = pieces_[largest].second;
  for (std::size_t i = 0; i < pieces_.size(); ++i)
    if (i != largest) new_class(pieces_[i].first, pieces_[i].second);
}

void Worklist::run() {
  for (std::size_t head = 0; head < queue_.size(); ++head) {
    const auto c = index(queue_[head]);
    splitter_.assign(element_.begin() + start_[c], element_.begin() + end_[c]);
    for (const auto node : splitter_) touch_neighbours(node);
    split_touched();
  }
}

Partition Worklist::partition() const {
  Partition p;
  std::vector<std::int32_t> id(start_.size(), -1);
  const auto number = [&](std::int32_t from, std::int32_t to, std::vector<std::int32_t>& out) {
    std::int32_t count = 0;
    out.reserve(index(to - from));
    for (auto i = from; i < to; ++i) {
      auto& mine = id[index(class_[index(i)])];
      if (mine < 0) mine = count++;
      out.push_back(mine);
    }
    return count;
  };
  p.rank_classes = number(0, first_group_, p.rank_class);
  p.group_classes = number(first_group_, first_link_, p.group_class);
  p.link_classes = number(first_link_, nodes_, p.link_class);
  return p;
}

}  // namespace

Partition refine(const System& explicit_system, const RefineOptions& options) {
  Worklist worklist(explicit_system, options);
  worklist.run();
  return worklist.partition();
}

}  // namespace twin::step
