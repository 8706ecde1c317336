// What an operator is: one OpDef per operator, in the file of its family. See ARCHITECTURE.md.
#pragma once

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "dispatch/arg.h"
#include "dispatch/schema.h"
#include "tensor/tensor_list.h"

namespace wisp {

struct OpDef;

// Typed access to the arguments of a call, by position in the schema.
class Args {
 public:
  Args(const OpDef& op, const Arg* args) : op_(&op), args_(args) {}
  const OpDef& op() const { return *op_; }
  const char* name() const;  // for messages
  const Arg& operator[](int i) const { return args_[i]; }
  const Arg* raw() const { return args_; }
  bool has(int i) const { return !args_[i].is_none(); }

  const Tensor& tensor(int i) const { return args_[i].tensor(); }
  Operand operand(int i) const { return Operand(args_[i]); }
  std::span<const Tensor> tensors(int i) const { return args_[i].tensors(); }
  Scalar scalar(int i) const { return args_[i].scalar(); }
  int64_t integer(int i) const { return args_[i].as.integer; }
  double real(int i) const { return args_[i].scalar().real(); }
  bool boolean(int i) const { return args_[i].as.integer != 0; }
  IntSpan integers(int i) const { return args_[i].integers(); }
  std::string_view string(int i) const { return {args_[i].as.string, args_[i].size}; }
  DType dtype(int i) const { return args_[i].dtype; }
  Device device(int i, Device otherwise = {}) const {
    return has(i) ? args_[i].as.device : otherwise;
  }
  Generator* generator(int i) const { return has(i) ? args_[i].as.generator : nullptr; }
  std::optional<DType> dtype_or_none(int i) const {
    return has(i) ? std::optional(args_[i].dtype) : std::nullopt;
  }

 protected:
  const OpDef* op_;
  const Arg* args_;
};

// Shape, dtype and layout of a result before it exists.
struct TensorSpec {
  Dims sizes;
  Dims strides;  // empty: contiguous
  DType dtype = DType::float32;
  Device device;
};

// What `infer` sees and fills. It is the only place where shapes and dtypes are checked.
class Infer : public Args {
 public:
  using Args::Args;
  Infer(const Infer&) = delete;
  Infer& operator=(const Infer&) = delete;
  ~Infer() {
    for (int i = 0; i < count_; ++i) out(i).~TensorSpec();
  }
  // Adds a result.
  TensorSpec& push() { return *new (&storage_[count_++]) TensorSpec; }
  TensorSpec& push(IntSpan sizes, DType dtype, Device device = {}) {
    TensorSpec& spec = push();
    spec.sizes = Dims(sizes);
    spec.dtype = dtype;
    spec.device = device;
    return spec;
  }
  TensorSpec& push(std::initializer_list<int64_t> sizes, DType dtype, Device device = {}) {
    return push(IntSpan(sizes.begin(), sizes.size()), dtype, device);
  }
  TensorSpec& out(int i = 0) { return reinterpret_cast<TensorSpec&>(storage_[i]); }
  const TensorSpec& out(int i = 0) const {
    return reinterpret_cast<const TensorSpec&>(storage_[i]);
  }
  int count() const { return count_; }

  static constexpr int max_outs = 5;
  DType compute = DType::float32;  // the dtype a pointwise kernel works in
 private:
  // Constructed as results are added: most calls have one.
  struct alignas(TensorSpec) Slot {
    unsigned char bytes[sizeof(TensorSpec)];
  };
  Slot storage_[max_outs];
  int count_ = 0;
};
using InferFn = void (*)(Infer&);

// What a kernel sees: the arguments and results of the inferred shape, not yet written.
class Call : public Args {
 public:
  Call(const OpDef& op, const Arg* args, Tensor* outs, DType compute_dtype)
      : Args(op, args), compute(compute_dtype), outs_(outs) {}
  const Tensor& out(int i = 0) const { return outs_[i]; }
  const DType compute;

 private:
  Tensor* outs_;
};
using KernelFn = void (*)(const Call&);
// A view reads no data: it returns new sizes, strides and offset of its first argument's storage.
struct ViewSpec {
  Dims sizes, strides;
  int64_t offset;
  DType dtype;
};
using ViewFn = ViewSpec (*)(const Args&);
using ViewsFn = void (*)(const Args&,
                         std::vector<ViewSpec>&);  // several views at once, as of split
// Does it all at once for the simplest operands (small, alike, consecutive), or returns null.
using DirectFn = TensorImpl* (*)(const OpDef&, const Arg*);
// A composite calls other operators.
using BodyFn = void (*)(const Args&, TensorList&);

// What a derivative rule may look at: the gradients of the results, and whatever its operator
// declared to save.
class Backward : public Args {
 public:
  Backward(const OpDef& op, const Arg* args, const Tensor* outs, const Tensor* grads, int count)
      : Args(op, args), outs_(outs), grads_(grads), count_(count) {}
  // An input as it was given; reading one that was not declared to be saved is a fault of the rule.
  const Arg& operator[](int i) const {
    if (WISP_UNLIKELY(args_[i].kind == ArgKind::shape)) fail_not_saved(i);
    return args_[i];
  }
  const Tensor& tensor(int i) const { return (*this)[i].tensor(); }
  Operand operand(int i) const { return Operand((*this)[i]); }
  const Tensor& grad(int i = 0) const { return grads_[i]; }
  bool has_grad(int i) const { return grads_[i].defined(); }
  int grad_count() const { return count_; }
  const Tensor& out(int i = 0) const { return outs_[i]; }
  // Sizes and dtype of an input declared as "name.shape" or saved whole.
  IntSpan shape(int i) const {
    return args_[i].kind == ArgKind::shape ? args_[i].integers() : args_[i].tensor().sizes();
  }
  // Of a list of tensors declared as "name.shape": for each its number of dimensions, then its
  // sizes.
  IntSpan shapes(int i) const { return args_[i].integers(); }
  DType input_dtype(int i) const {
    return args_[i].kind == ArgKind::shape ? args_[i].dtype : args_[i].tensor().dtype();
  }

 private:
  [[noreturn]] void fail_not_saved(int i) const;
  const Tensor* outs_;
  const Tensor* grads_;
  int count_;
};
using VjpFn = Tensor (*)(const Backward&);
// Gradients of a list argument; entries stay undefined where wanted[i] is false.
using VjpListFn = void (*)(const Backward&, std::span<const bool> wanted, std::vector<Tensor>&);

// The gradients of all rules at once, for operators whose gradients share work; used while they are
// not themselves differentiated. Entries stay undefined where wanted[i] is false, and what only the
// rules of such entries save is not there.
using JointVjpFn = void (*)(const Backward&, std::span<const bool> wanted, std::span<Tensor> grads);

// The gradient of one input. `saves` names what it reads: inputs ("other"), inputs of which it
// needs only sizes and dtype ("self.shape"), results ("result", or "result1" for the second).
struct Vjp {
  const char* input;
  const char* saves;
  VjpFn rule = nullptr;
  VjpListFn list_rule = nullptr;
  // Filled by the registry.
  uint8_t index = 0;
  uint32_t save_inputs = 0, save_shapes = 0, save_outputs = 0;
};

// How forward mode follows from what is already there; most operators need just the word.
enum class Jvp : uint8_t {
  unset,
  none,         // not differentiable
  elementwise,  // the vjp rule with the tangent in place of the gradient
  linear,       // the operator itself, applied to the tangent
  bilinear,     // linear in each tensor input on its own
  transposed,   // the vjp rule, itself differentiated with respect to the gradient
};

// How the operator behaves with an extra leading dimension (vmap).
enum class Batch : uint8_t {
  unset,
  pointwise,  // broadcasts with it
  along,      // works along the dimensions its arguments name: count them one further
  front,      // works on the last dimensions: those in front are carried through
  join,       // joins a list of tensors along a dimension
  loop,       // one sample at a time
};

namespace trait {
enum Trait : uint32_t {
  pointwise = 1 << 0,  // each result element depends on the elements at its own place only
  reduction = 1 << 1,
  view = 1 << 2,       // the result shares its first argument's memory
  random = 1 << 3,     // draws from a generator
  in_place = 1 << 4,   // has a form "name_" that overwrites self
  out = 1 << 5,        // has a form that writes into out=
  factory = 1 << 6,    // makes a tensor from nothing: takes requires_grad
  composite = 1 << 7,  // set by the registry: has a body, no kernel
  writes_self = 1
      << 8,  // the kernel starts from self's contents and copes with the result being self
  out_casts = 1 << 10,  // out= may have another dtype than the result (as for pointwise operators)
  in_place_only = 1 << 9,   // only the form "name_" is public: "zero_", "uniform_"
  writes_inputs = 1 << 11,  // the kernel changes tensors it is given: running statistics
  numbers_alone = 1 << 12,  // pointwise, and no operand has to be a tensor
  awaited = 1 << 13,        // may be one step with calls beside it: see dispatch/awaited.h
  spelled_out = 1 << 14,    // a composite of one tensor: of real ones, the numbers beside it alone
                            // decide what it calls
};
}  // namespace trait

namespace home {
enum Home : uint32_t {
  function = 1 << 0,    // wisp.name
  method = 1 << 1,      // Tensor.name
  functional = 1 << 2,  // wisp.nn.functional.name
  linalg = 1 << 3,
  special = 1 << 4,
  internal = 1 << 5,  // called by other operators only
  fft = 1 << 6,
};
// An operator of a namespace may carry its name in front: "linalg_solve" is wisp.linalg.solve.
struct Space {
  Home home;
  std::string_view name;
};
inline constexpr Space spaces[] = {{linalg, "linalg"}, {special, "special"}, {fft, "fft"}};
}  // namespace home

struct OpDef {
  const char* schema;
  const char* doc;
  InferFn infer = nullptr;
  KernelFn kernel = nullptr;  // on the CPU; other devices add theirs with Registry::set_kernel
  ViewFn view = nullptr;
  ViewsFn views = nullptr;
  BodyFn body = nullptr;
  uint16_t opcode = 0;        // of a pointwise operator: which tile kernel
  DirectFn direct = nullptr;  // a shortcut past infer and kernel, with the same result
  std::vector<Vjp> vjp = {};
  JointVjpFn joint_vjp = nullptr;
  Jvp jvp = Jvp::unset;
  Batch batch = Batch::unset;
  // The node it exports to; "+" and what it is written with, if it has no node of its own; or "-"
  // and the reason why it cannot be exported.
  const char* onnx = "";
  uint32_t constant_outs = 0;  // bit per result that has no derivative though it could: statistics
  uint32_t traits = 0;
  uint32_t homes = home::function | home::method;
  const char* node = nullptr;  // name of its graph node where it is not NameBackward0

  // Filled by the registry.
  Schema sig = {};
  std::array<KernelFn, num_device_types> kernels = {};
  int id = -1;
  std::string node_name = {};
  std::string shown = {};                // the name in messages: "exp", "linalg.solve"
  uint32_t differentiable = 0;           // bit per parameter that has a vjp
  std::array<uint8_t, 3> operands = {};  // the first parameters that take a tensor (or number) ...
  uint8_t operand_count = 0;             // ... and how many
  bool has(uint32_t traits_wanted) const { return (traits & traits_wanted) == traits_wanted; }
};

inline const char* Args::name() const { return op_->shown.c_str(); }

}  // namespace wisp
