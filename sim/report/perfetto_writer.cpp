// Writes Perfetto packets; see the header.
#include "sim/report/perfetto_writer.hpp"
#include <protozero/pbf_builder.hpp>
#include "sim/report/perfetto_fields.hpp"

namespace twin::report {
namespace {

namespace pf = perfetto;
constexpr std::uint32_t kSequence = 1;

// A packet of the one sequence that we write, with the fields that all have.
class PacketBuilder {
 public:
  PacketBuilder(std::string& out, unsigned flags) : trace_(out), packet_(trace_, pf::Trace::kPacket) {
    packet_.add_uint32(pf::Packet::kSequenceId, kSequence);
    packet_.add_uint32(pf::Packet::kSequenceFlags, flags);
  }
  PacketBuilder(std::string& out, std::int64_t time_ns) : PacketBuilder(out, pf::kNeedsState) {
    packet_.add_uint64(pf::Packet::kTimestamp, static_cast<std::uint64_t>(time_ns));
  }
  protozero::pbf_builder<pf::Packet>& packet() { return packet_; }

 private:
  protozero::pbf_builder<pf::Trace> trace_;
  protozero::pbf_builder<pf::Packet> packet_;
};

void add_names(protozero::pbf_builder<pf::Interned>& data, pf::Interned field,
               const std::map<std::string, std::uint64_t>& names) {
  for (const auto& [name, iid] : names) {
    protozero::pbf_builder<pf::InternedName> entry(data, field);
    entry.add_uint64(pf::InternedName::kIid, iid);
    entry.add_string(pf::InternedName::kName, name);
  }
}

void describe(protozero::pbf_builder<pf::Descriptor>& d, std::uint64_t uuid, std::uint64_t parent,
              const std::string& name, int order) {
  d.add_uint64(pf::Descriptor::kUuid, uuid);
  if (parent) d.add_uint64(pf::Descriptor::kParentUuid, parent);
  d.add_string(pf::Descriptor::kName, name);
  d.add_enum(pf::Descriptor::kChildOrdering, pf::kExplicitOrder);
  d.add_int32(pf::Descriptor::kSiblingOrderRank, order);
}

}  // namespace

void PerfettoWriter::begin_sequence() {
  PacketBuilder p(out_, pf::kStateCleared | pf::kNeedsState);
  protozero::pbf_builder<pf::Interned> data(p.packet(), pf::Packet::kInternedData);
  add_names(data, pf::Interned::kEventCategories, categories_);
  add_names(data, pf::Interned::kEventNames, names_);
  add_names(data, pf::Interned::kAnnotationNames, annotations_);
}

void PerfettoWriter::track(std::uint64_t uuid, std::uint64_t parent, const std::string& name, int order) {
  PacketBuilder p(out_, pf::kNeedsState);
  protozero::pbf_builder<pf::Descriptor> d(p.packet(), pf::Packet::kTrackDescriptor);
  describe(d, uuid, parent, name, order);
}

void PerfettoWriter::counter_track(std::uint64_t uuid, std::uint64_t parent, const std::string& name, int order) {
  PacketBuilder p(out_, pf::kNeedsState);
  protozero::pbf_builder<pf::Descriptor> d(p.packet(), pf::Packet::kTrackDescriptor);
  describe(d, uuid, parent, name, order);
  protozero::pbf_builder<pf::Counter> c(d, pf::Descriptor::kCounter);
  c.add_enum(pf::Counter::kUnit, pf::kUnitBytes);
}

void PerfettoWriter::begin(const Slice& s) {
  PacketBuilder p(out_, s.begin_ns);
  protozero::pbf_builder<pf::Event> e(p.packet(), pf::Packet::kTrackEvent);
  e.add_enum(pf::Event::kType, pf::kSliceBegin);
  e.add_uint64(pf::Event::kTrackUuid, s.track);
  e.add_uint64(pf::Event::kNameIid, s.name_iid);
  if (s.category_iid) e.add_uint64(pf::Event::kCategoryIids, s.category_iid);
  if (s.flow_id) e.add_fixed64(s.terminates_flow ? pf::Event::kTerminatingFlowIds : pf::Event::kFlowIds, s.flow_id);
  for (const auto& a : s.annotations) {
    protozero::pbf_builder<pf::Annotation> entry(e, pf::Event::kAnnotations);
    entry.add_uint64(pf::Annotation::kNameIid, a.name_iid);
    entry.add_int64(pf::Annotation::kInt, a.value);
  }
  for (const auto& a : s.texts) {
    protozero::pbf_builder<pf::Annotation> entry(e, pf::Event::kAnnotations);
    entry.add_uint64(pf::Annotation::kNameIid, a.name_iid);
    entry.add_string(pf::Annotation::kString, a.value);
  }
}

void PerfettoWriter::end(const Slice& s) {
  PacketBuilder p(out_, s.end_ns);
  protozero::pbf_builder<pf::Event> e(p.packet(), pf::Packet::kTrackEvent);
  e.add_enum(pf::Event::kType, pf::kSliceEnd);
  e.add_uint64(pf::Event::kTrackUuid, s.track);
}

void PerfettoWriter::counter(std::uint64_t track, std::int64_t time_ns, std::int64_t value) {
  PacketBuilder p(out_, time_ns);
  protozero::pbf_builder<pf::Event> e(p.packet(), pf::Packet::kTrackEvent);
  e.add_enum(pf::Event::kType, pf::kCounterEvent);
  e.add_uint64(pf::Event::kTrackUuid, track);
  e.add_int64(pf::Event::kCounterValue, value);
}

}  // namespace twin::report
