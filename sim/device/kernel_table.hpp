// Measured kernel times: (accelerator, op, dtype, m, n, k, batch) -> seconds. Beats the formula where it has the shape,
// or where two measured shapes bracket it in exactly one dimension within a factor of kMaxGap (then a power law between
// the two).
//   "tables": [{"accelerator": "a100-sxm", "op": "gemm", "dtype": "bf16", "source": "...", "rows": [[m, n, k, batch,
//   seconds]]}]
// op: gemm | attention-forward | attention-backward. The times are those with all SMs free and a warm clock.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include "sim/core/result.hpp"
#include "sim/device/kernel.hpp"

namespace twin::device {

class KernelTable {
 public:
  static constexpr double kMaxGap = 4;
  static core::Result<KernelTable> parse(const nlohmann::json& tables, const std::string& where);
  nlohmann::json to_json() const;
  void add(const std::string& accelerator, const std::string& op, Dtype dtype, const std::array<std::int64_t, 4>& mnkb,
           double seconds);
  // -1: nothing measured on this accelerator.
  int accelerator(const std::string& name) const;
  std::optional<double> find(int accelerator, const Kernel& kernel) const;
  std::size_t size() const { return exact_.size(); }

 private:
  using Key = std::array<std::int64_t, 6>;  // accelerator, op * 16 + dtype, m, n, k, batch; a free dimension is -1
  std::vector<std::string> accelerators_;
  std::map<Key, double> exact_;
  std::map<Key, std::map<std::int64_t, double>> lines_;  // key with one dimension free -> (its size -> seconds)
};

}  // namespace twin::device
