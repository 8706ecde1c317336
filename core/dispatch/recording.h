// An interceptor that runs the calls it sees: it comes after those that change them.
#pragma once

#include "dispatch/mode.h"

namespace wisp {

class CallRecorder : public Interceptor {
 public:
  // Whether nobody else wants to see the parts of composites.
  bool alone = true;
};

// Set when results are written into tensors that a call is given for them (out=), which those who
// see calls are not told. Whoever wants to know clears it first.
extern constinit WISP_THREAD_LOCAL bool out_given;

}  // namespace wisp
