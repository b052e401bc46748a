// Flows on SimGrid 3.32's max-min solver. Settings without which its results are wrong or of another model (all
// measured):
//   network/optim:Full   the default (Lazy) exceeds link capacity when flows of one first link end their latency
//   together latency 0            CM02 shares inversely to route latency; our loop charges latency itself crosstraffic
//   0, TCP-gamma 1e20   no reverse traffic, no window cap a flow's rate is capped by the capacities at its start and
//   never raised: links are widened around start() turn_off() between runs is reported late: faults happen in kernel
//   timers the clock goes on over engines and signals are static: times are relative, the call-back is registered once
#include <exception>
#include <map>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>
#include "sim/fabric/simgrid/api.hpp"

namespace {

namespace sg = simgrid::s4u;
constexpr double kWide = 1e18;

// Two hosts; the path of the next flow is whatever was set just before its start.
struct PathZone : simgrid::kernel::routing::NetZoneImpl {
  explicit PathZone(const std::string& name) : NetZoneImpl(name) {}
  void get_local_route(const simgrid::kernel::routing::NetPoint*, const simgrid::kernel::routing::NetPoint*,
                       simgrid::kernel::routing::Route* route, double*) override {
    for (sg::Link* link : path) route->link_list_.push_back(link->get_impl());
  }
  std::vector<sg::Link*> path;
};

class Engine {
 public:
  Engine(const double* capacity, int links, const TwinSimgridClient& client)
      : client_(client), engine_(make()), origin_(sg::Engine::get_clock()) {
    zone_ = new PathZone("fabric");  // owned by the engine
    from_ = zone_->get_iface()->create_host("from", 1e15);
    to_ = zone_->get_iface()->create_host("to", 1e15);
    for (int i = 0; i < links; ++i) {
      auto* link = zone_->get_iface()->create_link("l" + std::to_string(i), capacity[i] > 0 ? capacity[i] : 1);
      link->set_latency(0)->seal();
      links_.push_back(link);
      capacity_.push_back(capacity[i] > 0 ? capacity[i] : 1);
      up_.push_back(true);
    }
    zone_->get_iface()->seal();
    for (int i = 0; i < links; ++i)
      if (!(capacity[i] > 0)) set_capacity(i, 0);
  }
  double now() const { return sg::Engine::get_clock() - origin_; }

  void run() {
    active = this;
    timer(0, -1);  // everything happens inside the engine's loop
    engine_->run();
    active = nullptr;
  }
  void start(int flow, const int* links, int count, double bytes) {
    for (int i = 0; i < count; ++i)
      if (!up_[static_cast<std::size_t>(links[i])]) return client_.ended(client_.user, flow, now(), bytes, 1);
    zone_->path.clear();
    for (int i = 0; i < count; ++i) {
      zone_->path.push_back(links_[static_cast<std::size_t>(links[i])]);
      zone_->path.back()->set_bandwidth(kWide);
    }
    auto comm = sg::Comm::sendto_init();
    comm->set_payload_size(static_cast<std::uint64_t>(bytes));
    flows_[comm.get()] = flow;
    comms_.push_back(comm);
    comm->set_source(from_)->set_destination(to_);  // starts it
    if (comm->get_state() == sg::Activity::State::INITED) comm->start();
    for (int i = 0; i < count; ++i)
      zone_->path[static_cast<std::size_t>(i)]->set_bandwidth(capacity_[static_cast<std::size_t>(links[i])]);
  }
  void timer(double at, int token) {
    simgrid::kernel::timer::Timer::set(origin_ + at, [this, token] {
      if (token < 0)
        client_.ready(client_.user, now());
      else
        client_.timer(client_.user, token, now());
    });
  }
  void set_capacity(int link, double capacity) {
    const auto i = static_cast<std::size_t>(link);
    if (capacity > 0) {
      capacity_[i] = capacity;
      links_[i]->set_bandwidth(capacity);
      if (!up_[i]) links_[i]->turn_on();
    } else if (up_[i]) {
      links_[i]->turn_off();
    }
    up_[i] = capacity > 0;
  }
  void completed(const sg::Activity& a) {
    const auto it = flows_.find(&a);
    if (it == flows_.end()) return;
    const bool failed = a.get_state() != sg::Activity::State::FINISHED;
    client_.ended(client_.user, it->second, now(), failed ? a.get_remaining() : 0, failed);
  }
  static Engine* active;

 private:
  static sg::Engine* make() {
    static const char* kArguments[] = {"traintwin",
                                       "--cfg=network/model:CM02",
                                       "--cfg=network/crosstraffic:0",
                                       "--cfg=network/TCP-gamma:1e20",
                                       "--cfg=network/optim:Full",
                                       "--log=root.thresh:critical",
                                       nullptr};
    static bool first = true;
    int argc = first ? 6 : 1;
    std::vector<char*> argv;
    for (int i = 0; i < argc; ++i) argv.push_back(const_cast<char*>(kArguments[i]));
    argv.push_back(nullptr);
    auto* engine = new sg::Engine(&argc, argv.data());
    if (first)
      sg::Activity::on_completion_cb([](const sg::Activity& a) {
        if (active) active->completed(a);
      });
    first = false;
    return engine;
  }
  struct Delete {
    void operator()(sg::Engine* e) const { delete e; }
  };
  TwinSimgridClient client_;
  std::unique_ptr<sg::Engine, Delete> engine_;
  double origin_;
  PathZone* zone_ = nullptr;
  sg::Host* from_ = nullptr;
  sg::Host* to_ = nullptr;
  std::vector<sg::Link*> links_;
  std::vector<double> capacity_;
  std::vector<bool> up_;
  std::map<const sg::Activity*, int> flows_;
  std::vector<sg::CommPtr> comms_;
};

Engine* Engine::active = nullptr;

}  // namespace

extern "C" __attribute__((visibility("default"))) const char* twin_simgrid_run(const double* capacity, int links,
                                                                               const TwinSimgridClient* client,
                                                                               TwinSimgridCalls* calls) {
  static std::string message;
  if (Engine::active) return "a SimGrid run is in progress in this process";
  try {
    Engine engine(capacity, links, *client);
    calls->engine = &engine;
    calls->start = [](void* e, int flow, const int* path, int count, double bytes) {
      static_cast<Engine*>(e)->start(flow, path, count, bytes);
    };
    calls->timer = [](void* e, double at, int token) { static_cast<Engine*>(e)->timer(at, token); };
    calls->set_capacity = [](void* e, int link, double c) { static_cast<Engine*>(e)->set_capacity(link, c); };
    engine.run();
  } catch (const std::exception& e) {
    Engine::active = nullptr;
    message = e.what();
    return message.c_str();
  }
  return nullptr;
}
