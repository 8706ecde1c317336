// Runs all tests, or those whose name contains the first argument.
#include <cstring>

#include "autograd/record.h"
#include "tests/check.h"

int main(int argc, char** argv) {
  wisp::autograd::install_hooks();
  int failed = 0, run = 0;
  for (const auto& test : wisp::test::cases()) {
    if (argc > 1 && !std::strstr(test.name, argv[1])) continue;
    ++run;
    try {
      test.run();
    } catch (const std::exception& error) {
      ++failed;
      std::printf("FAILED %s\n  %s\n", test.name, error.what());
    }
  }
  std::printf("%d tests, %d failed\n", run, failed);
  return failed != 0;
}
