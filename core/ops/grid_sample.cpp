// Images sampled at given places.
#include "cpu/grid_sample.h"

#include "ops/families.h"
#include "ops/joint.h"
#include "ops/norms.h"
#include "ops/ops.h"
#include "ops/promotion.h"
#include "ops/raw.h"

namespace wisp::ops {

namespace {

using cpu::Outside;
using cpu::Sampling;

// --- (self, grid, interpolation_mode, padding_mode, align_corners): the kernel

struct Settings {
  Sampling sampling;
  Outside outside;
  bool align_corners;
};

Settings settings_of(const Args& args) {
  return {static_cast<Sampling>(args.integer(2)), static_cast<Outside>(args.integer(3)),
          args.boolean(4)};
}

void check_sampler(const Args& args) {
  const Tensor &input = args.tensor(0), &grid = args.tensor(1);
  WISP_CHECK(input.dtype() == grid.dtype(),
             "grid_sampler(): expected input and grid to have same dtype, but input has ",
             name(input.dtype()), " and grid has ", name(grid.dtype()));
  if (!is_floating(input.dtype())) fail_not_implemented("grid_sampler", input.dtype());
  WISP_CHECK((input.ndim() == 4 || input.ndim() == 5) && input.ndim() == grid.ndim(),
             "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, ",
             "but got input with sizes ", input.sizes(), " and grid with sizes ", grid.sizes());
  WISP_CHECK(input->size(0) == grid->size(0),
             "grid_sampler(): expected grid and input to have same batch size, but got input with ",
             "sizes ", input.sizes(), " and grid with sizes ", grid.sizes());
  WISP_CHECK(grid->size(grid.ndim() - 1) == input.ndim() - 2,
             "grid_sampler(): expected grid to have size ", input.ndim() - 2,
             " in last dimension, but got grid with sizes ", grid.sizes());
  for (int64_t i = 2; i < input.ndim(); ++i)
    WISP_CHECK(
        input->size(i) > 0,
        "grid_sampler(): expected input to have non-empty spatial dimensions, but input has ",
        "sizes ", input.sizes(), " with dimension ", i, " being empty");
  const Settings settings = settings_of(args);
  WISP_CHECK(settings.sampling != Sampling::cubic || input.ndim() == 4,
             "grid_sampler(): bicubic interpolation only supports 4D input");
  WISP_CHECK(settings.sampling <= Sampling::cubic && settings.outside <= Outside::reflection,
             "grid_sampler(): expected interpolation and padding modes from 0 to 2, got ",
             args.integer(2), " and ", args.integer(3));
}

Dims sampled_shape(const Tensor& input, const Tensor& grid) {
  Dims shape{input->size(0), input->size(1)};
  for (int64_t i = 1; i + 1 < grid.ndim(); ++i) shape.push_back(grid->size(i));
  return shape;
}

void infer_sampler(Infer& infer) {
  check_sampler(infer);
  infer.push(sampled_shape(infer.tensor(0), infer.tensor(1)), infer.tensor(0).dtype(),
             infer.tensor(0).device());
}

// `results` is (N, C, samples...); images may be absent.
cpu::GridSampleCall job_for(const Settings& settings, IntSpan image, const Tensor& input,
                            const Tensor& grid, int64_t results) {
  cpu::GridSampleCall job{.dtype = grid.dtype(),
                          .batch = image[0],
                          .channels = image[1],
                          .samples = results / (image[0] * image[1]),
                          .dims = static_cast<int64_t>(image.size()) - 2,
                          .sizes = {},
                          .sampling = settings.sampling,
                          .outside = settings.outside,
                          .align_corners = settings.align_corners,
                          .images = input.defined() ? input->bytes() : nullptr,
                          .places = grid->bytes(),
                          .out = nullptr};
  for (int64_t d = 0; d < job.dims; ++d) job.sizes[d] = image[static_cast<size_t>(2 + d)];
  return job;
}

void sampler_kernel(const Call& call) {
  if (call.out().numel() == 0) return;
  const DType dtype = math_dtype(call.out().dtype());
  const Tensor input = consecutive(call.tensor(0), dtype),
               grid = consecutive(call.tensor(1), dtype);
  const RoundedResult out(call.out(), dtype);
  cpu::GridSampleCall job =
      job_for(settings_of(call), input.sizes(), input, grid, call.out().numel());
  job.out = out.bytes();
  cpu::grid_sample(job);
}

// --- The gradients: (grad, grid, interpolation_mode, padding_mode, align_corners, input, size,
// wanted), the input only for the gradient of the grid

void infer_sampler_grads(Infer& infer) {
  const Tensor& grid = infer.tensor(1);
  push_wanted(infer, infer.integer(7), grid, {infer.integers(6), grid.sizes()}, grid.dtype());
}

void sampler_grads_kernel(const Call& call) {
  const DType dtype = math_dtype(call.tensor(1).dtype());
  const Tensor grad = consecutive(call.tensor(0), dtype), grid = consecutive(call.tensor(1), dtype);
  const Tensor input = optional_consecutive(call[5], dtype);
  const RoundedResult images(call.out(0), dtype), places(call.out(1), dtype);
  const int64_t wanted = call.integer(7);
  const Settings settings = settings_of(call);
  cpu::grid_sample_grads({.call = job_for(settings, call.integers(6), input, grid, grad.numel()),
                          .grad = grad->bytes(),
                          .image_grads = wanted & 1 ? images.bytes() : nullptr,
                          .place_grads = wanted & 2 ? places.bytes() : nullptr});
}

void sampler_grads(const Backward& b, std::span<const bool> wanted, std::span<Tensor> grads) {
  if (b.grad().numel() == 0) {
    if (wanted[0]) grads[0] = zeros(b.shape(0), b.grad().dtype());
    if (wanted[1]) grads[1] = zeros_like(b.tensor(1));
    return;
  }
  hand_out(
      invoke_many<"_grid_sampler_grads">(b.grad(), b[1], b[2], b[3], b[4], wanted[1] ? b[0] : Arg(),
                                         b.shape(0), bits_of(wanted)),
      wanted, grads);
}

// --- The same in operators that can be differentiated, for the derivatives

// Places outside the image, brought inside, and by what that multiplies derivatives.
struct Inside {
  Tensor at, factor;
};

// Back and forth between both ends.
Inside reflected(const Tensor& at, int64_t size, bool align_corners) {
  const double low = align_corners ? 0 : -0.5, span = static_cast<double>(size - align_corners);
  if (span == 0) return {mul(at, 0), mul(detach(at), 0)};
  const Tensor from_low = sub(at, low), way = abs(from_low);
  const Tensor rest = invoke<"fmod">(way, Scalar(span));
  const Tensor odd = eq(invoke<"fmod">(floor(div(detach(way), span)), Scalar(2)), 1);
  const Tensor sign = where(lt(detach(from_low), 0), Scalar(-1.0), Scalar(1.0));
  return {add(where(odd, sub(Scalar(span), rest), rest), low),
          to(mul(where(odd, Scalar(-1.0), Scalar(1.0)), sign), at.dtype())};
}

Inside kept_inside(const Tensor& given, int64_t size, const Settings& settings) {
  Inside inside{given, ones_like(given)};
  if (settings.outside == Outside::zeros) return inside;
  if (settings.outside == Outside::reflection)
    inside = reflected(given, size, settings.align_corners);
  const Tensor fixed = detach(inside.at);
  const Tensor free = logical_and(gt(fixed, 0), lt(fixed, Scalar(size - 1)));
  return {clamp(inside.at, Scalar(0), Scalar(size - 1)),
          mul(inside.factor, to(free, given.dtype()))};
}

// One element that a sample is made of, along one dimension: its index, its weight, and how the
// weight changes with the place.
struct Tap {
  Tensor index, weight, slope;
};

// All of them, and how many elements a unit of the coordinate is.
struct Line {
  std::vector<Tap> taps;
  Tensor factor;
};

// The cubic through four points, at distances |x| < 1 and 1 < |x| < 2 from two of them.
constexpr double bend = -0.75;
Tensor cubic_near(const Tensor& x) {
  return add(mul(square(x), sub(mul(x, bend + 2), bend + 3)), 1);
}
Tensor cubic_near_slope(const Tensor& x) {
  return mul(x, sub(mul(x, 3 * (bend + 2)), 2 * (bend + 3)));
}
Tensor cubic_far(const Tensor& x) { return mul(sub(mul(add(mul(sub(x, 5), x), 8), x), 4), bend); }
Tensor cubic_far_slope(const Tensor& x) { return mul(add(mul(sub(mul(x, 3), 10), x), 8), bend); }

Line cubic_line(const Tensor& at, int64_t size, const Settings& settings) {
  const Tensor base = floor(detach(at)), part = sub(at, base), rest = sub(Scalar(1), part);
  const Tensor before = add(part, 1), after = add(rest, 1);
  auto index = [&](double step) { return floor(kept_inside(add(base, step), size, settings).at); };
  return {{{index(-1), cubic_far(before), cubic_far_slope(before)},
           {index(0), cubic_near(part), cubic_near_slope(part)},
           {index(1), cubic_near(rest), neg(cubic_near_slope(rest))},
           {index(2), cubic_far(after), neg(cubic_far_slope(after))}},
          ones_like(base)};
}

Line linear_line(const Tensor& at, int64_t size, const Settings& settings) {
  const Inside inside = kept_inside(at, size, settings);
  const Tensor fixed = detach(inside.at), one = ones_like(fixed);
  if (settings.sampling == Sampling::nearest)
    return {{{round(fixed), one, mul(one, 0)}}, inside.factor};
  const Tensor base = floor(fixed), part = sub(inside.at, base);
  return {{{base, sub(Scalar(1), part), neg(one)}, {add(base, 1), part, one}}, inside.factor};
}

Line line_at(const Tensor& coordinate, int64_t size, const Settings& settings) {
  const double step = static_cast<double>(size - settings.align_corners) / 2;
  const Tensor at = add(mul(add(coordinate, 1), step), settings.align_corners ? 0 : -0.5);
  Line line = settings.sampling == Sampling::cubic ? cubic_line(at, size, settings)
                                                   : linear_line(at, size, settings);
  line.factor = mul(line.factor, step);
  return line;
}

// The samples of one call, (N, samples) of them, and all elements they are made of.
class Samples {
 public:
  Samples(IntSpan image, const Tensor& grid, const Settings& settings)
      : dims_(static_cast<int64_t>(image.size())) {
    const Tensor flat = flatten(grid, 1, -2);
    for (int64_t d = 0; d < dims_; ++d) {
      sizes_[d] = image[static_cast<size_t>(d)];
      lines_[d] = line_at(select(flat, -1, dims_ - 1 - d), sizes_[d], settings);
    }
  }
  const Tensor& factor(int64_t d) const { return lines_[d].factor; }

  // f(index in an image, weight) for all combinations of taps, with the slope instead of the weight
  // along dimension `sloped`. Elements outside have weight 0.
  template <class F>
  void each(int64_t sloped, F f) const {
    combine(0, sloped, Tensor(), Tensor(), f);
  }

 private:
  template <class F>
  void combine(int64_t d, int64_t sloped, const Tensor& index, const Tensor& weight, F& f) const {
    if (d == dims_) return f(index, weight);
    for (const Tap& tap : lines_[d].taps) {
      const Tensor here = logical_and(ge(tap.index, 0), lt(tap.index, Scalar(sizes_[d])));
      const Tensor own = to(where(here, tap.index, Scalar(0)), DType::int64);
      const Tensor part = where(here, d == sloped ? tap.slope : tap.weight, Scalar(0));
      combine(d + 1, sloped, index.defined() ? add(mul(index, Scalar(sizes_[d])), own) : own,
              weight.defined() ? mul(weight, part) : part, f);
    }
  }

  int64_t dims_;
  int64_t sizes_[3] = {};
  Line lines_[3];
};

// The same index for all channels.
Tensor spread(const Tensor& index, int64_t channels) {
  const int64_t shape[] = {index->size(0), channels, index->size(1)};
  return expand(unsqueeze(index, 1), shape);
}

// Every element gets what the samples it is in send back.
Tensor sampler_input_grad(const Backward& b) {
  const DType dtype = math_dtype(b.grad().dtype());
  const Tensor grad = flatten(to(b.grad(), dtype), 2), grid = to(b.tensor(1), dtype);
  const IntSpan shape = b.shape(0), image = shape.subspan(2);
  const int64_t flat[] = {shape[0], shape[1], count_elements(image)};
  Tensor total = zeros(flat, dtype);
  Samples(image, grid, settings_of(b)).each(-1, [&](const Tensor& index, const Tensor& weight) {
    total = scatter_add(total, 2, spread(index, shape[1]), mul(grad, unsqueeze(weight, 1)));
  });
  return to(view(total, shape), b.grad().dtype());
}

// How much the samples change with their places, times what they send back.
Tensor sampler_grid_grad(const Backward& b) {
  const DType dtype = math_dtype(b.grad().dtype());
  const Tensor grad = flatten(to(b.grad(), dtype), 2), grid = to(b.tensor(1), dtype),
               input = flatten(to(b.tensor(0), dtype), 2);
  const IntSpan image = b.tensor(0).sizes().subspan(2);
  const Samples samples(image, grid, settings_of(b));
  const int64_t channels = 1;
  std::vector<Tensor> along;
  for (int64_t d = static_cast<int64_t>(image.size()); d-- > 0;) {
    Tensor slopes;
    samples.each(d, [&](const Tensor& index, const Tensor& weight) {
      const Tensor part =
          mul(gather(input, 2, spread(index, input->size(1))), unsqueeze(weight, 1));
      slopes = slopes.defined() ? add(slopes, part) : part;
    });
    along.push_back(mul(sum(mul(slopes, grad), IntSpan(&channels, 1)), samples.factor(d)));
  }
  return to(view(stack(along, -1), b.tensor(1).sizes()), b.grad().dtype());
}

void grid_sampler_body(const Args& args, TensorList& outs) {
  outs.push(args.tensor(0).ndim() == 5
                ? invoke<"grid_sampler_3d">(args[0], args[1], args[2], args[3], args[4])
                : invoke<"grid_sampler_2d">(args[0], args[1], args[2], args[3], args[4]));
}

// --- affine_grid_generator(theta, size, align_corners)

// The centres of n pixels in [-1, 1], or the first and the last at the very ends.
Tensor centres(int64_t n, DType dtype, bool align_corners) {
  const Tensor count = to(invoke<"arange">(Scalar(n)), dtype);
  if (n <= 1) return mul(count, 0);
  const double size = static_cast<double>(n);
  return align_corners ? sub(div(mul(count, 2), size - 1), 1)
                       : sub(div(add(mul(count, 2), 1), size), 1);
}

void affine_grid_body(const Args& args, TensorList& outs) {
  const Tensor& theta = args.tensor(0);
  const IntSpan size = args.integers(1);
  WISP_CHECK(size.size() == 4 || size.size() == 5,
             "AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.");
  const int64_t dims = static_cast<int64_t>(size.size()) - 2;
  WISP_CHECK(theta.ndim() == 3 && theta->size(0) == size[0] && theta->size(1) == dims &&
                 theta->size(2) == dims + 1,
             "Expected a batch of ", dims, "D affine matrices of shape ", size[0], "x", dims, "x",
             dims + 1, " for size ", size, ". Got ", theta.sizes(), ".");
  const IntSpan image = size.last(static_cast<size_t>(dims));
  std::vector<Tensor> columns;
  for (int64_t d = dims; d-- > 0;) {
    Dims own(static_cast<size_t>(dims), 1);
    own[static_cast<size_t>(d)] = image[static_cast<size_t>(d)];
    columns.push_back(expand(
        view(centres(image[static_cast<size_t>(d)], theta.dtype(), args.boolean(2)), own), image));
  }
  columns.push_back(expand(ones(IntSpan(), theta.dtype()), image));
  const Tensor base = unsqueeze(flatten(stack(columns, -1), 0, -2), 0);
  Dims shape{size[0]};
  for (int64_t n : image) shape.push_back(n);
  shape.push_back(dims);
  outs.push(view(matmul(base, transpose(theta, 1, 2)), shape));
}

}  // namespace

void register_grid_sample(Registry& r) {
  const char* sampler_doc =
      "Images sampled at places given in [-1, 1] for both ends, (x, y) last. Interpolation: 0 linear, 1 nearest, 2 cubic; outside: 0 zeros, 1 the border, 2 reflection.\n\n"
      ">>> wisp.grid_sampler(wisp.tensor([[[[1., 3.]]]]), wisp.zeros(1, 1, 1, 2), 0, 0, True)\ntensor([[[[2.]]]])";
  r.add(
      {.schema =
           "grid_sampler(Tensor self, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
       .doc = sampler_doc,
       .body = grid_sampler_body,
       .onnx = "GridSample",
       .homes = home::function});
  const struct {
    const char *schema, *node;
  } kernels[] = {
      {"grid_sampler_2d(Tensor self, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
       "GridSampler2DBackward0"},
      {"grid_sampler_3d(Tensor self, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
       "GridSampler3DBackward0"}};
  r.add(
      {.schema =
           "_grid_sampler_grads(Tensor grad, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, Tensor? input, int[] size, int wanted) -> (Tensor, Tensor)",
       .doc =
           "The gradients of grid_sampler's input and grid; empty where the bit of `wanted` is not set.",
       .infer = infer_sampler_grads,
       .kernel = sampler_grads_kernel,
       .jvp = Jvp::none,
       .batch = Batch::loop,
       .onnx = "- backward only",
       .homes = home::internal});
  for (const auto& row : kernels) {
    r.add({.schema = row.schema,
           .doc = sampler_doc,
           .infer = infer_sampler,
           .kernel = sampler_kernel,
           .vjp = {{"self", "self.shape grid interpolation_mode padding_mode align_corners",
                    sampler_input_grad},
                   {"grid", "self grid interpolation_mode padding_mode align_corners",
                    sampler_grid_grad}},
           .joint_vjp = sampler_grads,
           .jvp = Jvp::transposed,
           .batch = Batch::loop,
           .onnx = "GridSample",
           .homes = home::function,
           .node = row.node});
  }
  r.add(
      {.schema = "affine_grid_generator(Tensor theta, int[] size, bool align_corners) -> Tensor",
       .doc =
           "The places in [-1, 1] that affine maps take the pixels of images of this size to.\n\n"
           ">>> wisp.affine_grid_generator(wisp.tensor([[[1., 0., 0.], [0., 1., 0.]]]), (1, 1, 1, 2), True)\ntensor([[[[-1.,  0.],\n          [ 1.,  0.]]]])",
       .body = affine_grid_body,
       .onnx = "AffineGrid",
       .homes = home::function});
}

}  // namespace wisp::ops
