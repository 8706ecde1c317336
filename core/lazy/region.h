// From where a program switches lazy evaluation on to where it switches it off: whether that gains.
#pragma once

#include "base/trials.h"

namespace wisp::lazy {

// How long a region took, and which trial that is the time of.
struct Measured {
  Trials* trials = nullptr;  // null: of none
  Trials::Choice choice = {};
  int64_t nanoseconds = 0;

  void note(int64_t more) const {
    if (trials) trials->note(choice, nanoseconds + more);
  }
};

// Sites know what kernels gain by being joined, but not what it costs that memory is given back
// later and has left the caches by then. So regions that are alike are made in turns as ever and
// with nothing put off. They are alike if the first call in them that is large enough is made at
// the same place, on as many elements.
class Region {
 public:
  void begin() {
    open_ = true;
    asked_ = at_once_ = false;
  }
  // Nothing large happened in it, so that there is nothing to note.
  void leave() { open_ = false; }
  // The first large call is made now. Returns whether calls are put off.
  bool ask(uint64_t site, int64_t elements, bool continues);
  bool was_asked() const { return asked_; }
  bool runs_at_once() const { return at_once_; }
  bool is_open() const { return open_; }
  Measured end();

 private:
  bool open_ = false, asked_ = false, at_once_ = false;
  Measured measured_;
  std::chrono::steady_clock::time_point start_;
};

// What was found out of all of them.
void forget_regions();

}  // namespace wisp::lazy
