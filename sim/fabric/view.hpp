// What the fabric layer may know of a cluster: links with integer capacities, routes as weighted link sets, and the
// few facts that a collective algorithm is chosen by. topologies implements it; nothing here stores all-pairs tables.
//
// Fixed point (see sim/core/fluid.hpp): capacity and rate are int64 in 2^-32 byte/ns; a weight of 2^20 is "one".
#pragma once
#include <cstdint>
#include <string>
#include <vector>
#include "sim/core/ids.hpp"
#include "sim/core/time.hpp"

namespace twin::fabric {

inline constexpr int kRateBits = 32;
inline constexpr int kWeightBits = 20;
inline constexpr std::int64_t kUnit = std::int64_t{1} << kWeightBits;
inline std::int64_t to_rate(double bytes_per_s) {  // bytes/s -> 2^-32 byte/ns
  return static_cast<std::int64_t>(bytes_per_s * 1e-9 * 4294967296.0 + 0.5);
}
inline double from_rate(std::int64_t rate) { return static_cast<double>(rate) / 4294967296.0 * 1e9; }

struct LinkLoad {
  core::LinkId link;
  std::int64_t units = 0;  // share of the message on this link, kUnit = all of it
};

// How far apart two devices are; decides latency and protocol. Ordered.
enum class Reach : std::uint8_t { kSelf, kScaleUp, kNode, kLeaf, kPod, kCore };

struct DomainFeatures {
  bool nvls = false;     // NVLink SHARP: in-switch reduction in the scale-up domain
  bool sharp = false;    // in-network reduction in the scale-out fabric
  std::string family;    // accelerator family, "hopper"
  std::string scaleout;  // "infiniband", "roce", "efa", "slingshot", "omnipath", "ethernet", "ici"
};

class View {
 public:
  virtual ~View() = default;
  virtual int devices() const = 0;
  virtual int links() const = 0;
  virtual int nodes() const = 0;
  virtual std::int64_t capacity(core::LinkId link) const = 0;  // 2^-32 byte/ns, degradations multiplied in, 0 = down
  virtual std::string link_name(core::LinkId link) const = 0;  // "nic:node17/3:tx"
  virtual core::NodeId node_of(core::DeviceId d) const = 0;
  virtual int scaleup_domain_of(core::DeviceId d) const = 0;  // devices in one domain reach each other without a NIC
  virtual int rail_of(core::DeviceId d) const = 0;            // index of its NIC inside its node
  virtual Reach reach(core::DeviceId a, core::DeviceId b) const = 0;
  virtual core::Time latency(Reach r) const = 0;  // wire and switches, one way, without software
  // Appends the links that `units` of a message from a to b load (even split over spines unless ECMP). False: no path.
  virtual bool route(core::DeviceId a, core::DeviceId b, std::int64_t units, std::vector<LinkLoad>& out) const = 0;
  virtual const DomainFeatures& features() const = 0;
};

}  // namespace twin::fabric
