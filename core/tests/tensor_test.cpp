#include "tensor/tensor.h"

#include "tests/check.h"

using namespace wisp;

TEST("shape: strides of contiguous and channels-last tensors") {
  CHECK(contiguous_strides(Dims{2, 3, 4}) == (Dims{12, 4, 1}));
  CHECK(contiguous_strides(Dims{2, 0, 4}) == (Dims{4, 4, 1}));
  CHECK(channels_last_strides(Dims{2, 3, 4, 5}) == (Dims{60, 1, 15, 3}));
  CHECK(is_channels_last(Dims{2, 3, 4, 5}, Dims{60, 1, 15, 3}));
  CHECK(is_contiguous(Dims{1, 3}, Dims{77, 1}) && !is_contiguous(Dims{2, 3}, Dims{1, 2}));
}

TEST("shape: broadcasting") {
  CHECK(broadcast(Dims{2, 1, 4}, Dims{3, 1}) == (Dims{2, 3, 4}));
  CHECK(broadcast(Dims{}, Dims{0}) == (Dims{0}));
  CHECK_THROWS(broadcast(Dims{2, 3}, Dims{2, 4}), "must match");
  CHECK(expanded_strides(Dims{3, 1}, Dims{1, 1}, Dims{2, 3, 4}) == (Dims{0, 1, 0}));
}

TEST("shape: views of strided memory") {
  CHECK(view_strides(Dims{2, 3}, Dims{3, 1}, Dims{6}) == (Dims{1}));
  CHECK(!view_strides(Dims{2, 3}, Dims{1, 2}, Dims{6}));
  CHECK(view_strides(Dims{2, 3}, Dims{6, 2}, Dims{2, 3, 1}).has_value());
  CHECK(view_strides(Dims{4, 6}, Dims{12, 1}, Dims{2, 2, 3, 2}) == (Dims{24, 12, 2, 1}));
  CHECK(view_strides(Dims{1}, Dims{5}, Dims{1, 1}).has_value());
}

TEST("shape: sizes are inferred and checked") {
  CHECK(infer_size(Dims{2, -1}, 6) == (Dims{2, 3}));
  CHECK_THROWS(infer_size(Dims{4, -1}, 6), "invalid for input of size 6");
  CHECK_THROWS(infer_size(Dims{0, -1}, 0), "ambiguous");
  CHECK_THROWS(count_elements(Dims{int64_t(1) << 40, int64_t(1) << 40}), "overflows");
  CHECK_THROWS(wrap_dim(3, 3), "Dimension out of range");
  CHECK(wrap_dim(-1, 0) == 0);
}

TEST("shape: overlap and density") {
  CHECK(overlaps_itself(Dims{3}, Dims{0}) && !overlaps_itself(Dims{1}, Dims{0}));
  CHECK(overlaps_itself(Dims{3, 2}, Dims{1, 1}) && !overlaps_itself(Dims{3, 2}, Dims{2, 1}));
  CHECK(is_dense(Dims{2, 3}, Dims{1, 2}) && !is_dense(Dims{2, 3}, Dims{6, 2}));
  CHECK(preserved_strides(Dims{2, 3, 4}, Dims{1, 8, 2}) == (Dims{1, 8, 2}));
  CHECK(preserved_strides(Dims{2, 3}, Dims{6, 2}) == (Dims{3, 1}));
}

TEST("tensor: geometry, many dimensions, aliasing") {
  Tensor t = Tensor::empty({2, 3, 4}, DType::float32);
  CHECK(t.numel() == 24 && t.is_contiguous() && t.stride(0) == 12);
  Dims many(20, 1);
  Tensor wide = Tensor::empty(many, DType::int8);
  CHECK(wide.ndim() == 20 && wide.numel() == 1);
  CHECK_THROWS(Tensor::empty(Dims(65, 1), DType::int8), "at most 64 dimensions");
  Tensor view = t.alias(Dims{4, 3}, Dims{1, 4}, 12);
  CHECK(!view.is_contiguous() && share_memory(*t.impl(), *view.impl()));
  CHECK(&view->storage() == &t->storage());
  t->bump_version();
  CHECK(view->version() == 1);
}

TEST("tensor: negative and huge sizes are refused") {
  CHECK_THROWS(Tensor::empty({-1, 2}, DType::float32), "negative dimension");
  CHECK_THROWS(Tensor::empty({int64_t(1) << 61, 8}, DType::float64), "overflow");
}

TEST("storage: grows and keeps its contents; foreign memory does not grow") {
  Tensor t = Tensor::empty({4}, DType::int32);
  for (int i = 0; i < 4; ++i) t.data<int32_t>()[i] = i;
  Tensor other = t.alias();
  resize(t, Dims{100000});
  CHECK(t.data<int32_t>()[3] == 3 && other.data<int32_t>() == t.data<int32_t>());
  static bool released = false;
  int32_t memory[4];
  {
    auto storage = Storage::wrap(memory, sizeof(memory), [](void*) { released = true; }, nullptr);
    Tensor foreign = Tensor::adopt(TensorImpl::make(storage, DType::int32, Dims{4}));
    CHECK_THROWS(resize(foreign, Dims{5}), "not resizable");
  }
  CHECK(released);
}
