// What a user can get wrong ends in one message with where, expected, found and the nearest name.
#include <unistd.h>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include "topologies/cluster.hpp"

using namespace twin;
using topo::build_cluster;
using topo::ClusterRef;

namespace {

std::string named(const std::string& name) {
  auto c = build_cluster({.name = name});
  return c ? "" : c.error().text();
}
std::string object(const std::string& json) {
  ClusterRef ref;
  ref.inline_json = json;
  ref.where = "a.json: cluster";
  auto c = build_cluster(ref);
  return c ? "" : c.error().text();
}
bool has(const std::string& text, const std::string& part) {
  INFO(text);
  const bool found = text.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

}  // namespace

TEST_CASE("unknown names", "[fast]") {
  has(named("dgx-h10x64"), "dgx-h100x64");
  has(named("eoss"), "\"eos\"");
  has(named("dgx-h100x0"), "1..200000");
  has(named("dgx-h100x200001"), "1..200000");
  has(named("dgx-h100x99999999999"), "1..200000");
  has(named("gb200-nvl72x200000"), "200000");
  has(named("nothing.json"), "nothing.json");
  CHECK_FALSE(named("").empty());
  CHECK_FALSE(named("x").empty());
  CHECK_FALSE(named("x64").empty());
}

TEST_CASE("wrong objects", "[fast]") {
  has(object(R"({"node": "dgx-h100", "nodes": 4, "fabrik": "leaf-spine"})"), "fabric");
  has(object(R"({"node": "dgx-h100", "nodes": 0})"), "cluster.nodes");
  has(object(R"({"node": "dgx-h100"})"), "nodes");
  has(object(R"({"nodes": 4})"), "node");
  has(object(R"({"node": 7, "nodes": 4})"), "found 7");
  has(object(R"({"node": "dgx-h100", "nodes": 4, "fabric": "leef-spine"})"), "leaf-spine");
  has(object(R"({"node": "dgx-h100", "nodes": 4, "fabric": "torus-3d"})"), "not yet built");
  has(object(R"({"node": "dgx-h100", "nodes": 4, "routing": "random"})"), "ecmp");
  has(object(R"({"node": "dgx-h100", "nodes": 4, "override": {"nic.bandwidth": []}})"), "nic.bandwidth");
  has(object(R"({"node": {"base": "dgx-h100", "accelerator": "h1000"}, "nodes": 4})"), "accelerator");
  has(object(R"({"node": "dgx-h100", "nodes": 4, "groups": [{"node": "dgx-h100", "nodes": 1}]})"), "both");
  has(object(R"({"groups": [{"node": "dgx-h100", "nodes": 150000}, {"node": "dgx-h100", "nodes": 100000}]})"),
      "250000");
  has(object(R"({"node": "dgx-h100", "nodes": 4,})"), "a.json: cluster:1");
  has(object(R"([1, 2])"), "object");
  has(object(
          R"({"graph": {"accelerator": "h100", "vertices": [{"id": "a", "kind": "gpu"}], "edges": [{"from": "a", "to": "b", "gbit_per_s": 1}]}})"),
      "found \"b\"");
  has(object(
          R"({"node": "dgx-h100", "nodes": 200000, "fabric": {"base": "leaf-spine", "nodes_per_leaf": 1, "spines": 4096}})"),
      "links");
}

TEST_CASE("the user's folder comes first, and its faults name file and line", "[fast]") {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("traintwin-catalog-" + std::to_string(::getpid()));
  fs::create_directories(folder / "nodes");
  fs::create_directories(folder / "clusters");
  std::ofstream(folder / "nodes/mine.json") << R"({"per_node": 2, "accelerator": "h100-sxm", "aliases": ["Yours"],
    "scaleup": {"kind": "nvswitch"}, "nics": {"count": 2, "gbit_per_s": 200}})";
  std::ofstream(folder / "nodes/broken.json") << "{\n \"per_node\": 8,\n}";
  std::ofstream(folder / "clusters/eos.json") << R"({"node": "mine", "nodes": 3})";
  ::setenv("TRAINTWIN_CATALOG", folder.c_str(), 1);
  CHECK(named("minex4").empty());
  CHECK((*build_cluster({.name = "eos"}))->devices() == 6);
  has(named("brokenx4"), "broken.json:3");
  has(named("yoursx4"), "broken.json:3");  // an alias needs all files read, and none is skipped silently
  fs::remove(folder / "nodes/broken.json");
  CHECK(named("yoursx4").empty());
  std::ofstream(folder / "nodes/mine.json") << R"({"per_node": -2, "accelerator": "h100-sxm"})";
  has(named("minex4"), "per_node");
  ::unsetenv("TRAINTWIN_CATALOG");
  fs::remove_all(folder);
}
