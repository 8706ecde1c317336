// Programs of damaged archives, run: with the inputs that the file says, or that are found for
// them. Inputs are those of archive.cpp. How long a loop may go on and what memory may be asked for
// is bounded here and by tools/fuzz.sh.
#include <chrono>

#include "base/error.h"
#include "base/parallel.h"
#include "dispatch/mode.h"
#include "fuzz/shared/input.h"
#include "graph/interpreter.h"
#include "runtime/jit/module.h"

namespace {

using Clock = std::chrono::steady_clock;

Clock::time_point deadline;

// Loops ask whether they are to end.
void prepare() {
  static const bool ready = [] {
    wisp::set_num_threads(1);
    wisp::host.check_interrupt = [] {
      if (Clock::now() > deadline) wisp::fail(wisp::ErrorKind::runtime, "it takes too long");
    };
    wisp::graph::graph_host.print = [](const std::string&) {};
    return true;
  }();
  (void)ready;
}

void run(const wisp::api::jit::Module& module, const std::string& method) {
  deadline = Clock::now() + std::chrono::milliseconds(200);
  try {
    const wisp::api::jit::Example example = module.saved_example(method);
    if (!example.inputs.empty()) module.run_method(method, example.values());
  } catch (const wisp::Error&) {}
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const char* bytes, size_t size) {
  prepare();
  const auto parts = wisp::fuzz::split({bytes, size}, 4);
  const wisp::fuzz::File file(parts.size() < 4 ? std::string(bytes, size)
                                               : wisp::fuzz::archive(parts));
  try {
    const wisp::api::jit::Module module = wisp::api::jit::load(file.path());
    for (const std::string& method : module.methods()) run(module, method);
  } catch (const wisp::Error&) {}
  return 0;
}
