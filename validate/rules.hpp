// What a source or framework does where its rows say nothing: one table, one line each, with the reason. A row is read
// by the rule of its file's name; rows of other files by the first rule whose framework text occurs in
// software.framework.
#pragma once
#include <string>
#include <string_view>
#include <vector>
#include "topologies/cluster_ref.hpp"
#include "validate/row.hpp"
#include "workloads/scenario.hpp"

namespace twin::validate {

struct SourceRule {
  std::string_view file;                  // stem of the file name
  std::string_view framework;             // lower-case substring of software.framework, for other files; empty: never
  std::string_view stack;                 // catalog name
  work::Shard shard = work::Shard::kDdp;  // where the row states none
  bool tp_overlap = false;                // userbuffers or async TP where the row is silent
  bool dp_overlap = false;                // gradient reduction and parameter gather
  work::Precision fp8 = work::Precision::kFp8;  // what "fp8" without a recipe means
  double noise = 0.03;                          // spread of repeated measurements (SCHEMA: noise floor)
  std::string_view basis;                       // why, for scenario.assumed
};

const SourceRule& rule_for(const Row& row);
const std::vector<SourceRule>& source_rules();

// The cluster that the row names by accelerator and scale-out text; empty node: unknown accelerator. `assumed` gets
// what was inferred.
topo::ClusterRef cluster_for(const Row& row, std::vector<std::string>& assumed);

// "h100-sxm", "a100", "gb200", "tpu": for strata and fit groups. Empty: unknown.
std::string accelerator_key(const std::string& accelerator);

enum class Family { kGpt, kBloom, kMpt, kLlama, kNemotron };
Family family_of(const Row& row);

}  // namespace twin::validate
