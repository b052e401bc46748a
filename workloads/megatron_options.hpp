// The options of Megatron-LM that the reader knows, and what becomes of each; private to workloads.
#pragma once
#include <string>
#include <vector>

namespace twin::work::detail {

enum class OptionUse : unsigned char {
  kInteger,      // a whole number that goes to `field` as it is
  kRead,         // read by megatron_args.cpp
  kOneOnly,      // simulated only with the value 1 (or absent)
  kUnsupported,  // bears on the step and is not simulated
  kIgnored       // does not bear on the step
};

struct MegatronOption {
  const char* name;
  OptionUse use;
  const char* field;  // kInteger: of the scenario; kUnsupported, kOneOnly: why
};

const std::vector<MegatronOption>& megatron_options();
const MegatronOption* find_megatron_option(const std::string& name);  // "_" and "-" are the same; nullptr: unknown

}  // namespace twin::work::detail
