// The collective table: what it parses, and that it is the closed form.
#include <catch2/catch.hpp>
#include "sim/fabric/collective_table.hpp"
#include "tests/fabric/fake_view.hpp"

namespace twin::fabric {
namespace {

const device::Constants& constants() { return device::Constants::builtin(); }

TEST_CASE("sizes, ops and rank lists", "[fast]") {
  REQUIRE(*parse_bytes("8", "--min") == 8);
  REQUIRE(*parse_bytes("64K", "--min") == 65536);
  REQUIRE(*parse_bytes("1.5GiB", "--min") == 3ll << 29);
  for (const char* bad : {"", "x", "-1", "1Q", "1e30", "8 K", "nan"}) REQUIRE_FALSE(parse_bytes(bad, "--min"));
  REQUIRE(*parse_op("all-reduce") == CollectiveOp::kAllReduce);
  REQUIRE(*parse_op("alltoall") == CollectiveOp::kAllToAll);
  REQUIRE_FALSE(parse_op("allreduces"));
  REQUIRE(parse_ranks("8", 16, "--ranks")->size() == 8);
  REQUIRE(parse_ranks("0,8,10-12", 16, "--ranks")->back().value == 12);
  for (const char* bad : {"", "17", "0,0", "3-1", "0,16", "a", "1,,2", "0"})
    REQUIRE_FALSE(parse_ranks(bad, 16, "--ranks"));
}

TEST_CASE("incast of an all-to-all through one weak NIC binds there and is named", "[fast]") {
  FakeView v({.nodes = 4});
  const int link = v.nic_tx(core::DeviceId{9});
  v.set_capacity(link, to_rate(5e9));
  const auto rows = collective_table(v, {CollectiveOp::kAllToAll, all_devices(v), 1 << 30, 1 << 30, 2}, constants());
  REQUIRE(rows);
  REQUIRE(rows->back().limiting_link == v.link_name(core::LinkId{link}));
  // 24/32 of 1 GiB leave by a NIC of 5 GB/s: at least 161 ms.
  REQUIRE(rows->back().time_us > 0.75 * 1073741824.0 / 5e9 * 1e6);
  REQUIRE(rows->back().time_us < 1.3 * 0.75 * 1073741824.0 / 5e9 * 1e6);
}

TEST_CASE("an oversubscribed spine bounds the ring", "[fast]") {
  // 8 nodes, 4 a leaf, 2 spines of 50 GB/s: one edge (2 31/32... of S) crosses each way, 100 GB/s instead of 400.
  const FakeView v({.nodes = 8, .uplink = 50e9, .pod = 4, .spines = 2});
  const FakeView wide({.nodes = 8});
  const CollectiveRequest r{CollectiveOp::kAllGather, all_devices(v), std::int64_t{4} << 30, std::int64_t{4} << 30, 2};
  const auto slow = collective_table(v, r, constants()), fast = collective_table(wide, r, constants());
  REQUIRE(slow);
  REQUIRE(slow->back().busbw_gbps < 100);
  REQUIRE(slow->back().busbw_gbps > 80);
  REQUIRE(fast->back().busbw_gbps / slow->back().busbw_gbps == Approx(4).epsilon(0.05));
  REQUIRE(slow->back().limiting_link.starts_with("leaf"));
}

TEST_CASE("busbw of the chosen algorithm stays below what the wire allows", "[fast]") {
  for (const int nodes : {1, 2, 4, 32})
    for (const bool nvls : {false, true}) {
      const FakeView v({.nodes = nodes, .nvls = nvls});
      for (const CollectiveOp op : {CollectiveOp::kAllReduce, CollectiveOp::kAllGather, CollectiveOp::kReduceScatter,
                                    CollectiveOp::kAllToAll, CollectiveOp::kBroadcast}) {
        const auto rows = collective_table(v, {op, all_devices(v), 8, std::int64_t{16} << 30, 2}, constants());
        REQUIRE(rows);
        double last = 0;
        for (const auto& row : *rows) {
          // NVLS all-reduce: algbw <= 450 / (1 + 1/8); two nodes of a double tree: algbw <= 400.
          double limit = nodes == 1 ? 450.0 : 400.0;
          if (op == CollectiveOp::kAllReduce && nvls) limit = (nodes == 1 ? 400.0 : nodes == 2 ? 400.0 : 225.0) * 2;
          if (op == CollectiveOp::kAllReduce && !nvls && nodes == 2) limit = 450;
          REQUIRE(row.busbw_gbps < limit);
          // A switch of algorithm may cost time (NCCL's tuner is not an oracle), but no size may halve it.
          REQUIRE(row.time_us > 0.5 * last);
          last = row.time_us;
        }
        REQUIRE(rows->back().busbw_gbps > (op == CollectiveOp::kAllToAll && nodes > 1 ? 30 : 100));
      }
    }
}

TEST_CASE("wrong requests say what is expected", "[fast]") {
  const FakeView v({.nodes = 1});
  REQUIRE_FALSE(collective_table(v, {CollectiveOp::kSendRecv, all_devices(v), 8, 8, 2}, constants()));
  REQUIRE_FALSE(collective_table(v, {CollectiveOp::kAllReduce, {{0}}, 8, 8, 2}, constants()));
  REQUIRE_FALSE(collective_table(v, {CollectiveOp::kAllReduce, all_devices(v), 8, 4, 2}, constants()));
  REQUIRE_FALSE(collective_table(v, {CollectiveOp::kAllReduce, all_devices(v), 8, 8, 1}, constants()));
}

}  // namespace
}  // namespace twin::fabric
