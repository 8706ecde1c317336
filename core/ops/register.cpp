#include "ops/families.h"

namespace wisp {

void register_all(Registry& r) {
  ops::register_copy(r);
  ops::register_creation(r);
  ops::register_arithmetic(r);
  ops::register_unary(r);
  ops::register_compare(r);
  ops::register_ternary(r);
  ops::register_view(r);
  ops::register_shape(r);
  ops::register_split(r);
  ops::register_join(r);
  ops::register_rearrange(r);
  ops::register_pad(r);
  ops::register_reduce(r);
  ops::register_matmul(r);
}

}  // namespace wisp
