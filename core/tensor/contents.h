// Who records calls, to make them again without the program that made them, has to know whether
// that program would make others if tensors held something else.
#pragma once

#include "base/compiler.h"

namespace wisp {

// Set when this thread makes a number, or a size, of what a tensor holds. Whoever wants to know
// clears it first.
extern constinit WISP_THREAD_LOCAL bool contents_read;

}  // namespace wisp
