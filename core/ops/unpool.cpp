// Pooling at random places, and the opposite of max pooling.
#include "base/parallel.h"
#include "ops/families.h"
#include "ops/ops.h"
#include "ops/pool.h"

namespace wisp::ops {

namespace {

// --- _fractional_max_pool(self, kernel_size, output_size, samples) -> (values, indices)

template <int dims>
void infer_fractional(Infer& infer) {
  const Tensor &self = infer.tensor(0), &samples = infer.tensor(3);
  check_image(infer, self, dims);
  if (!is_floating(self.dtype())) fail_not_implemented(infer.name() + 1, self.dtype());
  const Dims kernel = per_dim(infer, 1, dims), out = per_dim(infer, 2, dims);
  const IntSpan in = image_sizes(self, dims);
  for (size_t d = 0; d < dims; ++d) {
    WISP_CHECK(kernel[d] > 0 && out[d] > 0, infer.name() + 1,
               "(): kernel_size and output_size must be greater than zero, but got ", kernel,
               " and ", out);
    WISP_CHECK(out[d] + kernel[d] - 1 <= in[d], infer.name() + 1, "(): pool size ", kernel[d],
               " too large relative to input size ", in[d]);
  }
  const int64_t channels = self->size(self.ndim() - dims - 1);
  const int64_t batch = self.ndim() == dims + 2 ? self->size(0) : 1;
  WISP_CHECK(samples.dtype() == self.dtype(),
             "Expect _random_samples to have the same dtype as input");
  WISP_CHECK(samples.ndim() == 3 && samples->size(0) >= batch && samples->size(1) >= channels &&
                 samples->size(2) == dims,
             "Expect _random_samples of shape [", batch, ", ", channels, ", ", dims, "], got ",
             samples.sizes());
  Dims sizes(self.sizes());
  for (size_t d = 0; d < dims; ++d) sizes[sizes.size() - dims + d] = out[d];
  infer.push(sizes, self.dtype(), self.device());
  infer.push(sizes, DType::int64, self.device());
}

// Every plane has windows of its own.
template <int dims, class T>
void pool_planes(const Call& call, const Tensor& x, const Tensor& samples, const Tensor& y) {
  const Dims kernel = per_dim(call, 1, dims);
  const IntSpan in = image_sizes(x, dims), out = image_sizes(y, dims);
  const int64_t channels = x->size(x.ndim() - dims - 1);
  const int64_t in_plane = count_elements(in), out_plane = count_elements(out);
  const int64_t planes = y.numel() / out_plane;
  parallel_for(planes, 1, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const T* sample =
          samples.data<T>() + (plane / channels * samples->size(1) + plane % channels) * dims;
      std::vector<cpu::Windows> windows;
      for (size_t d = 0; d < dims; ++d) {
        const size_t at = dims == 2 ? 1 - d : d;  // of an image, width comes before height
        windows.push_back(cpu::fractional_windows<T>(in[d], out[d], kernel[d], sample[at]));
      }
      cpu::max_pool({.dtype = dtype_of<T>,
                     .shape = {1, 1},
                     .windows = std::move(windows),
                     .x = reinterpret_cast<const char*>(x.data<T>() + plane * in_plane),
                     .y = reinterpret_cast<char*>(y.data<T>() + plane * out_plane),
                     .index = call.out(1).data<int64_t>() + plane * out_plane});
    }
  });
}

template <int dims>
void fractional_kernel(const Call& call) {
  if (call.out().numel() == 0) return;
  const DType dtype = math_dtype(call.out().dtype());
  const Tensor x = consecutive(call.tensor(0), dtype), samples = consecutive(call.tensor(3), dtype);
  const Target target(call.out(), dtype);
  visit<dtypes::real_math>(dtype, "fractional_max_pool", [&]<class T>() {
    pool_planes<dims, T>(call, x, samples, target.work());
  });
  target.finish();
}

template <int dims>
Tensor fractional_grad(const Backward& b) {
  return invoke<"_pool_scatter">(b.grad(), b.out(1), b.shape(0).last(dims));
}

// --- _max_unpool(self, indices, output_size)

// Values go back to where their indices say; everything else is zero.
void max_unpool_body(const Args& args, TensorList& outs) {
  const Tensor &self = args.tensor(0), &indices = args.tensor(1);
  const IntSpan size = args.integers(2);
  const int64_t dims = static_cast<int64_t>(size.size());
  WISP_CHECK(indices.dtype() == DType::int64,
             "elements in indices should be type int64 but got: ", legacy_name(indices.dtype()));
  check_image(args, self, dims);
  WISP_CHECK(same(self.sizes(), indices.sizes()), "Expected shape of indices to be: ", self.sizes(),
             " but got: ", indices.sizes());
  Dims flat(self.sizes().first(static_cast<size_t>(self.ndim() - dims)));
  const Dims lead = flat;
  flat.push_back(count_elements(size));
  Dims shape = lead;
  for (int64_t n : size) shape.push_back(n);
  const int64_t first = self.ndim() - dims;
  WISP_CHECK(indices.numel() == 0 || (!any(lt(indices, 0)).item().truth() &&
                                      !any(ge(indices, Scalar(flat.back()))).item().truth()),
             "Found an invalid max index: indices must lie in a plane of ", size);
  const Tensor filled =
      scatter(zeros(flat, self.dtype()), -1, flatten(indices, first), flatten(self, first));
  outs.push(view(filled, shape));
}

}  // namespace

void register_unpool(Registry& r) {
  const struct {
    const char *schema, *doc, *node;
    InferFn infer;
    KernelFn kernel;
    VjpFn vjp;
  } fractional[] = {
      {"_fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor samples) -> (Tensor, Tensor)",
       "Maxima of windows at the places that `samples` say.\n\n>>> wisp.nn.functional._fractional_max_pool2d(wisp.tensor([[[1., 3.], [2., 0.]]]), 2, 1, wisp.zeros(1, 1, 2))[0]\ntensor([[[3.]]])",
       "FractionalMaxPool2DBackward0", infer_fractional<2>, fractional_kernel<2>,
       fractional_grad<2>},
      {"_fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] output_size, Tensor samples) -> (Tensor, Tensor)",
       "Maxima of windows at the places that `samples` say.\n\n>>> wisp.nn.functional._fractional_max_pool3d(wisp.ones(1, 2, 2, 2), 2, 1, wisp.zeros(1, 1, 3))[0]\ntensor([[[[1.]]]])",
       "FractionalMaxPool3DBackward0", infer_fractional<3>, fractional_kernel<3>,
       fractional_grad<3>}};
  for (const auto& row : fractional) {
    r.add({.schema = row.schema,
           .doc = row.doc,
           .infer = row.infer,
           .kernel = row.kernel,
           .vjp = {{"self", "self.shape result1", row.vjp}},
           .jvp = Jvp::transposed,
           .batch = Batch::loop,
           .onnx = "+ random numbers of ONNX",
           .homes = home::functional,
           .node = row.node});
  }
  r.add(
      {.schema = "_max_unpool(Tensor self, Tensor indices, int[] output_size) -> Tensor",
       .doc =
           "The elements at the places in an image that their indices name, and zeros elsewhere.\n\n"
           ">>> wisp.nn.functional._max_unpool(wisp.tensor([[[3.]]]), wisp.tensor([[[1]]]), (2, 2))\ntensor([[[0., 3.],\n         [0., 0.]]])",
       .body = max_unpool_body,
       .onnx = "MaxUnpool",
       .homes = home::functional});
}

}  // namespace wisp::ops
