// Names of the scenario's enumerations, as users write them (DESIGN.md), in the order of the enumerators.
#include "workloads/names.hpp"
#include <cstddef>
#include "sim/core/check.hpp"

namespace twin::work {

namespace {

template <class E>
const char* pick(const std::vector<std::string>& names, E value) {
  const auto i = static_cast<std::size_t>(value);
  TWIN_CHECK(i < names.size());
  return names[i].c_str();
}

}  // namespace

const std::vector<std::string>& shard_names() {
  static const std::vector<std::string> names = {"ddp",           "zero-1",       "zero-2",      "zero-3",
                                                 "fsdp-full",     "fsdp-grad-op", "fsdp-hybrid", "fsdp2-full",
                                                 "fsdp2-grad-op", "fsdp2-hybrid"};
  return names;
}

const std::vector<std::string>& schedule_names() {
  static const std::vector<std::string> names = {"none", "gpipe", "1f1b", "interleaved-1f1b"};
  return names;
}

const std::vector<std::string>& precision_names() {
  static const std::vector<std::string> names = {"bf16",           "fp16",        "fp32",          "fp8",
                                                 "fp8-tensorwise", "fp8-rowwise", "fp8-blockwise", "mxfp8"};
  return names;
}

const std::vector<std::string>& recompute_names() {
  static const std::vector<std::string> names = {"none", "selective", "full"};
  return names;
}

const std::vector<std::string>& attention_names() {
  static const std::vector<std::string> names = {"unfused", "flash1", "flash2", "flash3"};
  return names;
}

const char* name(Shard s) { return pick(shard_names(), s); }
const char* name(Schedule s) { return pick(schedule_names(), s); }
const char* name(Precision p) { return pick(precision_names(), p); }
const char* name(Recompute r) { return pick(recompute_names(), r); }

}  // namespace twin::work
