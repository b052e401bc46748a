// Writes Perfetto packets: interned names, track descriptors, slices, counters. Knows nothing of steps.
// Slices of one track must be begun and ended in order of time and must nest; the caller sees to that.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace twin::report {

struct IntAnnotation {
  std::uint64_t name_iid = 0;
  std::int64_t value = 0;
};
struct TextAnnotation {
  std::uint64_t name_iid = 0;
  const char* value = "";
};

struct Slice {
  std::uint64_t track = 0, name_iid = 0, category_iid = 0;
  std::int64_t begin_ns = 0, end_ns = 0;
  std::uint64_t flow_id = 0;  // 0: none
  bool terminates_flow = false;
  std::vector<IntAnnotation> annotations;
  std::vector<TextAnnotation> texts;
};

class PerfettoWriter {
 public:
  // `out` grows; the caller may take its content away between calls.
  explicit PerfettoWriter(std::string& out) : out_(out) {}
  // All names must be interned before begin_sequence(), which writes them.
  std::uint64_t name(const std::string& s) { return intern(names_, s); }
  std::uint64_t category(const std::string& s) { return intern(categories_, s); }
  std::uint64_t annotation(const std::string& s) { return intern(annotations_, s); }
  void begin_sequence();
  void track(std::uint64_t uuid, std::uint64_t parent, const std::string& name, int order);
  void counter_track(std::uint64_t uuid, std::uint64_t parent, const std::string& name, int order);
  void begin(const Slice& slice);
  void end(const Slice& slice);
  void counter(std::uint64_t track, std::int64_t time_ns, std::int64_t value);

 private:
  using Names = std::map<std::string, std::uint64_t>;
  static std::uint64_t intern(Names& names, const std::string& s) {
    return names.try_emplace(s, names.size() + 1).first->second;
  }
  std::string& out_;
  Names names_, categories_, annotations_;
};

}  // namespace twin::report
