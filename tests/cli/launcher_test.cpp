// The launcher's check that nothing has to be built, on a copy of the checkout's list of sources.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <vector>
#include "tests/cli/run_binary.hpp"

using twin::cli::test::scratch;
using twin::cli::test::shell;

namespace {

const std::string kLauncher = TWIN_SOURCE_DIR "/traintwin";

double seconds(const std::string& command) {
  const auto begin = std::chrono::steady_clock::now();
  REQUIRE(shell(command).exit == 0);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

TEST_CASE("a launch without anything to build costs at most 50 ms more than the binary", "[slow]") {
  const std::string folder = scratch().file("build").string();
  REQUIRE(shell("mkdir -p '" + folder + "' && cp '" TWIN_BINARY_DIR "/traintwin' '" + folder + "/' && touch '" +
                folder + "/.built'")
              .exit == 0);
  const std::string launch = "cd / && TRAINTWIN_BUILD='" + folder + "' '" + kLauncher + "' version";
  const auto t = shell(launch);
  CHECK(t.exit == 0);
  CHECK(t.out.rfind("traintwin ", 0) == 0);
  CHECK(t.err.empty());
  std::vector<double> with, without;
  for (int i = 0; i < 9; ++i) {
    with.push_back(seconds(launch));
    without.push_back(seconds("'" + folder + "/traintwin' version"));
  }
  // The least of several: what the launcher costs, not what other processes on the machine cost.
  const double least = *std::min_element(with.begin(), with.end()) - *std::min_element(without.begin(), without.end());
  CHECK(least < 0.050);
}

TEST_CASE("a build folder that cannot be written is said, with the way out", "[fast]") {
  const auto t = shell("TRAINTWIN_BUILD=/proc/none '" + kLauncher + "' version");
  CHECK(t.exit == 2);
  CHECK(t.out.empty());
  CHECK(t.err.find("read-only; set TRAINTWIN_BUILD") != std::string::npos);
}

TEST_CASE("the launcher refuses what test does not take", "[fast]") {
  const auto t = shell("'" + kLauncher + "' test --fast");
  CHECK(t.exit == 2);
  CHECK(t.err == "traintwin: test: expected nothing or --ci, found '--fast'\n");
}
