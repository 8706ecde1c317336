// Activation functions of nn.functional: the kernels of activation_kernels.cpp, with the argument
// `inplace` and forms "name_".
#include <span>

#include "ops/families.h"
#include "ops/ops.h"

namespace wisp::ops {

namespace {

// Runs a kernel on a new tensor, or on self's own memory.
template <OpName Name, class... A>
void activate(TensorList& outs, const Tensor& self, bool in_place, const A&... numbers) {
  outs.push(in_place ? Tensor(invoke_in_place<Name>(self, numbers...))
                     : invoke<Name>(self, numbers...));
}

// A number as an element of that dtype would be.
Scalar rounded_to(DType dtype, Scalar number) {
  if (!is_floating(dtype)) return number;
  return visit<dtypes::floating>(dtype, "number", [&]<class T>() {
    return Scalar(convert<double>(convert<T>(number.real())));
  });
}

struct Function {
  const char *schema, *doc;
  BodyFn body;
  const char* onnx;
  uint32_t homes = home::functional;
  uint32_t traits = 0;
};

constexpr double selu_alpha = 1.6732632423543772848170429916717;
constexpr double selu_scale = 1.0507009873554804934193349852946;
constexpr uint32_t both = home::function | home::functional;

void celu(const Args& args, TensorList& outs, bool in_place) {
  const double alpha = args.real(1);
  WISP_CHECK(alpha != 0, "ZeroDivisionError: alpha cannot be 0 for CELU");
  activate<"_elu">(outs, args.tensor(0), in_place, alpha, 1.0, 1 / alpha);
}

void gelu_body(const Args& args, TensorList& outs) {
  const std::string_view way = args.string(1);
  WISP_CHECK(way == "none" || way == "tanh", "approximate argument must be either none or tanh.");
  way == "none" ? activate<"_gelu">(outs, args.tensor(0), false)
                : activate<"_gelu_tanh">(outs, args.tensor(0), false);
}

void softshrink_body(const Args& args, TensorList& outs) {
  WISP_CHECK(args.real(1) >= 0, "lambda must be greater or equal to 0, but found to be ",
             args.real(1), ".");
  activate<"_softshrink">(outs, args.tensor(0), false, args[1]);
}

void hardtanh(const Args& args, TensorList& outs, bool in_place) {
  WISP_CHECK_VALUE(args.real(1) <= args.real(2), "min_val cannot be greater than max_val");
  activate<"_hardtanh">(outs, args.tensor(0), in_place, args[1], args[2]);
}

// a * sigmoid(b) of the halves a and b along a dimension.
void glu_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  WISP_CHECK(self.ndim() > 0, "glu does not support 0-dimensional tensors");
  const int64_t dim = wrap_dim(args.integer(1), self.ndim(), "glu"), size = self->size(dim);
  WISP_CHECK(size % 2 == 0, "Halving dimension must be even, but dimension ", dim, " is size ",
             size);
  if (size == 0) return outs.push(mul(self, sigmoid(self)));
  const Tensors halves = split(self, size / 2, dim);  // whose gradient is written in one pass
  // Where there will be a derivative, the sigmoid is kept for it: to find it again takes longer.
  const bool once = is_floating(self.dtype()) && !differentiated(self);
  outs.push(once ? invoke<"_gate">(halves[0], halves[1]) : mul(halves[0], sigmoid(halves[1])));
}

// A slope per channel (dimension 1), or one for all.
void prelu_body(const Args& args, TensorList& outs) {
  const Tensor &self = args.tensor(0), &weight = args.tensor(1);
  WISP_CHECK(
      weight.ndim() <= 1,
      "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = ", weight.ndim());
  WISP_CHECK(self.dtype() == weight.dtype(), "prelu: Type promoting not supported. Got ",
             name(self.dtype()), " and ", name(weight.dtype()));
  Tensor slope = weight;
  if (weight.numel() != 1) {
    WISP_CHECK(self.ndim() > 0, "Not allow zero-dim input tensor.");
    const int64_t channels = self.ndim() > 1 ? self->size(1) : 1;
    WISP_CHECK(channels == weight.numel(),
               "Mismatch of parameter numbers and input channel size. Found parameter numbers = ",
               weight.numel(), " and channel size = ", channels, ".");
    Dims shape(static_cast<size_t>(self.ndim()), 1);
    shape[1] = channels;
    slope = view(weight, shape);
  } else if (weight.ndim() == 1) {
    slope = reshape(weight, IntSpan());
  }
  outs.push(invoke<"_prelu">(self, slope));
}

// Slopes drawn per negative element in training, their mean otherwise.
void rrelu(const Args& args, TensorList& outs, bool in_place) {
  const Tensor& self = args.tensor(0);
  const double lower = args.real(1), upper = args.real(2);
  WISP_CHECK(std::isfinite(lower) && std::isfinite(upper), "rrelu: bounds must be finite, got ",
             lower, " and ", upper);
  WISP_CHECK(lower <= upper, "Lower bound should be less than or equal to the upper bound");
  if (!args.boolean(3)) return activate<"_leaky_relu">(outs, self, in_place, (lower + upper) / 2);
  Tensor slope;
  {
    GradMode no_grad(false);
    slope = add(mul(invoke<"rand_like">(self), upper - lower), lower);
  }
  // What the derivative reads must outlive the write.
  const Tensor result = invoke<"_prelu">(in_place ? clone(self) : self, slope);
  outs.push(in_place ? Tensor(copy_(self, result)) : result);
}

constexpr Function plain[] = {
    {"relu.functional(Tensor self, bool inplace=False) -> Tensor",
     "Negative elements become 0.\n\n>>> wisp.nn.functional.relu(wisp.tensor([-1., 2.]))\ntensor([0., 2.])",
     [](const Args& args, TensorList& outs) {
       activate<"relu">(outs, args.tensor(0), args.boolean(1));
     },
     "Relu"},
    {"gelu(Tensor self, *, str approximate='none') -> Tensor",
     "`self` times the normal distribution function of `self`, or an approximation of it by \"tanh\".\n\n>>> wisp.nn.functional.gelu(wisp.tensor([-1., 1.]))\ntensor([-0.1587,  0.8413])",
     gelu_body, "Gelu", home::functional, trait::out},
    {"silu(Tensor self, bool inplace=False) -> Tensor",
     "`self * sigmoid(self)`.\n\n>>> wisp.nn.functional.silu(wisp.tensor([-1., 1.]))\ntensor([-0.2689,  0.7311])",
     [](const Args& args, TensorList& outs) {
       const Tensor& self = args.tensor(0);
       if (!is_complex(self.dtype())) return activate<"_silu">(outs, self, args.boolean(1));
       const Tensor result = mul(self, sigmoid(self));
       outs.push(args.boolean(1) ? copy_(self, result) : result);
     },
     "+ Mul of Sigmoid"},
    {"mish(Tensor self, bool inplace=False) -> Tensor",
     "`self * tanh(softplus(self))`.\n\n>>> wisp.nn.functional.mish(wisp.tensor([-1., 1.]))\ntensor([-0.3034,  0.8651])",
     [](const Args& args, TensorList& outs) {
       activate<"_mish">(outs, args.tensor(0), args.boolean(1));
     },
     "Mish"},
    {"softplus(Tensor self, float beta=1.0, float threshold=20.0) -> Tensor",
     "`log(1 + exp(beta * self)) / beta`, and `self` where `beta * self` is above the threshold.\n\n>>> wisp.nn.functional.softplus(wisp.tensor([0., 30.]))\ntensor([ 0.6931, 30.0000])",
     [](const Args& args, TensorList& outs) {
       activate<"_softplus">(outs, args.tensor(0), false, args[1], args[2]);
     },
     "Softplus", home::functional, trait::out},
    {"logsigmoid(Tensor self) -> Tensor",
     "`log(sigmoid(self))`, accurate where that is tiny.\n\n>>> wisp.nn.functional.logsigmoid(wisp.tensor([0., -100.]))\ntensor([  -0.6931, -100.0000])",
     [](const Args& args, TensorList& outs) {
       activate<"_log_sigmoid">(outs, args.tensor(0), false);
     },
     "+ Log of Sigmoid", home::functional, trait::out},
    {"hardsigmoid(Tensor self, bool inplace=False) -> Tensor",
     "`clamp(self + 3, 0, 6) / 6`.\n\n>>> wisp.nn.functional.hardsigmoid(wisp.tensor([-4., 0., 4.]))\ntensor([0.0000, 0.5000, 1.0000])",
     [](const Args& args, TensorList& outs) {
       activate<"_hardsigmoid">(outs, args.tensor(0), args.boolean(1));
     },
     "HardSigmoid"},
    {"hardswish(Tensor self, bool inplace=False) -> Tensor",
     "`self * hardsigmoid(self)`.\n\n>>> wisp.nn.functional.hardswish(wisp.tensor([-4., 1., 4.]))\ntensor([-0.0000, 0.6667, 4.0000])",
     [](const Args& args, TensorList& outs) {
       activate<"_hardswish">(outs, args.tensor(0), args.boolean(1));
     },
     "HardSwish"},
    {"softsign(Tensor self) -> Tensor",
     "`self / (1 + |self|)`.\n\n>>> wisp.nn.functional.softsign(wisp.tensor([-1., 3.]))\ntensor([-0.5000,  0.7500])",
     [](const Args& args, TensorList& outs) {
       outs.push(div(args.tensor(0), add(abs(args.tensor(0)), 1)));
     },
     "Softsign"},
    {"tanhshrink(Tensor self) -> Tensor",
     "`self - tanh(self)`.\n\n>>> wisp.nn.functional.tanhshrink(wisp.tensor([1.]))\ntensor([0.2384])",
     [](const Args& args, TensorList& outs) {
       outs.push(sub(args.tensor(0), tanh(args.tensor(0))));
     },
     "+ Sub of Tanh"},
    {"softshrink(Tensor self, float lambd=0.5) -> Tensor",
     "Elements move towards 0 by lambd.\n\n>>> wisp.nn.functional.softshrink(wisp.tensor([-1., 0.25]))\ntensor([-0.5000,  0.0000])",
     softshrink_body, "Shrink", home::functional, trait::out},
};

// Those with a form "name_".
constexpr Function with_in_place[] = {
    {"elu(Tensor self, float alpha=1.0, bool inplace=False) -> Tensor",
     "`alpha * (exp(self) - 1)` below 0.\n\n>>> wisp.nn.functional.elu(wisp.tensor([-1., 1.]))\ntensor([-0.6321,  1.0000])",
     [](const Args& args, TensorList& outs) {
       activate<"_elu">(outs, args.tensor(0), args.boolean(2), args[1]);
     },
     "Elu"},
    {"elu_(Tensor self, float alpha=1.0) -> Tensor",
     "elu in place.\n\n>>> wisp.nn.functional.elu_(wisp.tensor([1.]))\ntensor([1.])",
     [](const Args& args, TensorList& outs) {
       activate<"_elu">(outs, args.tensor(0), true, args[1]);
     },
     "Elu"},
    {"selu(Tensor self, bool inplace=False) -> Tensor",
     "elu with the scales that keep mean 0 and variance 1.\n\n>>> wisp.selu(wisp.tensor([-1., 1.]))\ntensor([-1.1113,  1.0507])",
     [](const Args& args, TensorList& outs) {
       activate<"_elu">(outs, args.tensor(0), args.boolean(1), selu_alpha, selu_scale);
     },
     "Selu", both},
    {"selu_(Tensor self) -> Tensor",
     "selu in place.\n\n>>> wisp.selu_(wisp.tensor([1.]))\ntensor([1.0507])",
     [](const Args& args, TensorList& outs) {
       activate<"_elu">(outs, args.tensor(0), true, selu_alpha, selu_scale);
     },
     "Selu", both},
    {"celu(Tensor self, float alpha=1.0, bool inplace=False) -> Tensor",
     "`alpha * (exp(self / alpha) - 1)` below 0.\n\n>>> wisp.celu(wisp.tensor([-1., 1.]), 2)\ntensor([-0.7869,  1.0000])",
     [](const Args& args, TensorList& outs) { celu(args, outs, args.boolean(2)); }, "Celu", both},
    {"celu_(Tensor self, float alpha=1.0) -> Tensor",
     "celu in place.\n\n>>> wisp.celu_(wisp.tensor([1.]))\ntensor([1.])",
     [](const Args& args, TensorList& outs) { celu(args, outs, true); }, "Celu", both},
    {"relu_.functional(Tensor self) -> Tensor",
     "relu in place.\n\n>>> wisp.nn.functional.relu_(wisp.tensor([-1.]))\ntensor([0.])",
     [](const Args& args, TensorList& outs) { activate<"relu">(outs, args.tensor(0), true); },
     "Relu"},
    {"relu6(Tensor self, bool inplace=False) -> Tensor",
     "Elements held between 0 and 6.\n\n>>> wisp.nn.functional.relu6(wisp.tensor([-1., 2., 8.]))\ntensor([0., 2., 6.])",
     [](const Args& args, TensorList& outs) {
       activate<"_hardtanh">(outs, args.tensor(0), args.boolean(1), 0, 6);
     },
     "Clip"},
    {"leaky_relu(Tensor self, float negative_slope=0.01, bool inplace=False) -> Tensor",
     "Negative elements are multiplied by a small slope.\n\n>>> wisp.nn.functional.leaky_relu(wisp.tensor([-1., 2.]))\ntensor([-0.0100,  2.0000])",
     [](const Args& args, TensorList& outs) {
       activate<"_leaky_relu">(outs, args.tensor(0), args.boolean(2), args[1]);
     },
     "LeakyRelu"},
    {"leaky_relu_(Tensor self, float negative_slope=0.01) -> Tensor",
     "leaky_relu in place.\n\n>>> wisp.nn.functional.leaky_relu_(wisp.tensor([1.]))\ntensor([1.])",
     [](const Args& args, TensorList& outs) {
       activate<"_leaky_relu">(outs, args.tensor(0), true, args[1]);
     },
     "LeakyRelu"},
    {"hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1, bool inplace=False) -> Tensor",
     "Elements held between two bounds.\n\n>>> wisp.nn.functional.hardtanh(wisp.tensor([-2., 0.5, 2.]))\ntensor([-1.0000,  0.5000,  1.0000])",
     [](const Args& args, TensorList& outs) { hardtanh(args, outs, args.boolean(3)); }, "Clip"},
    {"hardtanh_(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
     "hardtanh in place.\n\n>>> wisp.nn.functional.hardtanh_(wisp.tensor([2.]))\ntensor([1.])",
     [](const Args& args, TensorList& outs) { hardtanh(args, outs, true); }, "Clip"},
    {"threshold(Tensor self, Scalar threshold, Scalar value, bool inplace=False) -> Tensor",
     "Elements that are not above the threshold become `value`.\n\n>>> wisp.threshold(wisp.tensor([0.5, 2.]), 1, 9)\ntensor([9., 2.])",
     [](const Args& args, TensorList& outs) {
       activate<"_threshold">(outs, args.tensor(0), args.boolean(3), args[1], args[2]);
     },
     "+ Where of Greater", both, trait::out},
    {"threshold_(Tensor self, Scalar threshold, Scalar value) -> Tensor",
     "threshold in place.\n\n>>> wisp.threshold_(wisp.tensor([0.5, 2.]), 1, 9)\ntensor([9., 2.])",
     [](const Args& args, TensorList& outs) {
       activate<"_threshold">(outs, args.tensor(0), true, args[1], args[2]);
     },
     "+ Where of Greater", both},
};

// What these call depends on more than the numbers that they are given.
constexpr Function others[] = {
    {"hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
     "Elements between -lambd and lambd become 0.\n\n>>> wisp.hardshrink(wisp.tensor([-1., 0.25]))\ntensor([-1.,  0.])",
     [](const Args& args, TensorList& outs) {
       const Tensor& self = args.tensor(0);
       const Arg limit(rounded_to(self.dtype(), args.scalar(1)));  // as elements at it are
       activate<"_hardshrink">(outs, self, false, limit);
     },
     "Shrink", both | home::method, trait::out},
    {"glu(Tensor self, int dim=-1) -> Tensor",
     "The first half along a dimension times the sigmoid of the second.\n\n>>> wisp.nn.functional.glu(wisp.tensor([1., 0.]))\ntensor([0.5000])",
     glu_body, "+ Mul of Sigmoid"},
    {"prelu(Tensor self, Tensor weight) -> Tensor",
     "Negative elements are multiplied by a weight, one for all or one per channel.\n\n>>> wisp.prelu(wisp.tensor([-1., 2.]), wisp.tensor([0.25]))\ntensor([-0.2500,  2.0000])",
     prelu_body, "PRelu", both | home::method},
    {"rrelu(Tensor self, float lower=0.125, float upper=0.3333333333333333, bool training=False, bool inplace=False) -> Tensor",
     "leaky_relu with slopes drawn between two bounds in training, and their mean otherwise.\n\n>>> wisp.rrelu(wisp.tensor([-8., 2.]), 0.125, 0.375)\ntensor([-2.,  2.])",
     [](const Args& args, TensorList& outs) { rrelu(args, outs, args.boolean(4)); },
     "+ random numbers of ONNX", both},
    {"rrelu_(Tensor self, float lower=0.125, float upper=0.3333333333333333, bool training=False) -> Tensor",
     "rrelu in place.\n\n>>> wisp.rrelu_(wisp.tensor([-8., 2.]), 0.125, 0.375)\ntensor([-2.,  2.])",
     [](const Args& args, TensorList& outs) { rrelu(args, outs, true); },
     "+ random numbers of ONNX", both},
};

}  // namespace

void register_activation(Registry& r) {
  auto add_all = [&](std::span<const Function> functions, uint32_t traits) {
    for (const Function& f : functions) {
      r.add({.schema = f.schema,
             .doc = f.doc,
             .body = f.body,
             .onnx = f.onnx,
             .traits = traits | f.traits,
             .homes = f.homes});
    }
  };
  add_all(plain, trait::spelled_out);
  add_all(with_in_place, trait::spelled_out);
  add_all(others, 0);
}

}  // namespace wisp::ops
