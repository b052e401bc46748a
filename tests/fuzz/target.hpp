// A fuzz target is one function over the bytes of an input. Expected failures come back as Result and are fine; an
// exception, a failed check or a sanitizer's report is a finding.
// With clang and TWIN_FUZZ=ON each target becomes a libFuzzer program; otherwise tests/fuzz/replay.cpp replays the
// corpus.
#pragma once
#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
