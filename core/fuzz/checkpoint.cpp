// wisp::load(). An input is the structure, the header and the data, or a whole file.
#include "fuzz/shared/input.h"
#include "runtime/serialization/files.h"

extern "C" int LLVMFuzzerTestOneInput(const char* bytes, size_t size) {
  using namespace wisp;
  const auto parts = fuzz::split({bytes, size}, 3);
  const fuzz::File file(parts.size() < 3 ? std::string(bytes, size)
                                         : fuzz::container("wisp", parts[0], parts[1], parts[2]));
  try {
    api::load(file.path());
  } catch (const Error&) {}
  return 0;
}
