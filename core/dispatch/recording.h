// An interceptor that runs the calls it sees: it comes after those that change them.
#pragma once

#include "dispatch/mode.h"

namespace wisp {

class CallRecorder : public Interceptor {
 public:
  // Whether nobody else wants to see the parts of composites.
  bool alone = true;
};

}  // namespace wisp
