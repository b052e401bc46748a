// The inferences of the normaliser, one step each: model family, plan, precision, software stack, and what single
// sources say elsewhere than in their rows. Each adds to scenario.assumed what it filled in.
#pragma once
#include <string>
#include "validate/row.hpp"
#include "validate/rules.hpp"
#include "workloads/scenario.hpp"

namespace twin::validate {

void infer_model(const Row& row, work::Scenario& s);
void infer_plan(const Row& row, const SourceRule& rule,
                work::Scenario& s);  // sharding, sp, schedule, recompute, overlap
std::string infer_precision(const Row& row, const SourceRule& rule, work::Scenario& s);  // returns a skip reason
std::string infer_stack_name(const Row& row, const SourceRule& rule);
void infer_source_specifics(const Row& row, work::Scenario& s);  // after the stack is known

// BLOOM prequel: what its text says about runs whose rows carry other dimensions (source_notes.cpp).
void correct_bloom_dimensions(const Row& row, work::Scenario& s);

}  // namespace twin::validate
