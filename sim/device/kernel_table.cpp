// See kernel_table.hpp. Between two measured sizes x0 < x < x1 the time is t0 (t1/t0)^(log(x/x0)/log(x1/x0)): a power
// law, exact for a constant and for a proportional kernel. Of several bracketing lines the narrowest is taken.
#include "sim/device/kernel_table.hpp"
#include <algorithm>
#include <cmath>
#include "sim/core/check.hpp"
#include "sim/core/json_reader.hpp"

namespace twin::device {

namespace {

const std::vector<std::string> kOps = {"gemm", "attention-forward", "attention-backward"};
constexpr int kGemm = 0, kForward = 1, kBackward = 2;

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (int d = 0; d < static_cast<int>(Dtype::kCount); ++d) names.emplace_back(name(static_cast<Dtype>(d)));
  return names;
}

int op_of(const Kernel& kernel) {
  if (kernel.kind == KernelKind::kGemm) return kGemm;
  if (kernel.kind != KernelKind::kAttention) return -1;
  return kernel.pass == Pass::kForward ? kForward : kBackward;
}

std::int64_t tag(int op, Dtype dtype) { return op * 16 + static_cast<int>(dtype); }

}  // namespace

void KernelTable::add(const std::string& accelerator_name, const std::string& op, Dtype dtype,
                      const std::array<std::int64_t, 4>& mnkb, double seconds) {
  const auto at = std::find(kOps.begin(), kOps.end(), op);
  TWIN_CHECK(at != kOps.end() && seconds > 0);
  int a = accelerator(accelerator_name);
  if (a < 0) {
    a = static_cast<int>(accelerators_.size());
    accelerators_.push_back(accelerator_name);
  }
  const Key key = {a, tag(static_cast<int>(at - kOps.begin()), dtype), mnkb[0], mnkb[1], mnkb[2], mnkb[3]};
  exact_[key] = seconds;
  for (std::size_t i = 2; i < key.size(); ++i) {
    Key line = key;
    line[i] = -1;
    lines_[line][key[i]] = seconds;
  }
}

int KernelTable::accelerator(const std::string& name) const {
  const auto it = std::find(accelerators_.begin(), accelerators_.end(), name);
  return it == accelerators_.end() ? -1 : static_cast<int>(it - accelerators_.begin());
}

std::optional<double> KernelTable::find(int accelerator, const Kernel& kernel) const {
  const int op = op_of(kernel);
  if (accelerator < 0 || op < 0) return std::nullopt;
  const Key key = {accelerator, tag(op, kernel.dtype), kernel.m, kernel.n, kernel.k, kernel.batch};
  if (const auto hit = exact_.find(key); hit != exact_.end()) return hit->second;
  double best_gap = kMaxGap * (1 + 1e-12);
  std::optional<double> best;
  for (std::size_t i = 2; i < key.size(); ++i) {
    Key line = key;
    line[i] = -1;
    const auto it = lines_.find(line);
    if (it == lines_.end()) continue;
    const auto hi = it->second.upper_bound(key[i]);
    if (hi == it->second.begin() || hi == it->second.end()) continue;
    const auto lo = std::prev(hi);
    const double gap = static_cast<double>(hi->first) / static_cast<double>(lo->first);
    if (gap >= best_gap) continue;
    best_gap = gap;
    const double share = std::log(static_cast<double>(key[i]) / static_cast<double>(lo->first)) / std::log(gap);
    best = lo->second * std::pow(hi->second / lo->second, share);
  }
  return best;
}

core::Result<KernelTable> KernelTable::parse(const nlohmann::json& tables, const std::string& where) {
  using core::Error;
  using core::ErrorCode;
  if (!tables.is_array())
    return Error{.code = ErrorCode::kType, .where = where, .message = "expected a list of tables"};
  KernelTable out;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const std::string here = where + "[" + std::to_string(i) + "]";
    if (!tables[i].is_object()) return Error{.code = ErrorCode::kType, .where = here, .message = "expected an object"};
    core::JsonReader r(tables[i], here);
    std::string accelerator, source;
    int op = 0, dtype = 0;
    r.required("accelerator", accelerator)
        .choice("op", op, kOps)
        .choice("dtype", dtype, dtype_names())
        .optional("source", source);
    const nlohmann::json* rows = r.any("rows");
    if (auto e = r.finish(); !e) return e.error();
    if (!rows || !rows->is_array())
      return Error{
          .code = ErrorCode::kType, .where = here + ".rows", .message = "expected a list of [m, n, k, batch, seconds]"};
    for (std::size_t j = 0; j < rows->size(); ++j) {
      const auto& row = (*rows)[j];
      bool good = row.is_array() && row.size() == 5 && row[4].is_number() && row[4].get<double>() > 0;
      for (std::size_t d = 0; good && d < 4; ++d) good = row[d].is_number_integer() && row[d].get<std::int64_t>() > 0;
      if (!good)
        return Error{.code = ErrorCode::kType,
                     .where = here + ".rows[" + std::to_string(j) + "]",
                     .message = "expected [m, n, k, batch, seconds], sizes whole and above 0, found " + row.dump()};
      out.add(accelerator, kOps[static_cast<std::size_t>(op)], static_cast<Dtype>(dtype),
              {row[0].get<std::int64_t>(), row[1].get<std::int64_t>(), row[2].get<std::int64_t>(),
               row[3].get<std::int64_t>()},
              row[4].get<double>());
    }
  }
  return out;
}

nlohmann::json KernelTable::to_json() const {
  std::map<std::pair<std::int64_t, std::int64_t>, nlohmann::json> rows;
  for (const auto& [key, seconds] : exact_) rows[{key[0], key[1]}].push_back({key[2], key[3], key[4], key[5], seconds});
  nlohmann::json out = nlohmann::json::array();
  for (const auto& [head, list] : rows)
    out.push_back({{"accelerator", accelerators_[static_cast<std::size_t>(head.first)]},
                   {"op", kOps[static_cast<std::size_t>(head.second / 16)]},
                   {"dtype", name(static_cast<Dtype>(head.second % 16))},
                   {"rows", list}});
  return out;
}

}  // namespace twin::device
