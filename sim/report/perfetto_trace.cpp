// Native Perfetto trace of a recorded step; see the header.
#include "sim/report/perfetto_trace.hpp"
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include "sim/core/check.hpp"
#include "sim/report/instances.hpp"
#include "sim/report/names.hpp"
#include "sim/report/perfetto_writer.hpp"

namespace twin::report {
namespace {

constexpr std::size_t kChunk = std::size_t{4} << 20;
constexpr std::uint64_t kJobTrack = 1;
constexpr std::uint64_t kTracksPerClass =
    64;  // 0 the class, then streams and their further lanes, the last the counter

using Sink = std::function<bool(std::string&)>;  // takes the bytes away; false: cannot be written

struct OpSpan {
  std::int32_t op = 0;
  std::int64_t begin = 0, end = 0;
};

class TraceBuilder {
 public:
  TraceBuilder(const step::StepResult& result, const TraceOptions& options, Sink sink)
      : result_(result), options_(options), sink_(std::move(sink)), writer_(buffer_), instances_(result) {}
  bool run(TraceStats& stats);

 private:
  void intern_names();
  std::vector<std::size_t> classes_to_write() const;
  bool flush(bool force);
  bool write_class(std::size_t rank, int order);
  bool write_stream(std::size_t rank, step::Stream stream, std::vector<OpSpan>& spans, std::uint64_t& next_track);
  void write_op(std::size_t rank, const OpSpan& span, std::uint64_t track);
  void describe_comm(std::size_t rank, const step::Op& op, std::int32_t index);
  void write_kernels(const step::Program& program, const step::Bundle& bundle, const OpSpan& span, std::uint64_t track);
  void write_memory(std::size_t rank, std::uint64_t class_track);
  const step::Program& program(std::size_t rank) const {
    return (*result_.programs)[static_cast<std::size_t>(result_.system->program[rank])];
  }
  std::uint64_t name_iid(const std::string& s) { return writer_.name(s.empty() ? "?" : s); }

  const step::StepResult& result_;
  const TraceOptions& options_;
  Sink sink_;
  std::string buffer_;
  PerfettoWriter writer_;
  Instances instances_;
  TraceStats stats_;
  Slice slice_, child_;  // reused: their vectors keep their room
  // [program][name index] -> iid
  std::vector<std::vector<std::uint64_t>> names_, kernels_;
  std::uint64_t wait_name_ = 0, categories_[static_cast<std::size_t>(step::Category::kCount)] = {};
  std::uint64_t micro_batch_ = 0, chunk_ = 0, layer_ = 0, bytes_ = 0, members_ = 0, algorithm_ = 0, communicator_ = 0;
};

void TraceBuilder::intern_names() {
  for (const auto& p : *result_.programs) {
    auto& names = names_.emplace_back();
    for (const auto& s : p.names) names.push_back(name_iid(s));
    auto& kernels = kernels_.emplace_back();
    for (const auto& s : p.kernel_names) kernels.push_back(name_iid(s));
  }
  wait_name_ = writer_.name("wait for peers");
  for (std::size_t c = 0; c < std::size(categories_); ++c)
    categories_[c] = writer_.category(category_name(static_cast<step::Category>(c)));
  micro_batch_ = writer_.annotation("micro_batch");
  chunk_ = writer_.annotation("chunk");
  layer_ = writer_.annotation("layer");
  bytes_ = writer_.annotation("bytes");
  members_ = writer_.annotation("communicator_ranks");
  algorithm_ = writer_.annotation("algorithm");
  communicator_ = writer_.annotation("communicator");
}

// All classes if their slices are few enough; else the critical one and others spread evenly.
std::vector<std::size_t> TraceBuilder::classes_to_write() const {
  const std::size_t n = result_.system->ranks();
  const auto ops = static_cast<std::int64_t>(result_.timeline->posted.size());
  const auto per_class = std::max<std::int64_t>(1, ops / std::max<std::int64_t>(1, static_cast<std::int64_t>(n)));
  const auto room = static_cast<std::size_t>(std::max<std::int64_t>(1, options_.max_slices / per_class));
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < std::min(n, room); ++i) chosen.push_back(n <= room ? i : i * n / room);
  const auto critical = static_cast<std::size_t>(result_.critical_class);
  if (critical < n && !std::binary_search(chosen.begin(), chosen.end(), critical)) {
    *std::min_element(chosen.begin(), chosen.end(), [&](std::size_t a, std::size_t b) {
      return std::max(a, critical) - std::min(a, critical) < std::max(b, critical) - std::min(b, critical);
    }) = critical;
    std::sort(chosen.begin(), chosen.end());
  }
  return chosen;
}

bool TraceBuilder::flush(bool force) {
  if (buffer_.empty() || (!force && buffer_.size() < kChunk)) return true;
  stats_.bytes += static_cast<std::int64_t>(buffer_.size());
  const bool ok = sink_(buffer_);
  buffer_.clear();
  return ok;
}

bool TraceBuilder::run(TraceStats& stats) {
  intern_names();
  writer_.begin_sequence();
  writer_.track(kJobTrack, 0, options_.job, 0);
  int order = 0;
  const auto chosen = classes_to_write();
  for (const std::size_t rank : chosen)
    if (!write_class(rank, order++)) return false;
  stats_.classes_written = static_cast<std::int64_t>(chosen.size());
  stats_.classes_left_out = static_cast<std::int64_t>(result_.system->ranks() - chosen.size());
  const bool ok = flush(true);
  stats = stats_;
  return ok;
}

bool TraceBuilder::write_class(std::size_t rank, int order) {
  const std::uint64_t class_track = (rank + 1) * kTracksPerClass;
  std::string label = "class " + std::to_string(rank);
  if (rank < result_.class_rows.size()) {
    const auto& row = result_.class_rows[rank];
    if (!row.name.empty()) label = row.name;
    if (label.find(" rank") == std::string::npos) label += " x " + std::to_string(row.ranks) + " ranks";
  }
  if (static_cast<int>(rank) == result_.critical_class) label += " [critical]";
  writer_.track(class_track, kJobTrack, label, order);
  const step::Program& p = program(rank);
  const auto first = static_cast<std::size_t>(result_.timeline->op_offset[rank]);
  std::vector<OpSpan> by_stream[step::kStreams];
  for (std::size_t i = 0; i < p.ops.size(); ++i) {
    const step::Op& op = p.ops[i];
    const auto& begins = op.type == step::OpType::kComm ? result_.timeline->posted : result_.timeline->start;
    by_stream[static_cast<std::size_t>(op.stream)].push_back(
        {static_cast<std::int32_t>(i), begins[first + i], result_.timeline->finish[first + i]});
  }
  std::uint64_t next_track = class_track + 1;
  for (int s = 0; s < step::kStreams; ++s) {
    auto& spans = by_stream[static_cast<std::size_t>(s)];
    if (!spans.empty() && !write_stream(rank, static_cast<step::Stream>(s), spans, next_track)) return false;
  }
  write_memory(rank, class_track);
  return flush(false);
}

// Slices of one track must not overlap. An in-order stream needs one track; should ops of a stream overlap, further
// lanes take them.
bool TraceBuilder::write_stream(std::size_t rank, step::Stream stream, std::vector<OpSpan>& spans,
                                std::uint64_t& next_track) {
  std::stable_sort(spans.begin(), spans.end(), [](const OpSpan& a, const OpSpan& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  const std::uint64_t class_track = (rank + 1) * kTracksPerClass;
  std::vector<std::pair<std::uint64_t, std::int64_t>> lanes;  // track, end
  for (const OpSpan& span : spans) {
    if (span.end < span.begin) continue;  // never ran
    auto lane = std::find_if(lanes.begin(), lanes.end(), [&](const auto& l) { return l.second <= span.begin; });
    if (lane == lanes.end()) {
      TWIN_CHECK(next_track + 1 < class_track + kTracksPerClass);
      std::string name = stream_name(stream);
      if (!lanes.empty()) name += " #" + std::to_string(lanes.size() + 1);
      writer_.track(next_track, class_track, name, static_cast<int>(next_track - class_track));
      lanes.emplace_back(next_track++, 0);
      lane = lanes.end() - 1;
    }
    lane->second = span.end;
    write_op(rank, span, lane->first);
    if (!flush(false)) return false;
  }
  return true;
}

void TraceBuilder::write_op(std::size_t rank, const OpSpan& span, std::uint64_t track) {
  const step::Program& p = program(rank);
  const step::Op& op = p.ops[static_cast<std::size_t>(span.op)];
  const bool comm = op.type == step::OpType::kComm;
  const auto body = static_cast<std::size_t>(op.body);
  const std::int32_t name = comm ? p.comms[body].name : p.bundles[body].name;
  slice_.track = track;
  slice_.name_iid = names_[static_cast<std::size_t>(result_.system->program[rank])][static_cast<std::size_t>(name)];
  slice_.category_iid = categories_[static_cast<std::size_t>(op.category)];
  slice_.begin_ns = span.begin;
  slice_.end_ns = span.end;
  slice_.flow_id = 0;
  slice_.annotations.clear();
  slice_.texts.clear();
  if (op.micro_batch >= 0) slice_.annotations.push_back({micro_batch_, op.micro_batch});
  if (op.chunk >= 0) slice_.annotations.push_back({chunk_, op.chunk});
  if (op.layer >= 0) slice_.annotations.push_back({layer_, op.layer});
  if (comm) describe_comm(rank, op, span.op);
  writer_.begin(slice_);
  ++stats_.slices;
  if (comm) {
    const auto at = static_cast<std::size_t>(result_.timeline->op_offset[rank] + span.op);
    child_ = {.track = track,
              .name_iid = wait_name_,
              .begin_ns = span.begin,
              .end_ns = std::min(result_.timeline->start[at], span.end)};
    if (child_.end_ns > child_.begin_ns) {
      writer_.begin(child_);
      writer_.end(child_);
      ++stats_.slices;
    }
  } else if (options_.kernels) {
    write_kernels(p, p.bundles[body], span, track);
  }
  writer_.end(slice_);
}

void TraceBuilder::describe_comm(std::size_t rank, const step::Op& op, std::int32_t index) {
  const auto& comm = program(rank).comms[static_cast<std::size_t>(op.body)];
  const auto& kind = result_.system->kinds[comm.kind];
  slice_.annotations.push_back({bytes_, comm.bytes});
  slice_.texts.push_back({communicator_, kind.name.c_str()});
  slice_.texts.push_back({algorithm_, fabric::name(kind.algorithm)});
  const std::int32_t instance = instances_.of(static_cast<std::int32_t>(rank), index);
  if (instance < 0) return;
  const auto membership =
      static_cast<std::size_t>(result_.system->membership_of_kind[comm.kind] + (kind.p2p ? comm.role : 0));
  const auto group = static_cast<std::size_t>(
      result_.system->group_of[rank * static_cast<std::size_t>(result_.system->memberships) + membership]);
  const auto geometry = static_cast<std::size_t>(result_.system->group_geometry[group]);
  slice_.annotations.push_back({members_, result_.system->geometries[geometry].ranks});
  const auto& members = instances_.members(instance);
  const bool several =
      std::any_of(members.begin(), members.end(), [&](const Member& m) { return m.rank != members.front().rank; });
  if (!several) return;
  slice_.flow_id = static_cast<std::uint64_t>(instance) + 1;
  slice_.terminates_flow = kind.p2p && comm.role == 1;
  ++stats_.flows;
}

void TraceBuilder::write_kernels(const step::Program& p, const step::Bundle& bundle, const OpSpan& span,
                                 std::uint64_t track) {
  const auto first = static_cast<std::size_t>(bundle.first_kernel);
  const auto count = static_cast<std::size_t>(std::max(0, bundle.kernels));
  if (count < 2 || span.end == span.begin || first + count > p.kernel_ns.size()) return;
  std::int64_t total = 0;
  for (std::size_t k = first; k < first + count; ++k) total += p.kernel_ns[k];
  if (total <= 0) return;
  const auto& iids = kernels_[static_cast<std::size_t>(&p - result_.programs->data())];
  const double scale = static_cast<double>(span.end - span.begin) / static_cast<double>(total);
  std::int64_t done = 0;
  child_ = {.track = track, .end_ns = span.begin};
  for (std::size_t k = first; k < first + count; ++k) {
    done += p.kernel_ns[k];
    child_.name_iid = iids[k];
    child_.begin_ns = child_.end_ns;
    child_.end_ns = std::min(span.end, span.begin + static_cast<std::int64_t>(static_cast<double>(done) * scale + 0.5));
    writer_.begin(child_);
    writer_.end(child_);
    ++stats_.slices;
  }
}

void TraceBuilder::write_memory(std::size_t rank, std::uint64_t class_track) {
  if (rank >= options_.memory.size() || options_.memory[rank].empty()) return;
  const std::uint64_t track = class_track + kTracksPerClass - 1;
  writer_.counter_track(track, class_track, "memory", static_cast<int>(kTracksPerClass));
  for (const MemorySample& sample : options_.memory[rank])
    writer_.counter(track, std::max<std::int64_t>(0, sample.time_ns), std::llround(sample.bytes));
}

core::Result<void> check_recorded(const step::StepResult& result) {
  if (result.system && result.programs && result.timeline &&
      result.timeline->finish.size() == result.timeline->posted.size())
    return {};
  return core::Error{core::ErrorCode::kUnsupported, "trace", "the step was simulated without recording its timeline",
                     ""};
}

}  // namespace

core::Result<std::string> perfetto_bytes(const step::StepResult& result, const TraceOptions& options) {
  if (auto ok = check_recorded(result); !ok) return ok.error();
  std::string all;
  TraceStats stats;
  TraceBuilder(result, options, [&](std::string& bytes) { return all += bytes, true; }).run(stats);
  return all;
}

core::Result<TraceStats> write_perfetto(const step::StepResult& result, const std::string& path,
                                        const TraceOptions& options) {
  if (auto ok = check_recorded(result); !ok) return ok.error();
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "wb"),
                                                             [](std::FILE* f) { return f ? std::fclose(f) : 0; });
  TraceStats stats;
  const auto sink = [&](std::string& bytes) {
    return std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
  };
  if (!file || !TraceBuilder(result, options, sink).run(stats) || std::fflush(file.get()) != 0)
    return core::Error{core::ErrorCode::kNotFound, path, std::string("cannot be written: ") + std::strerror(errno), ""};
  return stats;
}

}  // namespace twin::report
