// Fields of a scenario that are not a plain number, word or flag; private to workloads.
#pragma once
#include <functional>
#include "workloads/field.hpp"
#include "workloads/scenario.hpp"

namespace twin::work::detail {

Field<Scenario> model_field(const std::string& name);      // name, file or object
Field<Scenario> cluster_field(const std::string& name);    // name, file or object
Field<Scenario> software_field(const std::string& name);   // name, file or object
Field<Scenario> recompute_field(const std::string& name);  // word or {granularity, method, layers}
Field<Scenario> faults_field(const std::string& name);
Field<Scenario> schedule_field(const std::string& name);  // also words that are known and not built yet
Field<Scenario> precision_field(const std::string& name);

// Non-const and const access to one member, for the forms that are compiled apart from the table.
template <class V>
struct Member {
  std::function<V&(Scenario&)> of;
  template <class Access>
  Member(Access access) : of([=](Scenario& s) -> V& { return access(s); }) {}  // NOLINT: implicit on purpose
  const V& get(const Scenario& s) const { return of(const_cast<Scenario&>(s)); }
};

Field<Scenario> layout_field(const std::string& name, const Member<std::vector<int>>& member);
Field<Scenario> tristate_field(const std::string& name, const Member<int>& member,
                               const std::string& help);  // true, false, "auto"
Field<Scenario> order_field(const std::string& name, const Member<std::string>& member);
Field<Scenario> strings_field(const std::string& name, const Member<std::vector<std::string>>& member,
                              const std::string& help);

}  // namespace twin::work::detail
