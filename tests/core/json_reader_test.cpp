// What people get wrong in JSON, and the exact messages that they see.
#include "sim/core/json_reader.hpp"
#include <catch2/catch.hpp>

using namespace twin::core;

namespace {
std::string parse_failure(const std::string& text) {
  auto r = parse_json(text, "a.json");
  return r ? "" : r.error().text();
}
nlohmann::json good(const std::string& text) {
  auto r = parse_json(text, "a.json");
  REQUIRE(r);
  return *r;
}
bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
}  // namespace

TEST_CASE("parse_json reads values, nesting and comments", "[fast]") {
  const auto v = good("// head\n{\"a\": [1, -2, 2.5, {\"b\": null}], /* x */ \"c\": {\"d\": true, \"e\": [[], {}]}}\n");
  CHECK(v == nlohmann::json::parse(R"({"a":[1,-2,2.5,{"b":null}],"c":{"d":true,"e":[[],{}]}})"));
  CHECK(good("7") == 7);
  CHECK(good("\"x\"") == "x");
}

TEST_CASE("parse_json says where it stopped", "[fast]") {
  CHECK(contains(parse_failure("{\"a\": 1,\n \"b\": 2,\n}\n"), "a.json:3: expected valid JSON"));
  CHECK(contains(parse_failure("{\"a\": 1\n"), "a.json:"));
  CHECK(contains(parse_failure("{}\n\nx"), "a.json:3"));
  CHECK(contains(parse_failure("{\"a\": 1,\n\"b\": 1,\n\"a\": 2}"),
                 "a.json:3: expected each field once, found \"a\" again"));
  CHECK(contains(parse_failure("[1,\n1e999]"), "a.json:2"));
  CHECK(contains(parse_failure("[NaN]"), "a.json:1"));
  CHECK(contains(parse_failure(" \n"), "found nothing"));
  CHECK(contains(parse_failure("\"\xff\""), "a.json:1"));
}

TEST_CASE("parse_json accepts 64 levels and rejects 65", "[fast]") {
  const auto nest = [](std::size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  CHECK(parse_failure(nest(64)).empty());
  CHECK(contains(parse_failure(nest(65)), "at most 64 nested levels"));
  CHECK(contains(parse_failure(nest(1000000)), "at most 64 nested levels"));
}

TEST_CASE("nearest finds typos and nothing else", "[fast]") {
  const std::vector<std::string> names = {"layers", "hidden", "dgx-h100", "tp", "pp"};
  CHECK(nearest("layres", names) == "layers");
  CHECK(nearest("Hiden", names) == "hidden");
  CHECK(nearest("dgx_h100", names) == "dgx-h100");
  CHECK(nearest("tpp", names) == "tp");
  CHECK(nearest("zebra", names).empty());
  CHECK(nearest("xy", names).empty());
  CHECK(nearest("", names).empty());
}

TEST_CASE("JsonReader reads typed fields", "[fast]") {
  const auto v = good(R"({"s":"x","d":2,"i":1e9,"n":3,"b":true,"k":"two","o":{"m":4},"l":[{"q":1},{"q":2}],"z":null})");
  std::string s;
  double d = 0;
  std::int64_t i = 0;
  int n = 0, k = -1, m = 0, z = 17;
  bool b = false;
  JsonReader r(v, "a.json");
  r.required("s", s).required("d", d, 0, 10).required("i", i, 1, 2000000000).required("n", n, 0, 5).optional("b", b);
  r.choice("k", k, {"one", "two"}).optional("z", z, 0, 1);
  auto sub = r.object("o");
  REQUIRE(sub);
  sub->required("m", m, 0, 9);
  r.absorb(*sub);
  int sum = 0;
  for (auto& item : r.objects("l")) {
    int q = 0;
    item.required("q", q, 0, 9);
    sum += q;
    r.absorb(item);
  }
  REQUIRE(r.finish());
  CHECK((s == "x" && d == 2 && i == 1000000000 && n == 3 && b && k == 1 && m == 4 && z == 17 && sum == 3));
  CHECK(r.has("s"));
  CHECK(!r.has("z"));
}

TEST_CASE("JsonReader's messages name file, field, expected, found and the nearest name", "[fast]") {
  const auto v = good(R"({"batch":{"micro":"x","glob":2,"half":0.5,"deep":[1]}})");
  const auto with = [&](auto use) {
    JsonReader r(v, "a.json");
    auto sub = r.object("batch");
    use(*sub);
    r.absorb(*sub);
    auto e = r.finish();
    REQUIRE(!e);
    return e.error().text();
  };
  int n = 0;
  double d = 0;
  std::string s;
  CHECK(with([&](JsonReader& b) { b.required("micro", n, 1, 1000); }) ==
        "a.json: batch.micro: expected a whole number in 1..1000, found \"x\"");
  CHECK(with([&](JsonReader& b) { b.required("half", n, 1, 1000); }) ==
        "a.json: batch.half: expected a whole number in 1..1000, found 0.5");
  CHECK(with([&](JsonReader& b) { b.required("glob", n, 4, 8); }) ==
        "a.json: batch.glob: expected a whole number in 4..8, found 2");
  CHECK(with([&](JsonReader& b) { b.required("half", d, 1, 1e30); }) ==
        "a.json: batch.half: expected a number in 1..1e+30, found 0.5");
  CHECK(with([&](JsonReader& b) { b.required("deep", s); }) ==
        "a.json: batch.deep: expected a string, found an array of 1");
  CHECK(with([&](JsonReader& b) { b.required("globl", n, 1, 8); }) ==
        "a.json: batch.globl: expected this field, found none (there is a \"glob\")");
  CHECK(with([&](JsonReader& b) {
          b.choice("micro", n, {"one", "two"});
        }) == "a.json: batch.micro: expected one of one, two, found \"x\"");
  CHECK(with([&](JsonReader& b) { b.any("micro"), b.any("half"), b.any("deep"), b.optional("global", n, 1, 9); }) ==
        "a.json: batch.glob: expected one of micro, half, deep, global, found unknown field \"glob\" (did you mean "
        "\"global\"?)");
  CHECK(with([&](JsonReader& b) { b.fail("micro", "first"), b.fail("glob", "second"); }) ==
        "a.json: batch.micro: first");
}

TEST_CASE("read_file reports what is wrong", "[fast]") {
  CHECK(read_file("/nonexistent/file").error().code == ErrorCode::kNotFound);
  CHECK(contains(read_file("/").error().text(), "found a directory"));
  const std::string self = std::string(TWIN_SOURCE_DIR) + "/CMakeLists.txt";
  CHECK(contains(*read_file(self), "project(traintwin"));
  CHECK(read_file(self, 10).error().code == ErrorCode::kRange);
}
