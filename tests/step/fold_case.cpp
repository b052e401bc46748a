#include "tests/step/fold_case.hpp"
#include <algorithm>
#include <cmath>
#include <numeric>
#include "sim/fabric/view.hpp"

namespace twin::step::test {
namespace {

enum Kind { kTp, kCp, kDp, kWorld, kForward, kBackward, kKinds };
constexpr std::int64_t kSplit = 12;  // units of one message, divisible by 1, 2, 3 and 4 spines

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// The program of one pipeline stage.
class StageProgram {
 public:
  StageProgram(const Config& c, int stage, Program& p) : c_(c), stage_(stage), p_(p), b_(p) {
    templates();
    bundles();
    if (c.loader_ns > 0) loaded_ = compute(Stream::kHost, loader_, {});
    schedule();
    tail();
    b_.finish();
  }

 private:
  struct P2p {
    std::int32_t send, receive;
  };
  std::int32_t comm_template(int kind, int role, fabric::CollectiveOp op, std::int64_t bytes, const std::string& name) {
    CommTemplate t;
    t.kind = static_cast<std::uint8_t>(kind);
    t.role = static_cast<std::uint8_t>(role);
    t.op = op;
    t.bytes = bytes;
    t.hold = c_.hold[kind];
    t.name = b_.name(name);
    p_.comms.push_back(t);
    return static_cast<std::int32_t>(p_.comms.size()) - 1;
  }
  void templates() {
    using enum fabric::CollectiveOp;
    tp_ = comm_template(kTp, 0, kAllGather, c_.tp_bytes, "tp all-gather");
    const bool messages = c_.context == ContextRing::kMessages;
    cp_ = comm_template(kCp, 0, messages ? kSendRecv : kAllToAll, c_.cp_bytes, "cp");
    if (messages) cp_receive_ = comm_template(kCp, 1, kSendRecv, c_.cp_bytes, "cp receive");
    dp_ = comm_template(kDp, 0, kReduceScatter, c_.dp_bytes, "dp reduce-scatter");
    gather_ = comm_template(kDp, 0, kAllGather, c_.dp_bytes, "dp all-gather");
    world_ = comm_template(kWorld, 0, kAllReduce, c_.world_bytes, "gradient norm");
    forward_ = {comm_template(kForward, 0, kSendRecv, c_.pp_bytes, "send forward"),
                comm_template(kForward, 1, kSendRecv, c_.pp_bytes, "receive forward")};
    backward_ = {comm_template(kBackward, 0, kSendRecv, c_.pp_bytes, "send backward"),
                 comm_template(kBackward, 1, kSendRecv, c_.pp_bytes, "receive backward")};
  }
  std::int32_t bundle(std::int64_t work, const std::string& name) {
    Bundle x;
    x.work_ns = work;
    x.variance_ns2 = static_cast<std::int64_t>(static_cast<double>(work) * static_cast<double>(work) * 1e-6 *
                                               static_cast<double>(c_.variance_ppm2));
    for (int level = 0; level < kMaxBundleLevels; ++level)
      x.rate[level] = (std::int64_t{100} << 20) / (100 + 7 * level);
    x.name = b_.name(name);
    p_.bundles.push_back(x);
    return static_cast<std::int32_t>(p_.bundles.size()) - 1;
  }
  void bundles() {
    attention_ = bundle(c_.attention_ns, "attention");
    mlp_ = bundle(c_.mlp_ns, "mlp");
    attention_back_ = bundle(2 * c_.attention_ns, "attention backward");
    mlp_back_ = bundle(2 * c_.mlp_ns, "mlp backward");
    optimizer_ = bundle(c_.optimizer_ns, "optimizer");
    loader_ = bundle(c_.loader_ns, "loader");
    empty_ = bundle(0, "empty");
  }
  std::int32_t add(OpType type, Stream stream, std::int32_t body, const std::vector<std::int32_t>& after) {
    Op op;
    op.type = type;
    op.stream = stream;
    op.body = body;
    op.host_issue_ns = c_.host_ns_per_op * issued_++;
    op.host_sync = sync_;
    return b_.add(op, after);
  }
  std::int32_t compute(Stream s, std::int32_t body, const std::vector<std::int32_t>& after) {
    return add(OpType::kCompute, s, body, after);
  }
  std::int32_t comm(Stream s, std::int32_t body, const std::vector<std::int32_t>& after) {
    return add(OpType::kComm, s, body, after);
  }
  std::int32_t context(std::int32_t after) {
    if (c_.context != ContextRing::kMessages) return comm(Stream::kTp, cp_, {after, b_.last(Stream::kCompute)});
    comm(Stream::kDpParam, cp_, {after, b_.last(Stream::kCompute)});
    return comm(Stream::kTp, cp_receive_, {after, b_.last(Stream::kCompute)});
  }
  void receive(Stream stream, std::int32_t body) {
    if (c_.early_receive)
      comm(stream, body, {});
    else
      comm(stream, body, {b_.last(Stream::kCompute)});
  }
  bool first(int chunk) const { return stage_ == 0 && chunk == 0; }
  bool last(int chunk) const { return stage_ == c_.pp - 1 && chunk == c_.vpp - 1; }
  int layers(int chunk) const { return c_.layers + (c_.uneven && first(chunk) ? 1 : 0); }

  void forward(int k) {
    const int chunk = k / c_.pp % c_.vpp;
    auto d = loaded_;
    if (!first(chunk)) {
      receive(Stream::kPpRecvForward, forward_.receive);
      d = b_.last(Stream::kPpRecvForward);
    }
    for (int l = 0; l < layers(chunk); ++l) {
      if (c_.tp > 1) d = comm(Stream::kTp, tp_, {d, b_.last(Stream::kCompute)});
      if (c_.cp > 1) d = context(d);
      d = compute(Stream::kCompute, attention_, {d});
      if (c_.tp > 1) d = comm(Stream::kTp, tp_, {d});
      d = compute(Stream::kCompute, empty_, {d});
      d = compute(Stream::kCompute, mlp_, {d});
      if (c_.tp > 1) d = comm(Stream::kTp, tp_, {d});
    }
    if (!last(chunk)) comm(Stream::kPpSendForward, forward_.send, {d});
  }
  void backward(int k, bool final_micro_batch) {
    const int chunk = c_.vpp - 1 - k / c_.pp % c_.vpp;
    std::int32_t d = -1;
    if (!last(chunk)) {
      receive(Stream::kPpRecvBackward, backward_.receive);
      d = b_.last(Stream::kPpRecvBackward);
    }
    for (int l = 0; l < layers(chunk); ++l) {
      if (c_.tp > 1) d = comm(Stream::kTp, tp_, {d, b_.last(Stream::kCompute)});
      d = compute(Stream::kCompute, mlp_back_, {d});
      if (c_.tp > 1) d = comm(Stream::kTp, tp_, {d});
      if (c_.cp > 1) d = context(d);
      d = compute(Stream::kCompute, attention_back_, {d});
      if (c_.tp > 1) d = comm(Stream::kTp, tp_, {d});
      if (final_micro_batch && c_.data_overlap && c_.dp * c_.cp > 1) comm(Stream::kDpGrad, dp_, {d});
    }
    if (!first(chunk)) comm(Stream::kPpSendBackward, backward_.send, {d});
  }
  void schedule() {
    const int total = c_.micro * c_.vpp;
    const int ahead = c_.vpp > 1 ? (c_.pp - stage_ - 1) * 2 + (c_.vpp - 1) * c_.pp : c_.pp - stage_ - 1;
    const int warm = std::min(total, ahead);
    const auto final_one = [&](int k) { return k / (c_.pp * c_.vpp) * c_.pp + k % c_.pp == c_.micro - 1; };
    const auto plain_final = [&](int k) { return k == c_.micro - 1; };
    int b = 0;
    const auto back = [&] {
      backward(b, c_.vpp > 1 ? final_one(b) : plain_final(b));
      ++b;
    };
    for (int f = 0; f < total; ++f) {
      forward(f);
      if (f >= warm) back();
    }
    while (b < total) back();
  }
  void tail() {
    std::vector<std::int32_t> after{b_.last(Stream::kCompute), b_.last(Stream::kTp), b_.last(Stream::kDpGrad)};
    if (!c_.data_overlap && c_.dp * c_.cp > 1) after.push_back(comm(Stream::kDpGrad, dp_, after));
    if (c_.world_reduce) {
      after.push_back(comm(Stream::kDpGrad, world_, after));
      if (c_.host_ns_per_op > 0) {
        sync_ = after.back();
        issued_ = 0;
      }
    }
    const auto done = compute(Stream::kCompute, optimizer_, after);
    if (c_.dp * c_.cp > 1)
      for (int l = 0; l < c_.layers; ++l) comm(Stream::kDpParam, gather_, {done});
  }

  const Config& c_;
  int stage_;
  Program& p_;
  ProgramBuilder b_;
  std::int32_t tp_ = 0, cp_ = 0, cp_receive_ = 0, dp_ = 0, gather_ = 0, world_ = 0;
  P2p forward_{}, backward_{};
  std::int32_t attention_ = 0, mlp_ = 0, attention_back_ = 0, mlp_back_ = 0, optimizer_ = 0, loader_ = 0, empty_ = 0;
  std::int32_t loaded_ = -1, sync_ = -1;
  std::int64_t issued_ = 0;
};

// Groups and link loads of the explicit system.
class SystemBuilder {
 public:
  SystemBuilder(const Config& c, System& s)
      : c_(c), s_(s), gpus_(c.nodes() * c.gpus_per_node), alive_(at(c.leaves() * c.spines), 1) {
    for (const auto& [leaf, spine] : c.dead_uplinks) alive_[at(leaf * c.spines + spine)] = 0;
    kinds();
    ranks();
    links();
    s_.load_start.push_back(0);
    s_.slot_start.push_back(0);
    groups();
  }

 private:
  void kinds() {
    const char* names[] = {"tp", "cp", "dp", "world", "pp-forward", "pp-backward"};
    for (int k = 0; k < kKinds; ++k) {
      CommKind kind;
      kind.name = names[k];
      kind.p2p = k >= kForward || (k == kCp && c_.context == ContextRing::kMessages);
      kind.phi = c_.phi[k];
      s_.kinds.push_back(kind);
      s_.membership_of_kind.push_back(s_.memberships);
      s_.memberships += kind.p2p ? 2 : 1;
    }
  }
  void ranks() {
    const auto n = at(c_.ranks());
    s_.speed.assign(n, 1 << 20);
    for (const auto& [rank, permille] : c_.slow)
      s_.speed[at(rank)] = static_cast<std::int32_t>((std::int64_t{permille} << 20) / 1000);
    s_.population.assign(n, 1);
    s_.group_of.assign(n * at(s_.memberships), -1);
    for (std::size_t r = 0; r < n; ++r) s_.program.push_back(static_cast<std::int32_t>(r) / (c_.tp * c_.cp * c_.dp));
  }
  void links() {  // scale-up egress, ingress, NIC tx, rx, uplinks, downlinks
    const double up = 50e9 * c_.pod_nodes / c_.spines / c_.oversubscription;
    std::vector<int> percent(at(gpus_), 100);
    for (const auto& [gpu, left] : c_.slow_nics) percent[at(gpu)] = left;
    for (int i = 0; i < 2 * gpus_; ++i) s_.capacity.push_back(fabric::to_rate(450e9));
    for (int i = 0; i < 2 * gpus_; ++i) s_.capacity.push_back(fabric::to_rate(5e8 * percent[at(i % gpus_)]));
    for (int i = 0; i < 2 * c_.leaves() * c_.spines; ++i) s_.capacity.push_back(fabric::to_rate(up));
  }
  int gpu(int rank) const { return c_.place.empty() ? rank : c_.place[at(rank)]; }
  int leaf(int g) const { return g / c_.gpus_per_node / c_.pod_nodes * c_.gpus_per_node + g % c_.gpus_per_node; }
  void need(fabric::Reach reach) { reach_ = std::max(reach_, reach); }
  void message(int from_rank, int to_rank) {
    const int a = gpu(from_rank), b = gpu(to_rank);
    if (a / c_.gpus_per_node == b / c_.gpus_per_node) {
      need(fabric::Reach::kScaleUp);
      loads_.push_back({a, kSplit});
      loads_.push_back({gpus_ + b, kSplit});
      return;
    }
    loads_.push_back({2 * gpus_ + a, kSplit});
    loads_.push_back({3 * gpus_ + b, kSplit});
    need(leaf(a) == leaf(b) ? fabric::Reach::kLeaf : fabric::Reach::kPod);
    if (leaf(a) != leaf(b)) over_spines(leaf(a), leaf(b));
  }
  void over_spines(int from, int to) {
    std::vector<int> usable;
    for (int k = 0; k < c_.spines; ++k)
      if (alive_[at(from * c_.spines + k)] && alive_[at(to * c_.spines + k)]) usable.push_back(k);
    for (const int k : usable) {
      const auto share = kSplit / static_cast<std::int64_t>(usable.size());
      loads_.push_back({4 * gpus_ + from * c_.spines + k, share});
      loads_.push_back({4 * gpus_ + (c_.leaves() + to) * c_.spines + k, share});
    }
  }
  std::int32_t close_group(int kind, int members) {
    std::sort(loads_.begin(), loads_.end());
    const auto first = s_.load_weight.size();
    std::int64_t most = 1;
    for (const auto& [link, units] : loads_) {
      if (s_.load_link.size() > first && s_.load_link.back() == link)
        s_.load_weight.back() += units;
      else
        s_.load_link.push_back(link), s_.load_weight.push_back(units);
      most = std::max(most, s_.load_weight.back());
    }
    for (auto i = first; i < s_.load_weight.size(); ++i)
      s_.load_weight[i] = (s_.load_weight[i] * fabric::kUnit + most / 2) / most;
    fabric::Geometry g;
    g.ranks = members;
    g.reach = reach_;
    g.scale = most;
    s_.group_kind.push_back(kind);
    s_.group_geometry.push_back(static_cast<std::int32_t>(s_.geometries.size()));
    s_.geometries.push_back(g);
    s_.load_start.push_back(static_cast<std::int64_t>(s_.load_link.size()));
    s_.slot_start.push_back(static_cast<std::int64_t>(s_.slots.size()));
    loads_.clear();
    reach_ = fabric::Reach::kSelf;
    return static_cast<std::int32_t>(s_.group_kind.size()) - 1;
  }
  void join(int rank, int kind, int role) {
    s_.group_of[at(rank * s_.memberships + s_.membership_of_kind[at(kind)] + role)] =
        static_cast<std::int32_t>(s_.group_kind.size());
    s_.slots.push_back({.rank = rank, .role = static_cast<std::uint8_t>(role), .count = 1});
  }
  void collective(int kind, const std::vector<int>& members, bool all_to_all) {
    const auto n = members.size();
    for (std::size_t i = 0; i < n; ++i) {
      join(members[i], kind, 0);
      if (!all_to_all) message(members[i], members[(i + 1) % n]);
      for (std::size_t j = 0; all_to_all && j < n; ++j)
        if (i != j) message(members[i], members[j]);
    }
    close_group(kind, static_cast<int>(n));
  }
  void pair(int kind, int from, int to) {
    join(from, kind, 0);
    join(to, kind, 1);
    message(from, to);
    close_group(kind, 2);
  }
  int rank(int t, int q, int d, int p) const { return t + c_.tp * (q + c_.cp * (d + c_.dp * p)); }
  template <class Visit>
  void each(int a, int b, int c, Visit visit) const {
    for (int i = 0; i < a; ++i)
      for (int j = 0; j < b; ++j)
        for (int k = 0; k < c; ++k) visit(i, j, k);
  }
  void groups() {
    std::vector<int> members;
    const auto gather = [&](int n, auto rank_of) {
      members.clear();
      for (int i = 0; i < n; ++i) members.push_back(rank_of(i));
    };
    if (c_.tp > 1)
      each(c_.pp, c_.dp, c_.cp, [&](int p, int d, int q) {
        gather(c_.tp, [&](int t) { return rank(t, q, d, p); });
        collective(kTp, members, false);
      });
    if (c_.cp > 1)
      each(c_.pp, c_.dp, c_.tp, [&](int p, int d, int t) {
        gather(c_.cp, [&](int q) { return rank(t, q, d, p); });
        if (c_.context == ContextRing::kMessages)
          for (int q = 0; q < c_.cp; ++q) pair(kCp, members[at(q)], members[at((q + 1) % c_.cp)]);
        else
          collective(kCp, members, c_.context == ContextRing::kAllToAll);
      });
    if (c_.dp * c_.cp > 1)
      each(c_.pp, c_.tp, 1, [&](int p, int t, int) {
        gather(c_.dp * c_.cp, [&](int i) { return rank(t, i % c_.cp, i / c_.cp, p); });
        collective(kDp, members, false);
      });
    gather(c_.ranks(), [](int r) { return r; });
    if (c_.world_reduce) collective(kWorld, members, false);
    const int edges = c_.vpp > 1 ? c_.pp : c_.pp - 1;  // interleaving wraps around
    for (int p = 0; p < edges; ++p)
      each(c_.dp, c_.cp, c_.tp, [&](int d, int q, int t) {
        const int here = rank(t, q, d, p), there = rank(t, q, d, (p + 1) % c_.pp);
        pair(kForward, here, there);
        pair(kBackward, there, here);
      });
  }

  const Config& c_;
  System& s_;
  int gpus_;
  std::vector<std::uint8_t> alive_;
  std::vector<std::pair<std::int32_t, std::int64_t>> loads_;
  fabric::Reach reach_ = fabric::Reach::kSelf;
};

}  // namespace

Case build(const Config& config) {
  Case c;
  c.programs = std::make_unique<std::vector<Program>>(at(config.pp));
  for (int p = 0; p < config.pp; ++p) StageProgram(config, p, (*c.programs)[at(p)]);
  SystemBuilder(config, c.system);
  c.system.programs = c.programs.get();
  c.cost = [config, programs = c.programs.get(), geometries = c.system.geometries](
               std::int32_t program, std::int32_t comm, std::int32_t geometry) {
    const auto& t = (*programs)[at(program)].comms[at(comm)];
    const auto& g = geometries[at(geometry)];
    CommCost cost;
    cost.bytes = static_cast<std::int64_t>(static_cast<double>(t.bytes) / kSplit * static_cast<double>(g.scale));
    cost.latency_ns = config.latency_ns *
                      (1 + 2 * (g.reach >= fabric::Reach::kLeaf) + 2 * (g.reach >= fabric::Reach::kPod)) *
                      std::min(g.ranks - 1, 4);
    const auto cap = config.cap_bytes_per_s[t.kind];
    cost.rate_cap = cap ? fabric::to_rate(static_cast<double>(cap)) : std::int64_t{1} << 50;
    return cost;
  };
  c.options.jitter = config.variance_ppm2 > 0 || config.persistent_sigma > 0;
  c.options.persistent_sigma = config.persistent_sigma;
  return c;
}

std::int64_t difference(const Timeline& a, const Timeline& b, const Partition& p) {
  std::int64_t most = 0;
  for (std::size_t r = 0; r + 1 < a.op_offset.size(); ++r) {
    const auto c = at(p.rank_class[r]);
    const auto ops = at(a.op_offset[r + 1] - a.op_offset[r]);
    if (ops != at(b.op_offset[c + 1] - b.op_offset[c])) return -1;
    const auto mine = at(a.op_offset[r]), theirs = at(b.op_offset[c]);
    for (const auto column : {&Timeline::posted, &Timeline::start, &Timeline::finish})
      for (std::size_t i = 0; i < ops; ++i)
        most = std::max(most, std::abs((a.*column)[mine + i] - (b.*column)[theirs + i]));
    most = std::max(most, std::abs(a.rank_end[r] - b.rank_end[c]));
    most = std::max(most, std::abs(a.rank_variance[r] - b.rank_variance[c]));
  }
  return most;
}

std::int64_t fold_difference(const Case& c, const Partition& partition) {
  const auto every_rank = execute(c.system, c.cost, c.options);
  const auto classes = execute(quotient(c.system, partition), c.cost, c.options);
  if (!every_rank || !classes) return -1;
  if (every_rank->stats.max_min_violations + classes->stats.max_min_violations > 0) return -1;
  return difference(*every_rank, *classes, partition);
}

}  // namespace twin::step::test
