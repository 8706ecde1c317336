#include "lazy/batch.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace wisp::lazy {

namespace {

size_t count_tensors(std::span<const Arg> args) {
  size_t count = 0;
  for (const Arg& arg : args) {
    if (arg.is_tensor()) ++count;
    if (arg.kind == ArgKind::tensors) count += arg.size;
  }
  return count;
}

}  // namespace

// Each tensor of an entry is one of its own, but for results that are also arguments.
uint32_t held_by(const Entry& entry, const Storage& storage) {
  uint32_t count = 0;
  for (const Tensor& t : entry.tensors) count += t.defined() && &t->storage() == &storage;
  for (const Tensor& out : entry.outs) {
    const bool counted = std::any_of(entry.tensors.begin(), entry.tensors.end(),
                                     [&](const Tensor& t) { return t.is_same(out); });
    count += !counted && out.defined() && &out->storage() == &storage;
  }
  return count;
}

template <class T>
const T* Batch::copy(const T* from, size_t n) {
  const std::span<T> made = array<T>(n);
  if (n > 0) std::memcpy(made.data(), from, n * sizeof(T));
  return made.data();
}

Entry& Batch::add(const OpDef& op, DType compute, std::span<const Arg> args) {
  Entry entry;
  entry.op = &op;
  entry.compute = compute;
  entry.args = array<Arg>(args.size());
  entry.tensors = array<Tensor>(count_tensors(args));
  size_t next = 0;
  const auto own = [&](const Tensor& t) {
    Tensor* const made = new (&entry.tensors[next++]) Tensor;
    if (t.defined()) *made = Tensor::adopt(TensorImpl::make_alias(*t.impl()));
    return made;
  };
  for (size_t i = 0; i < args.size(); ++i) {
    Arg& arg = *new (&entry.args[i]) Arg(args[i]);
    switch (arg.kind) {
      case ArgKind::tensor:
        arg.as.tensor = own(args[i].tensor())->impl();
        break;
      case ArgKind::tensors: {
        const Tensor* const first = entry.tensors.data() + next;
        for (const Tensor& t : args[i].tensors()) own(t);
        arg = Arg(std::span<const Tensor>(first, args[i].size));
        break;
      }
      case ArgKind::integers:
        arg.as.integers = copy(arg.as.integers, arg.size);
        break;
      case ArgKind::reals:
        arg.as.reals = copy(arg.as.reals, arg.size);
        break;
      case ArgKind::string:
        arg.as.string = copy(arg.as.string, arg.size);
        break;
      default:
        break;
    }
  }
  entries.push_back(entry);
  return entries.back();
}

void Batch::set_outs(Entry& entry, std::span<const Tensor> outs) {
  entry.outs = array<Tensor>(outs.size());
  for (size_t i = 0; i < outs.size(); ++i) {
    const Tensor& out = outs[i];
    // A kernel that writes one of its arguments may ask whether the two are the same tensor.
    const Tensor* same = nullptr;
    for (const Tensor& t : entry.tensors) {
      if (t.defined() && &t->storage() == &out->storage() && t->offset() == out->offset() &&
          t.dtype() == out.dtype() && wisp::same(t.sizes(), out.sizes()) &&
          wisp::same(t.strides(), out.strides()))
        same = &t;
    }
    new (&entry.outs[i]) Tensor(same ? *same : Tensor::adopt(TensorImpl::make_alias(*out.impl())));
  }
}

void Batch::drop(Entry& entry) {
  std::destroy(entry.tensors.begin(), entry.tensors.end());
  std::destroy(entry.outs.begin(), entry.outs.end());
  if (entry.place.code && host.drop) host.drop(entry.place);
}

void Batch::clear() {
  for (Entry& entry : entries) drop(entry);
  entries.clear();
  arena_.release();
  promised = 0;
}

Batch::~Batch() { clear(); }

}  // namespace wisp::lazy
