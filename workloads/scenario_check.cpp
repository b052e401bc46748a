// Consistency of a scenario: every product and quotient that a run of it needs. Errors name the field, what was
// expected, what was found, and the nearest value that would do.
#include <fmt/format.h>
#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>
#include "sim/core/check.hpp"
#include "workloads/scenario_reader.hpp"

namespace twin::work {

namespace {

using core::Error;
using core::ErrorCode;
using Check = std::optional<Error> (*)(const Scenario&, int world);

Error inconsistent(const Scenario& s, const std::string& field, std::string message, std::string hint = "") {
  return {ErrorCode::kInconsistent, s.file + ": " + field, std::move(message), std::move(hint)};
}

// "tp = 1, 2, 4 or 8": the divisors of n up to 1,024 that lie nearest to `found`.
std::string divisors_near(const char* what, std::int64_t n, std::int64_t found) {
  std::int64_t below = 1, above = 0;
  for (std::int64_t d = 1; d <= std::min<std::int64_t>(n, 65536); ++d) {
    if (n % d != 0) continue;
    if (d <= found) below = d;
    if (d > found && above == 0) above = d;
  }
  return above > 0 ? fmt::format("{} = {} or {} would do", what, below, above)
                   : fmt::format("{} = {} would do", what, below);
}

bool sequence_parallel(const Scenario& s) { return s.parallel.tp > 1 && s.parallel.sp != 0; }

std::optional<Error> check_model(const Scenario& s, int) {
  const Model& m = s.model;
  if (m.layers < 1 || m.hidden < 1 || m.heads < 1 || m.kv_heads < 1 || m.head_dim < 1 || m.ffn < 1 || m.vocab < 1)
    return inconsistent(s, "model", "expected layers, hidden, heads, kv_heads, head_dim, ffn and vocab of at least 1");
  if (m.heads % m.kv_heads != 0)
    return inconsistent(s, "model.kv_heads",
                        fmt::format("expected a divisor of the {} heads, found {}", m.heads, m.kv_heads),
                        divisors_near("kv_heads", m.heads, m.kv_heads));
  return std::nullopt;
}

std::optional<Error> check_unbuilt(const Scenario& s, int) {
  const Parallel& p = s.parallel;
  if (p.cp > 1)
    return Error{ErrorCode::kUnsupported, s.file + ": parallel.cp",
                 fmt::format("expected 1 (context parallelism is not simulated yet), found {}", p.cp), ""};
  if (p.ep > 1 || p.etp > 1)
    return Error{ErrorCode::kUnsupported, s.file + (p.ep > 1 ? ": parallel.ep" : ": parallel.etp"),
                 fmt::format("expected 1 (a dense model has no experts), found {}", std::max(p.ep, p.etp)), ""};
  return std::nullopt;
}

std::optional<Error> check_tensor(const Scenario& s, int) {
  const Model& m = s.model;
  const int tp = s.parallel.tp;
  if (m.heads % tp != 0)
    return inconsistent(s, "parallel.tp",
                        fmt::format("expected a divisor of the model's {} heads, found {}", m.heads, tp),
                        divisors_near("tp", m.heads, tp));
  if (m.kv_heads % tp != 0 && tp % m.kv_heads != 0)
    return inconsistent(
        s, "parallel.tp",
        fmt::format("expected a divisor or a multiple of the model's {} kv heads, found {}", m.kv_heads, tp));
  if (m.hidden % tp != 0)
    return inconsistent(s, "parallel.tp", fmt::format("expected a divisor of hidden = {}, found {}", m.hidden, tp));
  if (m.ffn % tp != 0)
    return inconsistent(s, "parallel.tp", fmt::format("expected a divisor of ffn = {}, found {}", m.ffn, tp));
  return std::nullopt;
}

std::optional<Error> check_sequence(const Scenario& s, int) {
  const std::int64_t seq = s.batch.seq;
  if (seq < 1)
    return inconsistent(s, "batch.seq",
                        "expected tokens per sequence, found none, and the model states no max_positions");
  if (s.model.learned_positions && seq > s.model.max_positions)
    return inconsistent(
        s, "batch.seq",
        fmt::format("expected at most the model's {} learned positions, found {}", s.model.max_positions, seq),
        "model.max_positions sets how many it has");
  if (sequence_parallel(s) && seq % s.parallel.tp != 0)
    return inconsistent(
        s, "batch.seq",
        fmt::format("expected a multiple of tp = {} with sequence parallelism, found {}", s.parallel.tp, seq),
        fmt::format("seq = {} would do, or \"sp\": false", (seq + s.parallel.tp - 1) / s.parallel.tp * s.parallel.tp));
  return std::nullopt;
}

std::optional<Error> check_chunks(const Scenario& s, int) {
  const Parallel& p = s.parallel;
  const std::int64_t chunks = std::int64_t{p.pp} * p.vpp;
  if (p.vpp > 1 && p.pp == 1)
    return inconsistent(s, "parallel.vpp", fmt::format("expected 1 with pp = 1, found {}", p.vpp),
                        "virtual stages divide a pipeline");
  if (p.vpp > 1 && p.schedule != Schedule::kNone && p.schedule != Schedule::kInterleaved1f1b)
    return inconsistent(s, "parallel.schedule",
                        fmt::format("expected interleaved-1f1b with vpp = {}, found {}", p.vpp, name(p.schedule)));
  if (chunks > s.model.layers + 2)
    return inconsistent(s, "parallel.pp",
                        fmt::format("expected at most layers + 2 = {} chunks, found pp x vpp = {} x {} = {}",
                                    s.model.layers + 2, p.pp, p.vpp, chunks));
  if (p.layout.empty()) return std::nullopt;
  if (static_cast<std::int64_t>(p.layout.size()) != chunks)
    return inconsistent(s, "parallel.layout",
                        fmt::format("expected {} entries, one a chunk (pp x vpp = {} x {}), found {}", chunks, p.pp,
                                    p.vpp, p.layout.size()));
  const auto sum = std::accumulate(p.layout.begin(), p.layout.end(), std::int64_t{0});
  if (sum != s.model.layers)
    return inconsistent(s, "parallel.layout",
                        fmt::format("expected a sum of the model's {} layers, found {}", s.model.layers, sum));
  return std::nullopt;
}

std::optional<Error> check_shards(const Scenario& s, int) {
  const Shard shard = s.parallel.shard;
  const bool hybrid = shard == Shard::kFsdpHybrid || shard == Shard::kFsdp2Hybrid;
  if (s.parallel.shard_size > 0 && !hybrid)
    return inconsistent(
        s, "parallel.shard_size",
        fmt::format("expected no shard_size with shard {}, found {}", name(shard), s.parallel.shard_size),
        "fsdp-hybrid and fsdp2-hybrid have one");
  return std::nullopt;
}

std::optional<Error> check_batch(const Scenario& s, int world) {
  const Parallel& p = s.parallel;
  const std::int64_t model = std::int64_t{p.tp} * p.cp * p.pp;
  if (s.batch.micro < 1) return inconsistent(s, "batch.micro", "expected at least 1 sequence");
  if (s.batch.global < 1)
    return inconsistent(s, "batch.global", "expected the sequences of one optimizer step, found none");
  if (world < 1 && p.dp < 1) return std::nullopt;
  if (world > 0 && world % model != 0)
    return inconsistent(s, "parallel",
                        fmt::format("expected tp x cp x pp to divide the cluster's {} devices, found {} x {} x {} = {}",
                                    world, p.tp, p.cp, p.pp, model));
  if (world > 0 && p.dp > 0 && p.dp != world / model)
    return inconsistent(s, "parallel.dp",
                        fmt::format("expected {} (cluster's {} devices / tp x cp x pp = {}), found {}", world / model,
                                    world, model, p.dp),
                        "\"auto\" takes what is left");
  const std::int64_t dp = p.dp > 0 ? p.dp : world / model;
  const std::int64_t unit = dp * s.batch.micro;
  if (s.batch.global % unit != 0)
    return inconsistent(s, "batch.global",
                        fmt::format("expected a multiple of micro x dp = {} x {} = {}, found {}", s.batch.micro, dp,
                                    unit, s.batch.global),
                        fmt::format("global = {} would do", (s.batch.global + unit - 1) / unit * unit));
  const std::int64_t accumulation = s.batch.global / unit;
  if (p.vpp > 1 && accumulation % p.pp != 0)
    return inconsistent(s, "batch.global",
                        fmt::format("expected micro batches in a multiple of pp = {} (interleaved schedule), found {}",
                                    p.pp, accumulation),
                        fmt::format("global = {} would do", (accumulation + p.pp - 1) / p.pp * p.pp * unit));
  return std::nullopt;
}

std::optional<Error> check_recompute(const Scenario& s, int) {
  if (s.recompute_layers == 0 || s.recompute == Recompute::kFull) return std::nullopt;
  return inconsistent(s, "recompute.layers",
                      fmt::format("expected none with granularity {}, found {}", name(s.recompute), s.recompute_layers),
                      "layers count under full recomputation");
}

std::optional<Error> check_faults(const Scenario& s, int world) {
  constexpr double kMostSlow = 1000;  // a rank's speed is fixed point
  std::unordered_map<int, double> slowness;
  for (std::size_t i = 0; i < s.faults.size(); ++i) {
    const Fault& f = s.faults[i];
    if (f.kind == Fault::Kind::kSlow && world > 0 && f.rank >= world)
      return inconsistent(s, fmt::format("faults[{}].slow.rank", i),
                          fmt::format("expected a rank below the cluster's {} devices, found {}", world, f.rank));
    if (f.kind != Fault::Kind::kSlow) continue;
    const double product = slowness[f.rank] = slowness.try_emplace(f.rank, 1.0).first->second * f.factor;
    if (product > kMostSlow || product < 1 / kMostSlow)
      return inconsistent(s, fmt::format("faults[{}].slow.factor", i),
                          fmt::format("expected factors of rank {} that multiply to 1/{:g}..{:g}, found {:g}", f.rank,
                                      kMostSlow, kMostSlow, product));
  }
  return std::nullopt;
}

}  // namespace

core::Result<void> validate_scenario(const Scenario& scenario, int world) {
  for (const Check check : {check_model, check_unbuilt, check_tensor, check_sequence, check_chunks, check_shards,
                            check_batch, check_recompute, check_faults})
    if (auto e = check(scenario, world)) return *e;
  return {};
}

std::vector<int> auto_layout(int layers, int chunks) {
  TWIN_CHECK(chunks >= 1 && layers >= 1 && chunks <= layers + 2);
  std::vector<int> layout(static_cast<std::size_t>(chunks), layers / chunks);
  if (layers % chunks == 0) return layout;
  const std::int64_t slots = std::int64_t{layers} + 2;
  for (std::int64_t i = 0; i < chunks; ++i)
    layout[static_cast<std::size_t>(i)] = static_cast<int>((i + 1) * slots / chunks - i * slots / chunks);
  --layout.front();
  --layout.back();
  return layout;
}

}  // namespace twin::work
