// The calibrated constants: one registry of named numbers with prior, spread, level, unit and source; the fitted value
// beside it. Levels: A accelerator, B kernel implementation, C software stack, D global mechanism, E fabric. A name is
// dotted: "gemm.h100-sxm.bf16" (A), "attention.flash2" (B), "fusion.megatron-core" (C), "overlap.hbm_share" (D),
// "net.ib.latency_us" (E). Lookup falls back from the named entry to the name with its middle part replaced by "*"
// ("gemm.*.bf16"). For a two-part name the last part is replaced ("fusion.my-fork" -> "fusion.*"). Files: {"constants":
// [{"name", "prior", "value"?, "sd", "held"?, "level", "unit", "source"}]}; a calibration file has fitted values only,
// {"values": {"name": value}, "tables": [...]} (kernel_table.hpp), and refers to names that exist.
// A reader notes which constants were used, so that --explain can say where a number came from and a fit knows its
// columns.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>
#include "sim/core/result.hpp"

namespace twin::device {

class KernelTable;  // kernel_table.hpp

struct Constant {
  std::string name;
  double value = 0;  // in force (fitted, or the prior where not fitted)
  double prior = 0;
  bool held =
      false;      // step times do not identify it: a fit on them leaves it at its prior, an interval uses its spread
  double sd = 0;  // prior spread of log(value); 0: not fitted
  char level = 'D';
  std::string unit;
  std::string source;
};

class Constants {
 public:
  static core::Result<Constants> parse(std::string_view json_text, const std::string& file);
  // Embedded sim/device/constants.json and sim/fabric/constants.json, then validate/calibration.json over them.
  static const Constants& builtin();
  double get(std::string_view name) const;  // value; TWIN_CHECK fails on an unknown name without fallback
  int index(std::string_view name) const;   // -1: unknown even with fallback
  const std::vector<Constant>& all() const { return all_; }
  void set(int index, double value);
  std::string to_json() const;  // same form as parse() reads
  // Takes other's constants in; a name in both is an error that names `file`.
  core::Result<void> merge(const Constants& other, const std::string& file);
  // Sets values from a calibration file's text; unknown names are errors with the nearest one. Also takes its kernel
  // tables.
  core::Result<void> apply_calibration(std::string_view json_text, const std::string& file);
  const std::shared_ptr<const KernelTable>& table() const { return table_; }  // measured kernels; null: none
  void set_table(std::shared_ptr<const KernelTable> table) { table_ = std::move(table); }
  // Use tracking (not thread-safe; each thread has its own copy).
  void start_tracking() { used_.assign(all_.size(), 0); }
  std::vector<int> used() const;

 private:
  std::vector<Constant> all_;
  std::map<std::string, int, std::less<>> by_name_;
  mutable std::vector<char> used_;
  std::shared_ptr<const KernelTable> table_;
};

// The built-in constants with the values and tables of FILE over them (`--calibration FILE`).
core::Result<Constants> load_calibration(const std::string& path);

// What a fit must not do: fractions of a measured ceiling above 1 (with 3 % for the ceiling's own error), a stack
// residual away from 1 by more than 15 %, a value more than 3 prior spreads out. Each is a sign of a missing mechanism;
// one sentence per finding.
std::vector<std::string> structure_warnings(const Constants& constants);

}  // namespace twin::device
