// Convolutions that wait for what follows them: see dispatch/awaited.h.
#pragma once

namespace wisp::ops {

// To be called once at start.
void install_awaiting();

}  // namespace wisp::ops
