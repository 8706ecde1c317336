// Convolutions as oneDNN is told them: parts of the work, what tells one convolution from another,
// and how images and weights lie. Included by onednn.cpp only.
#pragma once

#include "base/half.h"
#include "cpu/onednn.h"
#include "cpu/onednn_api.h"

namespace wisp::cpu::onednn {

namespace {

// A part of the work: some channels of y (and, if there are groups, those of x that belong to
// them) of some members of the batch.
struct Slice {
  Channels channels;
  int64_t first, members;
};

struct Layouts {
  Layout x, weight, y;
  void set_type(dnnl_data_type_t type) { x.type = y.type = weight.type = type; }
};

// A conv1d is a conv2d of height one.
int dims_of(const ConvShape& s) {
  const bool flat = s.x[0] == 1 && s.y[0] == 1 && s.kernel[0] == 1 && s.padding[0] == 0;
  return flat ? 2 : 3;
}

struct Key {
  ConvShape shape;
  Pass pass;
  bool bfloat16, channels_last, weight_last, bias, free_result, adds, relu;
  int x_block, y_block, threads;
  bool operator==(const Key&) const = default;

  int64_t image_item() const { return bfloat16 ? sizeof(BFloat16) : sizeof(float); }
  bool by_channels_of(Slice slice) const { return slice.channels.count != shape.y_channels; }
};

// Whether images whose channels are last are described so, which is fast and saves copies. Some of
// their channels only are not known so to oneDNN. In products over pixels, those that lie a
// multiple of a page apart take each other's place in the first-level cache.
bool keeps_order(const Key& key, const Slice& slice) {
  if (!key.channels_last || key.free_result || key.x_block || key.y_block) return false;
  if (key.pass != Pass::weight) return true;
  constexpr int64_t page = 4096;
  const ConvShape& s = key.shape;
  const bool collide = s.window() == 1 && (s.x_channels * key.image_item() % page == 0 ||
                                           s.y_channels * key.image_item() % page == 0);
  return !collide && !key.by_channels_of(slice);
}

struct KeyHash {
  size_t operator()(const Key& key) const {
    const ConvShape& s = key.shape;
    uint64_t hash = static_cast<uint64_t>(key.pass);
    for (bool flag : {key.bfloat16, key.channels_last, key.weight_last, key.bias, key.free_result,
                      key.adds, key.relu})
      hash = hash * 2 + flag;
    auto add = [&](int64_t n) { hash = (hash ^ static_cast<uint64_t>(n)) * 0x9e3779b97f4a7c15u; };
    for (int64_t n : {s.batch, s.groups, s.x_channels, s.y_channels}) add(n);
    for (const auto& sizes : {s.x, s.y, s.kernel, s.stride, s.padding, s.dilation})
      for (int64_t n : sizes) add(n);
    for (int n : {key.x_block, key.y_block, key.threads}) add(n);
    return hash ^ (hash >> 32);
  }
};

Layout image_layout(int64_t batch, int64_t channels, int64_t all_channels,
                    const ConvShape::Sizes& space, int dims, bool channels_last) {
  const int64_t size = space[0] * space[1] * space[2];
  Layout layout;
  layout.add(batch, all_channels * size);
  layout.add(channels, channels_last ? 1 : size);
  int64_t step = size * (channels_last ? all_channels : 1);
  for (int i = ConvShape::dims - dims; i < ConvShape::dims; ++i) {
    step /= space[i];
    layout.add(space[i], step);
  }
  return layout;
}

Layouts layouts_of(const Key& key, const Slice& slice) {
  const ConvShape& s = key.shape;
  const Channels part = slice.channels;
  const int dims = dims_of(s);
  const bool grouped = s.groups > 1;
  const int64_t groups = grouped ? s.groups * part.count / s.y_channels : 1;
  const int64_t per_group = s.x_channels / s.groups;
  Layouts made;
  made.x =
      image_layout(slice.members, per_group * groups, s.x_channels, s.x, dims, key.channels_last);
  made.y = image_layout(slice.members, part.count, s.y_channels, s.y, dims, key.channels_last);
  made.x.block = key.x_block;
  made.y.block = key.y_block;
  made.set_type(key.bfloat16 ? dnnl_bf16 : dnnl_f32);
  int64_t step = part.count * per_group * s.window();
  auto add = [&](int64_t size) { made.weight.add(size, step /= size); };
  if (grouped) add(groups);
  add(part.count / groups);
  if (key.weight_last) {
    made.weight.add(per_group, 1);
  } else {
    add(per_group);
  }
  for (int i = ConvShape::dims - dims; i < ConvShape::dims; ++i) add(s.kernel[i]);
  return made;
}

// Where the images of a slice are. Blocks of channels are found by oneDNN, from the start.
struct Places {
  Places(const Key& key, const Slice& slice) {
    const ConvShape& s = key.shape;
    const int64_t step = key.channels_last ? 1 : s.x_size();
    const int64_t y_step = key.channels_last ? 1 : s.y_size();
    const int64_t at = slice.channels.begin, x_at = at * s.x_channels / s.y_channels;
    x = slice.first * s.x_channels * s.x_size() + (s.groups > 1 ? x_at * step : 0);
    y = slice.first * s.y_channels * s.y_size() + (key.y_block ? 0 : at * y_step);
    weight = at * s.x_channels / s.groups * s.window();
  }
  int64_t x, y, weight;  // in elements
};

}  // namespace
}  // namespace wisp::cpu::onednn
