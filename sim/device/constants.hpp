// The calibrated constants: one registry of named numbers with prior, spread, level, unit and source; the fitted value beside it.
// Levels: A accelerator, B kernel implementation, C software stack, D global mechanism, E fabric. A name is dotted:
// "gemm.h100-sxm.bf16" (A), "attention.flash2" (B), "fusion.megatron-core" (C), "overlap.hbm_share" (D), "net.ib.latency_us" (E).
// Lookup falls back from the named entry to the name with its middle part replaced by "*" ("gemm.*.bf16").
// A reader notes which constants were used, so that --explain can say where a number came from and a fit knows its columns.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>
#include "sim/core/result.hpp"

namespace twin::device {

struct Constant {
  std::string name;
  double value = 0;   // in force (fitted, or the prior where not fitted)
  double prior = 0;
  double sd = 0;      // prior spread of log(value); 0: not fitted
  char level = 'D';
  std::string unit;
  std::string source;
};

class Constants {
 public:
  static core::Result<Constants> parse(std::string_view json_text, const std::string& file);
  static const Constants& builtin();       // the embedded sim/device/constants.json
  double get(std::string_view name) const; // value; TWIN_CHECK fails on an unknown name without fallback
  int index(std::string_view name) const;  // -1: unknown even with fallback
  const std::vector<Constant>& all() const { return all_; }
  void set(int index, double value);
  std::string to_json() const;             // same form as parse() reads
  // Use tracking (not thread-safe; each thread has its own copy).
  void start_tracking() { used_.assign(all_.size(), 0); }
  std::vector<int> used() const;

 private:
  std::vector<Constant> all_;
  std::map<std::string, int, std::less<>> by_name_;
  mutable std::vector<char> used_;
};

}  // namespace twin::device
