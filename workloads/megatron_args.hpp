// Megatron-LM arguments (pretrain_gpt.py) as a scenario: a launch script, a fragment that only defines arrays, or a
// plain list. Dense keys are mapped; keys that do not bear on the step are reported as ignored; keys that do and are
// not simulated are errors. Defaults are Megatron's own (arguments.py), those that matter are reported as assumed.
#pragma once
#include <string>
#include <string_view>
#include "workloads/readers.hpp"

namespace twin::work {

core::Result<Import> read_megatron_args(std::string_view text, const std::string& file);

}  // namespace twin::work
