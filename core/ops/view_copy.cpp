// What views show, as tensors of their own: select_copy(x, 0, 1) is select(x, 0, 1).clone().
#include <deque>
#include <string>

#include "ops/families.h"
#include "ops/ops.h"

namespace wisp::ops {

namespace {

constexpr std::string_view suffix = "_copy";

// "squeeze_copy.dim" -> "squeeze.dim"
std::string view_name(std::string name) { return name.erase(name.find(suffix), suffix.size()); }

void copy_body(const Args& args, TensorList& outs) {
  TensorList views;
  call(registry().get(view_name(args.op().sig.name)), args.raw(), views);
  for (size_t i = 0; i < views.size(); ++i)
    outs.push(invoke<"clone">(views[i], MemoryFormat::contiguous));
}

struct CopiedView {
  const char *view, *example;
  uint32_t homes = home::function;
};

constexpr CopiedView copied_views[] = {
    {"alias", ">>> wisp.alias_copy(wisp.tensor([1, 2]))\ntensor([1, 2])"},
    {"as_strided", ">>> wisp.as_strided_copy(wisp.arange(4), (2,), (2,))\ntensor([0, 2])"},
    {"detach", ">>> wisp.detach_copy(wisp.tensor([1, 2]))\ntensor([1, 2])"},
    {"diagonal", ">>> wisp.diagonal_copy(wisp.eye(2))\ntensor([1., 1.])"},
    {"expand", ">>> wisp.expand_copy(wisp.tensor([7]), (3,))\ntensor([7, 7, 7])"},
    {"narrow", ">>> wisp.narrow_copy(wisp.arange(4), 0, 1, 2)\ntensor([1, 2])",
     home::function | home::method},
    {"permute", ">>> wisp.permute_copy(wisp.zeros(2, 3), (1, 0)).shape\nwisp.Size([3, 2])"},
    {"select", ">>> wisp.select_copy(wisp.eye(2), 0, 1)\ntensor([0., 1.])"},
    {"slice", ">>> wisp.slice_copy(wisp.arange(4), 0, 1, 3)\ntensor([1, 2])"},
    {"split", ">>> wisp.split_copy(wisp.arange(3), 2)\n(tensor([0, 1]), tensor([2]))"},
    {"split_with_sizes",
     ">>> wisp.split_with_sizes_copy(wisp.arange(3), [1, 2])\n(tensor([0]), tensor([1, 2]))"},
    {"squeeze", ">>> wisp.squeeze_copy(wisp.zeros(1, 2)).shape\nwisp.Size([2])"},
    {"squeeze.dim", ">>> wisp.squeeze_copy(wisp.zeros(1, 2), 0).shape\nwisp.Size([2])"},
    {"squeeze.dims", ">>> wisp.squeeze_copy(wisp.zeros(1, 2), (0, 1)).shape\nwisp.Size([2])"},
    {"t", ">>> wisp.t_copy(wisp.zeros(2, 3)).shape\nwisp.Size([3, 2])"},
    {"transpose", ">>> wisp.transpose_copy(wisp.zeros(2, 3), 0, 1).shape\nwisp.Size([3, 2])"},
    {"unbind", ">>> wisp.unbind_copy(wisp.tensor([1, 2]))\n(tensor(1), tensor(2))"},
    {"unfold", ">>> wisp.unfold_copy(wisp.arange(3), 0, 2, 1)\ntensor([[0, 1],\n        [1, 2]])"},
    {"unsqueeze", ">>> wisp.unsqueeze_copy(wisp.tensor([1, 2]), 0)\ntensor([[1, 2]])"},
    {"view", ">>> wisp.view_copy(wisp.arange(2), (2, 1)).shape\nwisp.Size([2, 1])"},
    {"view.dtype",
     ">>> wisp.view_copy(wisp.tensor([1]), wisp.int32)\n"
     "tensor([1, 0], dtype=wisp.int32)"},
    {"view_as_complex", ">>> wisp.view_as_complex_copy(wisp.tensor([1., 2.]))\ntensor(1.+2.j)"},
    {"view_as_real", ">>> wisp.view_as_real_copy(wisp.tensor(1+2j))\ntensor([1., 2.])"},
};

// Texts of the table must outlive it.
const char* keep(std::string text) {
  static std::deque<std::string> texts;
  return texts.emplace_back(std::move(text)).c_str();
}

void add_copy(Registry& r, const CopiedView& entry) {
  const OpDef& view = r.get(entry.view);
  std::string schema = view.schema;
  schema.insert(view.sig.base.size(), suffix);
  r.add({.schema = keep(std::move(schema)),
         .doc = keep("A copy of what " + view.sig.base + "() shows.\n\n" + entry.example),
         .body = copy_body,
         .onnx = view.onnx,
         .traits = view.sig.returns[0].is_list ? 0u : uint32_t(trait::out),
         .homes = entry.homes});
}

}  // namespace

void register_view_copy(Registry& r) {
  for (const CopiedView& entry : copied_views) add_copy(r, entry);
  for (const char* name : {"chunk", "split", "split_with_sizes"})
    r.alias(std::string("unsafe_") + name, name);
  r.add(
      {.schema =
           "slice_inverse(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor",
       .doc = "A view of a slice's memory in the geometry of what it is a slice of.\n\n"
              ">>> x = wisp.arange(3)\n>>> x[1:].slice_inverse(x, 0, 1)\ntensor([0, 1, 2])",
       .body =
           [](const Args& args, TensorList& outs) {
             const Tensor& src = args.tensor(1);
             outs.push(as_strided(args.tensor(0), src.sizes(), src.strides(), src->offset()));
           },
       .onnx = "+ Gather"});
}

}  // namespace wisp::ops
