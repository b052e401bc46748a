// The valid names of the scenario's enumerations, by enumerator: for parsing, schema and messages.
#pragma once
#include <string>
#include <vector>
#include "workloads/scenario.hpp"

namespace twin::work {

const std::vector<std::string>& shard_names();
const std::vector<std::string>& schedule_names();
const std::vector<std::string>& precision_names();
const std::vector<std::string>& recompute_names();
const std::vector<std::string>& attention_names();  // Stack::Attention

}  // namespace twin::work
