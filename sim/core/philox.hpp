// Philox4x32-10: a counter-based random number generator (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy
// as 1, 2, 3", SC 2011). Number i of (seed, stream, entity) is a pure function of those four, so it does not matter
// which thread draws it, in what order, or how many others exist. Key: the seed's two halves. Counter: block index (64
// bit), stream, entity. 2^66 words to each. Known answers of the authors' Random123 in tests/core/philox_test.cpp.
//   Philox rng(seed, kFailures, node.value);  double u = rng.uniform();
#pragma once
#include <array>
#include <cstdint>

namespace twin::core {

using PhiloxBlock = std::array<std::uint32_t, 4>;

constexpr PhiloxBlock philox4x32(PhiloxBlock counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53U} * counter[0], b = std::uint64_t{0xCD9E8D57U} * counter[2];
    const auto high = [](std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); };
    counter = {high(b) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b), high(a) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(a)};
    key = {key[0] + 0x9E3779B9U, key[1] + 0xBB67AE85U};
  }
  return counter;
}

class Philox {
 public:
  constexpr Philox(std::uint64_t seed, std::uint32_t stream, std::uint32_t entity)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        stream_(stream),
        entity_(entity) {}
  constexpr std::uint32_t next32() {
    const auto lane = static_cast<std::uint32_t>(drawn_ & 3);
    if (lane == 0) {
      const std::uint64_t index = drawn_ >> 2;
      block_ = philox4x32(
          {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), stream_, entity_}, key_);
    }
    ++drawn_;
    return block_[lane];
  }
  constexpr std::uint64_t next64() {
    const std::uint64_t low = next32();
    return low | std::uint64_t{next32()} << 32;
  }
  // In (0, 1), never an end: odd multiples of 2^-54.
  constexpr double uniform() { return (static_cast<double>(next64() >> 11) + 0.5) * 0x1p-53; }

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint32_t stream_, entity_;
  std::uint64_t drawn_ = 0;  // words; the block in hand is drawn_ / 4
  PhiloxBlock block_{};
};

}  // namespace twin::core
