// What wrote into a storage last, for the message when that was a mistake.
#pragma once

#include "dispatch/mode.h"

namespace wisp::autograd {

struct WriteNote : Object {
  const OpDef* op = nullptr;
  Place place;
  ~WriteNote() override {
    if (place.code) host.drop(place);
  }
};

}  // namespace wisp::autograd
