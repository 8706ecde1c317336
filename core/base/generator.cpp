#include "base/generator.h"

namespace wisp {

Generator& default_generator() {
  static Generator* shared = new Generator;
  return *shared;
}

}  // namespace wisp
