// Native Perfetto trace of a recorded step: opens in ui.perfetto.dev and in trace_processor. Rows: job > class >
// stream, a counter of memory per class where samples are given. A compute op is a slice with its kernels nested
// (scaled to the op's actual duration); a communication is a slice from posting to end with the wait for its peers
// nested; communications that several classes take part in are linked by flows. Gaps on the compute row are bubbles.
// Wire format: perfetto/trace/trace_packet.proto; field numbers in perfetto_fields.hpp. Times are ns from the step's
// start.
#pragma once
#include <cstdint>
#include <string>
#include <vector>
#include "sim/core/result.hpp"
#include "sim/step/step.hpp"

namespace twin::report {

struct MemorySample {
  std::int64_t time_ns = 0;
  double bytes = 0;
};

struct TraceOptions {
  std::string job = "traintwin step";
  bool kernels = true;                            // nest the kernels of a compute op
  std::vector<std::vector<MemorySample>> memory;  // [class]; empty: no counter
  std::int64_t max_slices = 4'000'000;            // above, classes are left out evenly (the critical one stays)
};

struct TraceStats {
  std::int64_t slices = 0, flows = 0, bytes = 0, classes_written = 0, classes_left_out = 0;
};

// Error: the result was not recorded, or the file cannot be written.
core::Result<TraceStats> write_perfetto(const step::StepResult& result, const std::string& path,
                                        const TraceOptions& options = {});
// The same bytes in memory.
core::Result<std::string> perfetto_bytes(const step::StepResult& result, const TraceOptions& options = {});

}  // namespace twin::report
