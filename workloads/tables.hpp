// The tables of fields of models, stacks and scenarios; private to workloads.
#pragma once
#include "workloads/field_table.hpp"
#include "workloads/scenario.hpp"

namespace twin::work::detail {

const std::vector<Field<Model>>& model_fields();
const std::vector<Field<Stack>>& stack_fields();
const std::vector<Field<Scenario>>& scenario_fields();

}  // namespace twin::work::detail
