// Images sampled at given places.
#include <cmath>

#include "ops/families.h"
#include "ops/ops.h"
#include "ops/promotion.h"

namespace wisp::ops {

namespace {

// --- grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)

enum class Sampling : int64_t { linear, nearest, cubic };
enum class Outside : int64_t { zeros, border, reflection };

struct Settings {
  Sampling sampling;
  Outside outside;
  bool align_corners;
};

Settings settings_of(const Args& args) {
  return {static_cast<Sampling>(args.integer(2)), static_cast<Outside>(args.integer(3)),
          args.boolean(4)};
}

// From [-1, 1] to elements.
Tensor place(const Tensor& coordinate, int64_t size, bool align_corners) {
  const double n = static_cast<double>(size);
  const Tensor shifted = add(coordinate, 1);
  return align_corners ? mul(shifted, (n - 1) / 2) : div(sub(mul(shifted, n), 1), 2);
}

// Back and forth between both ends.
Tensor reflected(const Tensor& at, int64_t size, bool align_corners) {
  const double low = align_corners ? 0 : -0.5, span = static_cast<double>(size - align_corners);
  if (span == 0) return mul(at, 0);
  const Tensor way = abs(sub(at, low));
  const Tensor rest = invoke<"fmod">(way, Scalar(span));
  const Tensor turns = floor(div(detach(way), span));
  const Tensor odd = eq(invoke<"fmod">(turns, Scalar(2)), 1);
  return add(where(odd, sub(Scalar(span), rest), rest), low);
}

Tensor kept_inside(const Tensor& at, int64_t size, const Settings& settings) {
  if (settings.outside == Outside::zeros) return at;
  const Tensor turned =
      settings.outside == Outside::reflection ? reflected(at, size, settings.align_corners) : at;
  return clamp(turned, Scalar(0), Scalar(size - 1));
}

// One element that a sample is made of, along one dimension.
struct Tap {
  Tensor index;   // float, whole numbers
  Tensor weight;  // undefined: one
};

// The cubic through four points, at distances |x| < 1 and 1 < |x| < 2 from two of them.
Tensor cubic_near(const Tensor& x) {
  constexpr double a = -0.75;
  return add(mul(square(x), sub(mul(x, a + 2), a + 3)), 1);
}
Tensor cubic_far(const Tensor& x) {
  constexpr double a = -0.75;
  return mul(sub(mul(add(mul(sub(x, 5), x), 8), x), 4), a);
}

std::vector<Tap> taps_at(const Tensor& coordinate, int64_t size, const Settings& settings) {
  const Tensor given = place(coordinate, size, settings.align_corners);
  if (settings.sampling == Sampling::cubic) {
    const Tensor base = floor(detach(given)), part = sub(given, base);
    const Tensor rest = sub(Scalar(1), part);
    auto index = [&](double step) { return kept_inside(add(base, step), size, settings); };
    return {{index(-1), cubic_far(add(part, 1))},
            {index(0), cubic_near(part)},
            {index(1), cubic_near(rest)},
            {index(2), cubic_far(add(rest, 1))}};
  }
  const Tensor at = kept_inside(given, size, settings);
  if (settings.sampling == Sampling::nearest) return {{round(detach(at)), Tensor()}};
  const Tensor base = floor(detach(at)), part = sub(at, base);
  return {{base, sub(Scalar(1), part)}, {add(base, 1), part}};
}

// Images and places for one call: (N, C, elements) and, per dimension, (N, samples).
class Sampler {
 public:
  Sampler(const Tensor& input, const Tensor& grid, const Settings& settings)
      : flat_(flatten(input, 2)), dims_(input.ndim() - 2) {
    const Tensor samples = flatten(grid, 1, -2);
    for (int64_t d = 0; d < dims_; ++d) {
      sizes_[d] = input->size(2 + d);
      taps_[d] = taps_at(select(samples, -1, dims_ - 1 - d), sizes_[d], settings);
    }
  }
  Tensor run() { return add_up(0, Tensor(), Tensor(), Tensor()); }

 private:
  // All combinations of the taps of this dimension and those that follow.
  Tensor add_up(int64_t d, const Tensor& index, const Tensor& weight, const Tensor& inside) {
    if (d == dims_) return picked(index, weight, inside);
    Tensor total;
    for (const Tap& tap : taps_[d]) {
      const Tensor here = logical_and(ge(tap.index, 0), lt(tap.index, Scalar(sizes_[d])));
      const Tensor own = to(
          clamp(where(here, tap.index, Scalar(0)), Scalar(0), Scalar(sizes_[d] - 1)), DType::int64);
      const Tensor next =
          add_up(d + 1, index.defined() ? add(mul(index, Scalar(sizes_[d])), own) : own,
                 !weight.defined()      ? tap.weight
                 : tap.weight.defined() ? mul(weight, tap.weight)
                                        : weight,
                 inside.defined() ? logical_and(inside, here) : here);
      total = total.defined() ? add(total, next) : next;
    }
    return total;
  }
  Tensor picked(const Tensor& index, const Tensor& weight, const Tensor& inside) {
    const int64_t shape[] = {flat_->size(0), flat_->size(1), index->size(1)};
    const Tensor values = gather(flat_, 2, expand(unsqueeze(index, 1), shape));
    const Tensor seen = where(unsqueeze(inside, 1), values, Scalar(0));
    return weight.defined() ? mul(seen, unsqueeze(weight, 1)) : seen;
  }

  Tensor flat_;
  int64_t dims_;
  int64_t sizes_[3] = {};
  std::vector<Tap> taps_[3];
};

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

void grid_sampler_body(const Args& args, TensorList& outs) {
  check_sampler(args);
  const Tensor& given = args.tensor(0);
  const DType dtype = math_dtype(given.dtype());
  const Tensor input = to(given, dtype), grid = to(args.tensor(1), dtype);
  Dims shape{input->size(0), input->size(1)};
  for (int64_t i = 1; i + 1 < grid.ndim(); ++i) shape.push_back(grid->size(i));
  const Tensor result = Sampler(input, grid, settings_of(args)).run();
  outs.push(view(to(result, given.dtype()), shape));
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
  for (
      const char* schema :
      {"grid_sampler(Tensor self, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
       "grid_sampler_2d(Tensor self, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
       "grid_sampler_3d(Tensor self, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor"}) {
    r.add({.schema = schema,
           .doc = sampler_doc,
           .body = grid_sampler_body,
           .onnx = "GridSample",
           .homes = home::function});
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
