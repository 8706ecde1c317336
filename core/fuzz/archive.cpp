// wisp::jit::load(), and looking at what it gave. An input is the description, the header without
// the program, the program and the data of the rest; or a whole file.
#include "base/error.h"
#include "fuzz/shared/input.h"
#include "runtime/jit/module.h"

namespace {

void look_at(const wisp::api::jit::Module& module) {
  module.train(!module.is_training());
  module.named_parameters();
  module.named_buffers();
  for (const std::string& method : module.methods()) module.inlined_graph(method);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const char* bytes, size_t size) {
  const auto parts = wisp::fuzz::split({bytes, size}, 4);
  const wisp::fuzz::File file(parts.size() < 4 ? std::string(bytes, size)
                                               : wisp::fuzz::archive(parts));
  try {
    look_at(wisp::api::jit::load(file.path()));
  } catch (const wisp::Error&) {}
  return 0;
}
