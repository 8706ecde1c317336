// The text of programs: what can be read is written, and reads again as the same.
#include <cstdlib>

#include "graph/graph.h"
#include "graph/interpreter.h"
#include "runtime/bridge.h"
#include "runtime/creation.h"

namespace {

using wisp::Ref;
using wisp::graph::Program;

// The constants that a text may name are <tensor 0> and <tensor 1>.
Ref<Program> parsed(std::string_view text) {
  Ref<Program> program = Ref<Program>::adopt(new Program);
  for (int64_t size : {1, 3}) program->tensors.push_back(wisp::api::core(wisp::api::ones({size})));
  program->parse(text);
  return program;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const char* bytes, size_t size) {
  std::string text;
  try {
    const Ref<Program> program = parsed({bytes, size});
    for (const auto& function : program->functions()) wisp::graph::prepare(function);
    text = program->to_text();
  } catch (const wisp::Error&) {
    return 0;
  }
  if (parsed(text)->to_text() != text) std::abort();
  return 0;
}
