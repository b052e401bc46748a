// Golden transcripts of wrong command lines: exit 2, nothing on stdout, one line on stderr with what was expected, what
// was found and the nearest valid name.
#include <algorithm>
#include <catch2/catch.hpp>
#include "tests/cli/run_binary.hpp"

using twin::cli::test::traintwin;

namespace {

struct Case {
  const char* arguments;
  const char* message;  // "" : only the form is checked
};

const Case kGolden[] = {
    {"stpe",
     "traintwin: command line: expected a command (help, step, validate, collective, catalog, test, version), found "
     "'stpe' (did you "
     "mean 'step'?)\n"},
    {"run",
     "traintwin: run: this command is not in this version (there are help, step, validate, collective, catalog, test, "
     "version)\n"},
    {"step --jsn", "traintwin: step: expected an option of this command, found '--jsn' (did you mean '--json'?)\n"},
    {"step --fold maybe", "traintwin: --fold: expected one of (on, off), found 'maybe'\n"},
    {"step --network fluidd",
     "traintwin: --network: expected one of (fluid, flows, simgrid), found 'fluidd' (did you mean 'fluid'?)\n"},
    {"step --network simgrid",
     "traintwin: --network: expected fluid or flows, found 'simgrid' (SimGrid is the referee of the tests in this "
     "version)\n"},
    {"step --set", "traintwin: step --set: expected a value, found none (traintwin step --help shows the form)\n"},
    {"step default another",
     "traintwin: step: expected no further argument, found 'another' (traintwin step --help lists the options)\n"},
    {"step --html report.html",
     "traintwin: --html: HTML reports are not in this version (--trace writes a Perfetto trace)\n"},
    {"test",
     "traintwin: test: expected the launcher, found the bare binary (run ./traintwin test in the checkout: the "
     "launcher builds the "
     "tests and runs them)\n"},
    {"catalog lst", "traintwin: catalog: expected one of (list, show, schema), found 'lst' (did you mean 'list'?)\n"},
    {"catalog show dgx-h10",
     "traintwin: catalog show: expected a catalog name, found 'dgx-h10' (did you mean 'dgx-h100'?)\n"},
    {"collective all_reduce",
     "traintwin: collective: expected --cluster, found nothing (traintwin collective --help shows the "
     "form)\n"},
    {"validate --threads 0", "traintwin: --threads: expected 1 to 1024, found 0\n"},
    {"collective all_reduc --cluster dgx-h100x2", ""},
    {"collective all_reduce --cluster dgx-h10x2", ""},
    {"collective all_reduce --cluster dgx-h100x2 --ranks 0,99", ""},
    {"collective all_reduce --cluster dgx-h100x2 --min 8Q", ""},
    {"collective all_reduce --cluster dgx-h100x2 --factor x", ""},
    {"collective all_reduce --cluster dgx-h100x2 --factor 1", ""},
    {"step missing.json", ""},
    {"step --set parallel.tpp=4", ""},
    {"step --set parallel.tp=0", ""},
    {"step --set parallel.tp=three", ""},
    {"step --set parallel.tp", ""},
    {"step --set parallel.tp=7", ""},
    {"step --set model=llama3-405", ""},
    {"step --set batch.global=2047", ""},
    {"step --set 'parallel.layout=[1,2,3]'", ""},
    {"step --cluster dgx-h10x64", ""},
    {"step --calibration missing.json", ""},
    {"step --megatron missing.sh --cluster dgx-h100x2", ""},
    {"validate missing.json", ""},
    {"step ''",
     "traintwin: step: SCENARIO: expected a value, found an empty one (traintwin step --help shows the form)\n"},
    {"step --cluster ''",
     "traintwin: step --cluster: expected a value, found an empty one (traintwin step --help shows the form)\n"},
    {"collective all_reduce --cluster dgx-h100x2 --ranks ''", ""},
    {"step --seed -1",
     "traintwin: step --seed: expected a whole number of at least 0, found -1 (traintwin step --help shows the "
     "form)\n"},
    {"step --seed x", "traintwin: step --seed: expected a number, found 'x' (traintwin step --help shows the form)\n"},
    {"step --set parallel.tp=65536 --set parallel.pp=65536", ""},
    {"step --set batch.global=1000000000000", ""},
    {"step --set cluster.nodes=100000 --set batch.global=6400000 --fold off", ""},
    {"step --set 'faults=[{\"slow\":{\"rank\":1,\"factor\":1e6}}]'", ""},
    {"step --set 'faults=[{\"slow\":{\"rank\":1,\"factor\":900}},{\"slow\":{\"rank\":1,\"factor\":900}}]'",
     "traintwin: default scenario: faults[1].slow.factor: expected factors of rank 1 that multiply to 1/1000..1000, "
     "found 810000\n"},
    {"step --cluster dgx-h100x2048 --set 'faults=[{\"link\":{\"match\":\"nic:node0/*\",\"capacity\":0}}]'", ""},
};

}  // namespace

TEST_CASE("a wrong command line is one message on stderr and exit 2", "[fast][golden]") {
  for (const Case& c : kGolden) {
    INFO(c.arguments);
    const auto t = traintwin(c.arguments);
    CHECK(t.exit == 2);
    CHECK(t.out.empty());
    CHECK(std::count(t.err.begin(), t.err.end(), '\n') == 1);
    CHECK(t.err.rfind("traintwin: ", 0) == 0);
    if (*c.message) CHECK(t.err == c.message);
  }
}

TEST_CASE("typos in fields and names are answered with the nearest", "[fast][golden]") {
  CHECK(traintwin("step --set parallel.tpp=4").err.find("tp") != std::string::npos);
  CHECK(traintwin("step --set model=llama3-405").err.find("llama3-405b") != std::string::npos);
  CHECK(traintwin("step --cluster dgx-h10x64").err.find("dgx-h100") != std::string::npos);
  CHECK(traintwin("collective all_reduc --cluster dgx-h100x2").err.find("all_reduce") != std::string::npos);
}

TEST_CASE("no command: help on stderr, exit 2", "[fast]") {
  const auto t = traintwin("");
  CHECK(t.exit == 2);
  CHECK(t.out.empty());
  CHECK(t.err.find("Usage: traintwin") != std::string::npos);
}

TEST_CASE("help names every command and option", "[fast][golden]") {
  const auto t = traintwin("--help");
  CHECK(t.exit == 0);
  CHECK(t.err.empty());
  CHECK(traintwin("help").out == t.out);
  for (const char* command : {"step", "validate", "collective", "catalog", "test", "version"})
    CHECK(t.out.find(std::string("\n  ") + command + " ") != std::string::npos);
  const auto step = traintwin("step --help");
  CHECK(traintwin("help step").out == step.out);
  for (const char* option : {"--set", "--cluster", "--calibration", "--json", "--explain", "--print-scenario",
                             "--trace", "--fold", "--jitter", "--network", "--stats", "--megatron", "--hf"})
    CHECK(step.out.find(option) != std::string::npos);
}

TEST_CASE("stdout that cannot be written is an error", "[fast]") {
  const auto t = twin::cli::test::shell("'" TWIN_BINARY_DIR "/traintwin' version >/dev/full");
  CHECK(t.exit == 2);
  CHECK(t.err.find("stdout: cannot be written") != std::string::npos);
}

TEST_CASE("links that cut the job off are named with the ranks", "[fast]") {
  const auto t = traintwin("step --set 'faults=[{\"link\":{\"match\":\"nic:node0/*\",\"capacity\":0}}]'");
  CHECK(t.exit == 2);
  CHECK(t.err.find("no path from device") != std::string::npos);
  CHECK(t.err.find("down: nic:node0/0:tx") != std::string::npos);
}

TEST_CASE("a file without constants is no calibration", "[fast]") {
  const auto file = twin::cli::test::scratch().write("no_constants.json", R"({"model": "llama3-8b"})");
  const auto t = traintwin("step --calibration " + file);
  CHECK(t.exit == 2);
  CHECK(t.err.find("expected \"values\" or \"tables\", found neither") != std::string::npos);
}

TEST_CASE("steps of many minutes do not overflow the jitter", "[fast]") {
  const std::string one =
      "--set cluster=dgx-h100x1 --set model=llama3-8b --set parallel.pp=1 --set parallel.vpp=1 "
      "--set parallel.schedule=1f1b --set batch.global=8 --set batch.seq=2048 --json";
  const auto slow = traintwin("step " + one + " --set 'faults=[{\"slow\":{\"rank\":1,\"factor\":1000}}]'");
  CHECK(slow.exit == 0);
  CHECK(slow.err.empty());
}
