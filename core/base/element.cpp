#include "base/element.h"

#include <cstring>

namespace wisp {

Element::Element(Scalar value, DType dtype) {
  visit<dtypes::any>(dtype, "scalar", [&]<class T>() {
    const T converted = value.to<T>();
    std::memcpy(bytes, &converted, sizeof(T));
  });
}

}  // namespace wisp
