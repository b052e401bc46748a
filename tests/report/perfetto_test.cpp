// Decodes what we write with protozero and with protoc, and checks the rules of the format: slices of a track nest and
// are ordered, every name is interned, parents exist, flows link the classes of one message.
#include <unistd.h>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <protozero/pbf_message.hpp>
#include <set>
#include "sim/report/perfetto_fields.hpp"
#include "sim/report/perfetto_trace.hpp"
#include "tests/report/recorded_step.hpp"

using namespace twin;
namespace pf = report::perfetto;

namespace {

struct DecodedSlice {
  std::string name;
  std::int64_t begin = 0, end = -1;
  std::size_t depth = 0;
  std::uint64_t flow = 0, terminating = 0;
  std::map<std::string, std::int64_t> ints;
  std::map<std::string, std::string> texts;
};

struct DecodedTrack {
  std::string name;
  std::uint64_t parent = 0;
  bool counter = false;
  std::vector<DecodedSlice> slices;
  std::vector<std::pair<std::int64_t, std::int64_t>> samples;
};

using Names = std::map<std::uint64_t, std::string>;

void decode_names(protozero::data_view view, Names& names) {
  protozero::pbf_message<pf::InternedName> m(view);
  std::uint64_t iid = 0;
  std::string name;
  while (m.next()) {
    if (m.tag() == pf::InternedName::kIid)
      iid = m.get_uint64();
    else
      name = m.get_string();
  }
  REQUIRE(iid > 0);
  REQUIRE(names.emplace(iid, name).second);
}

class Decoder {
 public:
  explicit Decoder(const std::string& bytes) {
    protozero::pbf_message<pf::Trace> trace(bytes);
    bool first = true;
    while (trace.next(pf::Trace::kPacket)) {
      packet(trace.get_view(), first);
      first = false;
    }
    for (const auto& [uuid, open] : open_) CHECK(open.empty());
  }
  std::map<std::uint64_t, DecodedTrack> tracks;
  const DecodedTrack& named(const std::string& parent, const std::string& name) const {
    for (const auto& [uuid, t] : tracks)
      if (t.name == name && tracks.count(t.parent) && tracks.at(t.parent).name.rfind(parent, 0) == 0) return t;
    FAIL("no track " << parent << " > " << name);
    throw 0;
  }

 private:
  void packet(protozero::data_view view, bool first) {
    protozero::pbf_message<pf::Packet> m(view);
    std::int64_t time = -1;
    protozero::data_view event;
    std::uint64_t sequence = 0, flags = 0;
    while (m.next()) switch (m.tag()) {
        case pf::Packet::kTimestamp:
          time = static_cast<std::int64_t>(m.get_uint64());
          break;
        case pf::Packet::kSequenceId:
          sequence = m.get_uint32();
          break;
        case pf::Packet::kSequenceFlags:
          flags = m.get_uint32();
          break;
        case pf::Packet::kTrackEvent:
          event = m.get_view();
          break;
        case pf::Packet::kInternedData:
          interned(m.get_view());
          break;
        case pf::Packet::kTrackDescriptor:
          descriptor(m.get_view());
          break;
      }
    CHECK(sequence == 1);
    CHECK((flags & pf::kStateCleared) == (first ? pf::kStateCleared : 0U));
    if (event.size()) decode_event(event, time);
  }
  void interned(protozero::data_view view) {
    protozero::pbf_message<pf::Interned> m(view);
    while (m.next()) {
      Names& into = m.tag() == pf::Interned::kEventNames        ? names_
                    : m.tag() == pf::Interned::kAnnotationNames ? annotations_
                                                                : categories_;
      decode_names(m.get_view(), into);
    }
  }
  void descriptor(protozero::data_view view) {
    protozero::pbf_message<pf::Descriptor> m(view);
    std::uint64_t uuid = 0;
    DecodedTrack t;
    while (m.next()) switch (m.tag()) {
        case pf::Descriptor::kUuid:
          uuid = m.get_uint64();
          break;
        case pf::Descriptor::kName:
          t.name = m.get_string();
          break;
        case pf::Descriptor::kParentUuid:
          t.parent = m.get_uint64();
          break;
        case pf::Descriptor::kCounter:
          t.counter = m.get_view().size() > 0;
          break;
        default:
          m.skip();
      }
    CHECK((t.parent == 0 || tracks.count(t.parent) == 1));
    CHECK(tracks.emplace(uuid, t).second);
  }
  void annotation(protozero::data_view view, DecodedSlice& s) {
    protozero::pbf_message<pf::Annotation> m(view);
    std::string name;
    while (m.next()) switch (m.tag()) {
        case pf::Annotation::kNameIid:
          name = annotations_.at(m.get_uint64());
          break;
        case pf::Annotation::kInt:
          s.ints[name] = m.get_int64();
          break;
        case pf::Annotation::kString:
          s.texts[name] = m.get_string();
          break;
        default:
          FAIL("unexpected annotation field");
      }
  }
  void decode_event(protozero::data_view view, std::int64_t time) {
    protozero::pbf_message<pf::Event> m(view);
    DecodedSlice s;
    s.begin = time;
    int type = 0;
    std::uint64_t track = 0;
    std::int64_t value = 0;
    while (m.next()) switch (m.tag()) {
        case pf::Event::kType:
          type = m.get_enum();
          break;
        case pf::Event::kTrackUuid:
          track = m.get_uint64();
          break;
        case pf::Event::kNameIid:
          s.name = names_.at(m.get_uint64());
          break;
        case pf::Event::kCategoryIids:
          CHECK(categories_.count(m.get_uint64()) == 1);
          break;
        case pf::Event::kFlowIds:
          s.flow = m.get_fixed64();
          break;
        case pf::Event::kTerminatingFlowIds:
          s.terminating = m.get_fixed64();
          break;
        case pf::Event::kAnnotations:
          annotation(m.get_view(), s);
          break;
        case pf::Event::kCounterValue:
          value = m.get_int64();
          break;
      }
    REQUIRE(tracks.count(track) == 1);
    auto& t = tracks[track];
    CHECK(time >= last_[track]);  // ordered on its track
    last_[track] = time;
    auto& open = open_[track];
    if (type == pf::kSliceBegin) {
      s.depth = open.size();
      open.push_back(t.slices.size());
      t.slices.push_back(s);
    } else if (type == pf::kSliceEnd) {
      REQUIRE_FALSE(open.empty());
      t.slices[open.back()].end = time;
      open.pop_back();
    } else {
      CHECK(t.counter);
      t.samples.emplace_back(time, value);
    }
  }
  Names names_, annotations_, categories_;
  std::map<std::uint64_t, std::vector<std::size_t>> open_;
  std::map<std::uint64_t, std::int64_t> last_;
};

// The recorded step with stage 0's program repeated until it has `ops` compute ops.
step::StepResult long_step(std::size_t ops) {
  auto r = report::test::recorded_step();
  auto programs = std::make_shared<std::vector<step::Program>>(*r.programs);
  auto timeline = std::make_shared<step::Timeline>();
  timeline->op_offset = {0};
  for (std::size_t c = 0; c < 2; ++c) {
    auto& p = (*programs)[c];
    const step::Op op{.type = step::OpType::kCompute,
                      .stream = step::Stream::kCompute,
                      .body = 0,
                      .micro_batch = 1,
                      .chunk = 2,
                      .layer = 3};
    p.ops.assign(ops / 2, op);
    p.successor_start.assign(p.ops.size() + 1, 0);
    p.successors.clear();
    for (std::size_t i = 0; i < p.ops.size(); ++i) {
      timeline->posted.push_back(static_cast<std::int64_t>(i) * 100);
      timeline->start.push_back(static_cast<std::int64_t>(i) * 100);
      timeline->finish.push_back(static_cast<std::int64_t>(i) * 100 + 90);
    }
    timeline->op_offset.push_back(static_cast<std::int64_t>(timeline->posted.size()));
  }
  r.programs = programs;
  r.timeline = timeline;
  return r;
}

}  // namespace

TEST_CASE("a trace has rows job > class > stream with slices, kernels, waits and flows", "[fast]") {
  auto r = report::test::recorded_step();
  report::TraceOptions options;
  options.memory = {{{0, 1e9}, {100, 2e9}}, {}};
  const auto bytes = report::perfetto_bytes(r, options);
  REQUIRE(bytes);
  const Decoder d(*bytes);
  const auto& compute = d.named("stage 0 x 8 ranks", "compute");
  REQUIRE(compute.slices.size() == 3);
  CHECK(compute.slices[0].name == "block forward");
  CHECK(compute.slices[0].ints == std::map<std::string, std::int64_t>{{"micro_batch", 3}, {"chunk", 1}, {"layer", 7}});
  CHECK(compute.slices[1].name == "qkv");  // 30 of 40 ns of kernels, stretched to 75 of the op's 100 ns
  CHECK(compute.slices[1].depth == 1);
  CHECK(compute.slices[1].end == 75);
  CHECK(compute.slices[2].begin == 75);
  CHECK(compute.slices[2].end == 100);
  const auto& send = d.named("stage 0", "pp send forward");
  const auto& recv = d.named("stage 1", "pp recv forward");
  REQUIRE(send.slices.size() == 2);
  REQUIRE(recv.slices.size() == 2);
  CHECK(send.slices[0].flow != 0);
  CHECK(send.slices[0].flow == recv.slices[0].terminating);
  CHECK(recv.slices[1].name == "wait for peers");
  CHECK(recv.slices[1].end == 150);
  CHECK(recv.slices[0].ints.at("bytes") == 1024);
  CHECK(recv.slices[0].ints.at("communicator_ranks") == 2);
  const auto& tp = d.named("stage 1", "tp");
  REQUIRE(tp.slices.size() == 1);
  CHECK(tp.slices[0].flow == 0);  // only one class takes part
  CHECK(tp.slices[0].texts.at("communicator") == "tp/ring");
  CHECK(d.named("stage 0", "memory").samples ==
        std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 1000000000}, {100, 2000000000}});
  CHECK(d.named("traintwin step", "stage 1 x 8 ranks [critical]").parent != 0);
}

TEST_CASE("ops of one stream that overlap get lanes of their own", "[fast]") {
  auto r = report::test::recorded_step();
  auto timeline = std::make_shared<step::Timeline>(*r.timeline);
  timeline->start[5] = 250;  // while the op before runs until 310
  r.timeline = timeline;
  const Decoder d(*report::perfetto_bytes(r));
  CHECK(d.named("stage 1", "compute").slices.size() == 1);
  CHECK(d.named("stage 1", "compute #2").slices.size() == 1);
}

TEST_CASE("protoc reads the trace", "[fast]") {
  const auto path = std::filesystem::temp_directory_path() / ("twin-trace-" + std::to_string(::getpid()));
  const auto stats = report::write_perfetto(report::test::recorded_step(), path.string());
  REQUIRE(stats);
  CHECK(stats->bytes == static_cast<std::int64_t>(std::filesystem::file_size(path)));
  CHECK(stats->flows == 2);
  const std::string command = "protoc --decode_raw < '" + path.string() + "' | grep -c '^1 {'";
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe);
  int packets = 0;
  CHECK(std::fscanf(pipe, "%d", &packets) == 1);
  CHECK(pclose(pipe) == 0);
  std::filesystem::remove(path);
  CHECK(packets > 20);
}

TEST_CASE("classes are left out evenly above the limit, never the critical one", "[fast]") {
  report::TraceOptions options;
  options.max_slices = 3;  // room for one of the two classes
  const Decoder d(*report::perfetto_bytes(report::test::recorded_step(), options));
  CHECK(d.named("traintwin step", "stage 1 x 8 ranks [critical]").parent != 0);
  for (const auto& [uuid, t] : d.tracks) CHECK(t.name.rfind("stage 0", 0) != 0);
}

TEST_CASE("errors: not recorded, not writable", "[fast]") {
  CHECK_FALSE(report::perfetto_bytes(step::StepResult{}));
  const auto bad = report::write_perfetto(report::test::recorded_step(), "/nonexistent/x");
  REQUIRE_FALSE(bad);
  CHECK(bad.error().where == "/nonexistent/x");
}

TEST_CASE("a million slices are written in under two seconds", "[slow]") {
  const auto r = long_step(500'000);  // one of the two classes has two kernels in each op
  const auto begin = std::chrono::steady_clock::now();
  const auto bytes = report::perfetto_bytes(r);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  REQUIRE(bytes);
  CHECK(bytes->size() > 40'000'000);
  CHECK(wall.count() < 2.0);
}
