#include "sim/fabric/rates.hpp"
#include <algorithm>
#include <limits>

namespace twin::fabric {
namespace {

// Rate of a single message over a route: the link with the least capacity per unit.
double route_rate(const View& view, const std::vector<LinkLoad>& route) {
  double rate = std::numeric_limits<double>::infinity();
  for (const LinkLoad& l : route)
    if (l.units > 0)
      rate =
          std::min(rate, from_rate(view.capacity(l.link)) * static_cast<double>(kUnit) / static_cast<double>(l.units));
  return route.empty() ? 0 : rate;
}

int sharers(const View& view, core::DeviceId a, core::DeviceId peer, core::LinkId first) {
  int n = 1;
  std::vector<LinkLoad> route;
  for (int d = std::max(0, a.value - 7); d < std::min(view.devices(), a.value + 8); ++d) {
    const core::DeviceId other{d};
    if (other == a || view.node_of(other) != view.node_of(a)) continue;
    route.clear();
    if (!view.route(other, peer, kUnit, route)) continue;
    if (std::any_of(route.begin(), route.end(), [&](const LinkLoad& l) { return l.link == first; })) ++n;
  }
  return n;
}

}  // namespace

WireRates probe(const View& view) {
  WireRates best;
  const int n = view.devices();
  std::vector<LinkLoad> route;
  for (int sample = 0; sample < 3; ++sample) {
    const int d = static_cast<int>(static_cast<std::int64_t>(n) * sample / 3);
    const core::DeviceId a{d};
    const int domain = view.scaleup_domain_of(a);
    for (const int other : {d + 1, d - 1}) {
      if (other < 0 || other >= n || view.scaleup_domain_of(core::DeviceId{other}) != domain) continue;
      route.clear();
      if (view.route(a, core::DeviceId{other}, kUnit, route))
        best.scaleup = std::max(best.scaleup, route_rate(view, route));
    }
    for (const int stride : {n / 2, n - 1, n / 3}) {
      const core::DeviceId peer{(d + stride) % n};
      if (view.scaleup_domain_of(peer) == domain) continue;
      route.clear();
      if (!view.route(a, peer, kUnit, route) || route.empty()) continue;
      const double rate = route_rate(view, route);
      if (rate > best.nic) best = {best.scaleup, rate, sharers(view, a, peer, route.front().link)};
      break;
    }
  }
  return best;
}

}  // namespace twin::fabric
