// NumPy's files, as the program `wisp` reads them; and files of MNIST, which begin differently.
#include "runtime/tool/npy.h"

#include "fuzz/shared/input.h"

extern "C" int LLVMFuzzerTestOneInput(const char* bytes, size_t size) {
  const wisp::fuzz::File file({bytes, size});
  try {
    wisp::tool::read_npy(file.path());
  } catch (const wisp::Error&) {}
  try {
    wisp::api::data::datasets::read_idx(file.path());
  } catch (const wisp::Error&) {}
  return 0;
}
