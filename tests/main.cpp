// Catch2's main, one per test program.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
