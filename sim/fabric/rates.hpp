// What NCCL's topology search would find: wire rates of a healthy route inside a scale-up domain and between two, and
// how many devices share a NIC. Probed from a few devices spread over the cluster (the best counts: one dead NIC is no
// topology).
#pragma once
#include "sim/fabric/view.hpp"

namespace twin::fabric {

struct WireRates {
  double scaleup = 0;  // bytes/s one device sends inside its domain
  double nic = 0;      // bytes/s one device sends to another domain
  int nic_share = 1;   // devices of one node whose route leaves by the same NIC
};
WireRates probe(const View& view);

}  // namespace twin::fabric
