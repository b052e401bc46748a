// Strong integer ids. An id names one kind of thing and indexes the columns that describe it; -1 is "none".
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>

namespace twin::core {

template <class Tag>
struct Id {
  std::int32_t value = -1;
  constexpr bool valid() const { return value >= 0; }
  constexpr std::size_t index() const { return static_cast<std::size_t>(value); }
  friend constexpr auto operator<=>(Id, Id) = default;
};

using RankId = Id<struct RankTag>;      // a process of the job: one accelerator's place in the plan
using DeviceId = Id<struct DeviceTag>;  // an accelerator of the cluster
using NodeId = Id<struct NodeTag>;      // an OS host (an NVL72 tray is one)
using LinkId = Id<struct LinkTag>;      // a directed link
using ClassId = Id<struct ClassTag>;    // a class of ranks that behave alike
using OpId = Id<struct OpTag>;          // an op of a program

}  // namespace twin::core
