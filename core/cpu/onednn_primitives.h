// Which of oneDNN's convolutions does a part of the work. Included by onednn.cpp only.
#pragma once

#include <string_view>

#include "cpu/onednn_shapes.h"

namespace wisp::cpu::onednn {

namespace {

// How the window moves, as oneDNN counts.
struct Motion {
  dnnl_dims_t strides, dilates, left, right;
  explicit Motion(const ConvShape& s) {
    const int dims = dims_of(s);
    for (int i = 0; i < dims; ++i) {
      const int from = ConvShape::dims - dims + i;
      strides[i] = s.stride[from];
      dilates[i] = s.dilation[from] - 1;
      left[i] = s.padding[from];
      right[i] = (s.y[from] - 1) * s.stride[from] + (s.kernel[from] - 1) * s.dilation[from] + 1 -
                 s.x[from] - s.padding[from];
    }
  }
};

// What a primitive does besides, and where it keeps what it needs meanwhile.
Attr attributes_of(const Key& key, const Layouts& layouts) {
  const Library& lib = library();
  Attr attr;
  check(lib.primitive_attr_create(attr.out()), "make attributes");
  check(lib.primitive_attr_set_scratchpad_mode(attr.get(), dnnl_scratchpad_mode_user),
        "make attributes");
  if (!key.adds && !key.relu) return attr;
  PostOps tail;
  check(lib.post_ops_create(tail.out()), "make attributes");
  if (key.adds)
    check(lib.post_ops_append_binary(tail.get(), dnnl_binary_add, layouts.y.any().get()),
          "add an image");
  if (key.relu)
    check(lib.post_ops_append_eltwise(tail.get(), dnnl_eltwise_relu, 0, 0), "make attributes");
  check(lib.primitive_attr_set_post_ops(attr.get(), tail.get()), "make attributes");
  return attr;
}

// A convolution, in the first of its implementations. Derivatives refer to that forward, as long as
// one goes on to others.
struct Described {
  PrimitiveDesc forward, backward;
  PrimitiveDesc& of(Pass pass) { return pass == Pass::y ? forward : backward; }
};

// Null if oneDNN does not know it; `keep`: of images in the order they have.
Described describe(const Key& key, const Layouts& layouts, bool keep) {
  const Library& lib = library();
  const Attr attr = attributes_of(key, layouts);
  const Desc x = keep ? layouts.x.desc() : layouts.x.any(),
             y = keep ? layouts.y.desc() : layouts.y.any(), weight = layouts.weight.any();
  Layout sums = layouts.weight;
  sums.type = dnnl_f32;
  Layout bias_layout;
  bias_layout.add(layouts.y.sizes[1], 1);
  const Desc bias = key.bias && key.pass == Pass::y ? bias_layout.desc() : Desc();
  const Motion m(key.shape);
  Described made;
  const dnnl_status_t status = lib.convolution_forward_primitive_desc_create(
      made.forward.out(), lib.engine, dnnl_forward_training, dnnl_convolution_direct, x.get(),
      weight.get(), bias.get(), y.get(), m.strides, m.dilates, m.left, m.right, attr.get());
  if (status != dnnl_success || key.pass == Pass::y) return made;
  if (key.pass == Pass::x) {
    lib.convolution_backward_data_primitive_desc_create(
        made.backward.out(), lib.engine, dnnl_convolution_direct, x.get(), weight.get(), y.get(),
        m.strides, m.dilates, m.left, m.right, made.forward.get(), attr.get());
  } else {
    lib.convolution_backward_weights_primitive_desc_create(
        made.backward.out(), lib.engine, dnnl_convolution_direct, x.get(), sums.any().get(),
        nullptr, y.get(), m.strides, m.dilates, m.left, m.right, made.forward.get(), attr.get());
  }
  return made;
}

// How a primitive wants its images.
const_dnnl_memory_desc_t wanted_x(const PrimitiveDesc& made, Pass pass) {
  return library().primitive_desc_query_md(
      made.get(), pass == Pass::x ? dnnl_query_diff_src_md : dnnl_query_src_md, 0);
}
const_dnnl_memory_desc_t wanted_y(const PrimitiveDesc& made, Pass pass) {
  return library().primitive_desc_query_md(
      made.get(), pass == Pass::y ? dnnl_query_dst_md : dnnl_query_diff_dst_md, 0);
}

// Whether the order of its sums does not depend on the number of threads. Products of matrices
// ("gemm", "brg...") cut them accordingly. The plainest one ("ref") is not meant to be used.
bool is_steady(const PrimitiveDesc& made) {
  const char* name = "";
  library().primitive_desc_query(made.get(), dnnl_query_impl_info_str, 0, &name);
  const std::string_view text = name;
  const auto has = [&](const char* part) { return text.find(part) != text.npos; };
  return !has("gemm") && !has("brg") && !has("ref");
}

// The channels of an image in whole blocks.
int64_t rounded_channels(const Layout& image, int64_t block) {
  return (image.sizes[1] + block - 1) / block * block;
}

// Whether wide blocks would make a tenth more channels than narrow ones, or more. By measurement
// the arithmetic takes longer then, up to three times for 8 channels, and what it makes has to be
// copied, if narrow blocks would need no padding. Where wide vectors take no longer than narrow
// ones, that is so of few channels only, and of groups, whose arithmetic is nothing beside moving
// what they read.
bool wants_narrow(const Key& key, const Layout& image) {
  const int64_t narrow = rounded_channels(image, 8), few = image.sizes[1] == narrow ? 24 : 0;
  const bool may_be_wide = has_whole_vectors() && key.shape.groups == 1;
  return narrow != rounded_channels(image, 16) && narrow <= (may_be_wide ? few : 80);
}

bool is_wide(const Layout& image, const_dnnl_memory_desc_t wanted) {
  const size_t narrow = image.bytes() / static_cast<size_t>(image.sizes[1]) *
                        static_cast<size_t>(rounded_channels(image, 8));
  return library().memory_desc_get_size(wanted) > narrow;
}

// The first steady one that has narrow blocks where those are wanted, else the first steady one;
// null if there is none.
PrimitiveDesc primitive_for(const Key& key, const Layouts& layouts, bool keep) {
  const bool narrow_x = wants_narrow(key, layouts.x), narrow_y = wants_narrow(key, layouts.y);
  const auto suits = [&](const PrimitiveDesc& made) {
    return !(narrow_x && is_wide(layouts.x, wanted_x(made, key.pass))) &&
           !(narrow_y && is_wide(layouts.y, wanted_y(made, key.pass)));
  };
  for (bool any : {false, true}) {
    Described all = describe(key, layouts, keep);
    PrimitiveDesc& made = all.of(key.pass);
    bool more = made.get();
    for (; more; more = library().primitive_desc_next_impl(made.get()) == dnnl_success)
      if (is_steady(made) && (any || suits(made))) return std::move(made);
  }
  return {};
}

}  // namespace
}  // namespace wisp::cpu::onednn
