// wisp.fft: Fourier transforms of one, two and n dimensions, frequencies and shifts.
#include "ops/fft.h"

#include "ops/families.h"
#include "ops/ops.h"

namespace wisp::ops {

namespace {

// --- Arguments

FftNorm norm_of(const Args& args, int i, bool forward) {
  if (!args.has(i) || args.string(i) == "backward") return forward ? FftNorm::none : FftNorm::n;
  if (args.string(i) == "forward") return forward ? FftNorm::n : FftNorm::none;
  WISP_CHECK(args.string(i) == "ortho", args.name(), "(): Invalid normalization mode: \"",
             args.string(i), "\"");
  return FftNorm::root_n;
}

// Integers become the default float; there are no transforms of float16 and bfloat16.
Tensor promoted(const Args& args, bool to_complex_too) {
  const Tensor& self = args.tensor(0);
  DType dtype = to_floating(self.dtype());
  WISP_CHECK(!contains(dtypes::half, dtype), args.name(), "(): Unsupported dtype ",
             legacy_name(dtype));
  if (to_complex_too) dtype = to_complex(dtype);
  return dtype == self.dtype() ? self : to(self, dtype);
}

void check_length(const Args& args, int64_t n) {
  WISP_CHECK(n >= 1, args.name(), "(): Invalid number of data points (", n, ") specified");
}

// Cut off or filled up with zeros at the end of each dimension.
Tensor resized(Tensor x, const Dims& dims, IntSpan lengths) {
  Dims pad(2 * x.sizes().size(), 0);
  bool padded = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t size = x->size(dims[i]);
    if (lengths[i] < size) x = slice(x, dims[i], 0, lengths[i]);
    if (lengths[i] <= size) continue;
    pad[pad.size() - 2 * static_cast<size_t>(dims[i]) - 1] = lengths[i] - size;
    padded = true;
  }
  return padded ? constant_pad_nd(x, pad, 0) : x;
}

// --- One dimension: (self, n, dim, norm)

Dims one_dim(const Args& args, const Tensor& x) {
  WISP_CHECK_INDEX(x.ndim() > 0, args.name(), "(): Dimension specified as ", args.integer(2),
                   " but tensor has no dimensions");
  return {wrap_dim(args.integer(2), x.ndim(), args.name())};
}

Tensor resized_line(const Args& args, const Tensor& x, const Dims& dim) {
  const int64_t n = args.has(1) ? args.integer(1) : x->size(dim[0]);
  check_length(args, n);
  return resized(x, dim, IntSpan(&n, 1));
}

Tensor real_line(const Args& args, bool forward, bool onesided) {
  WISP_CHECK(!is_complex(args.tensor(0).dtype()), args.name(),
             " expects a real input tensor, but got ", legacy_name(args.tensor(0).dtype()));
  Tensor x = promoted(args, false);
  const Dims dim = one_dim(args, x);
  x = fft_r2c(resized_line(args, x, dim), dim, norm_of(args, 3, forward), onesided);
  return forward ? x : conj(x);
}

template <bool forward>
void complex_body(const Args& args, TensorList& outs) {
  if (!is_complex(args.tensor(0).dtype())) return outs.push(real_line(args, forward, false));
  const Tensor& x = args.tensor(0);
  const Dims dim = one_dim(args, x);
  outs.push(fft_c2c(resized_line(args, x, dim), dim, norm_of(args, 3, forward), forward));
}

template <bool forward>
void from_real_body(const Args& args, TensorList& outs) {
  outs.push(real_line(args, forward, true));
}

template <bool forward>
void to_real_body(const Args& args, TensorList& outs) {
  Tensor x = promoted(args, true);
  const Dims dim = one_dim(args, x);
  const int64_t n = args.has(1) ? args.integer(1) : 2 * (x->size(dim[0]) - 1);
  check_length(args, n);
  const int64_t half = n / 2 + 1;
  x = resized(x, dim, IntSpan(&half, 1));
  outs.push(fft_c2r(forward ? conj(x) : x, dim, norm_of(args, 3, forward), n));
}

// --- Several dimensions: (self, s, dim, norm)

struct Plane {
  Dims dims, lengths;
};

// `dim` may be missing: as many of the last dimensions as `s` has entries, or all.
Dims dims_of(const Args& args, const Tensor& x) {
  if (!args.has(2)) {
    const int64_t count = args.has(1) ? static_cast<int64_t>(args.integers(1).size()) : x.ndim();
    Dims dims;
    for (int64_t dim = x.ndim() - count; dim < x.ndim(); ++dim) dims.push_back(dim);
    return dims;
  }
  Dims dims;
  for (int64_t dim : args.integers(2)) {
    WISP_CHECK_INDEX(x.ndim() > 0, args.name(), "(): Dimension specified as ", dim,
                     " but tensor has no dimensions");
    dims.push_back(wrap_dim(dim, x.ndim(), args.name()));
    for (size_t i = 0; i + 1 < dims.size(); ++i)
      WISP_CHECK(dims[i] != dims.back(), args.name(), "(): FFT dims must be unique");
  }
  return dims;
}

Plane plane_of(const Args& args, const Tensor& x) {
  if (args.has(1)) {
    const size_t count = args.integers(1).size();
    WISP_CHECK(!args.has(2) || args.integers(2).size() == count, args.name(),
               "(): When given, dim and shape arguments must have the same length");
    WISP_CHECK(count <= x.sizes().size(), args.name(), "(): Got shape with ", count,
               " values but input tensor only has ", x.ndim(), " dimensions.");
  }
  Plane plane{dims_of(args, x), {}};
  for (size_t i = 0; i < plane.dims.size(); ++i) {
    const int64_t wanted = args.has(1) ? args.integers(1)[i] : -1;
    plane.lengths.push_back(wanted == -1 ? x->size(plane.dims[i]) : wanted);
    check_length(args, plane.lengths.back());
  }
  return plane;
}

void check_any(const Args& args, const Plane& plane) {
  WISP_CHECK(!plane.dims.empty(), args.name(), " must transform at least one axis");
}

IntSpan but_last(const Dims& dims) { return IntSpan(dims).first(dims.size() - 1); }
IntSpan last(const Dims& dims) { return IntSpan(dims).last(1); }

template <bool forward>
void complex_n_body(const Args& args, TensorList& outs) {
  const Tensor x = promoted(args, true);
  const Plane plane = plane_of(args, x);
  outs.push(fft_c2c(resized(x, plane.dims, plane.lengths), plane.dims, norm_of(args, 3, forward),
                    forward));
}

void rfftn_body(const Args& args, TensorList& outs) {
  WISP_CHECK(!is_complex(args.tensor(0).dtype()), args.name(),
             " expects a real-valued input tensor, but got ", legacy_name(args.tensor(0).dtype()));
  const Tensor x = promoted(args, false);
  const Plane plane = plane_of(args, x);
  check_any(args, plane);
  outs.push(
      fft_r2c(resized(x, plane.dims, plane.lengths), plane.dims, norm_of(args, 3, true), true));
}

void ihfftn_body(const Args& args, TensorList& outs) {
  WISP_CHECK(!is_complex(args.tensor(0).dtype()), args.name(),
             " expects a real-valued input tensor, but got ", legacy_name(args.tensor(0).dtype()));
  const Tensor x = promoted(args, false);
  const Plane plane = plane_of(args, x);
  check_any(args, plane);
  const FftNorm norm = norm_of(args, 3, false);
  const Tensor half =
      conj(fft_r2c(resized(x, plane.dims, plane.lengths), last(plane.dims), norm, true));
  outs.push(plane.dims.size() == 1 ? half : fft_c2c(half, but_last(plane.dims), norm, false));
}

// The input of a transform to real numbers: half a spectrum, for a result of that many numbers
// along the last dimension.
Tensor half_spectrum(const Args& args, Plane& plane, int64_t& last_length) {
  const Tensor x = promoted(args, true);
  plane = plane_of(args, x);
  check_any(args, plane);
  const bool given = args.has(1) && args.integers(1).back() != -1;
  last_length = given ? args.integers(1).back() : 2 * (x->size(plane.dims.back()) - 1);
  check_length(args, last_length);
  plane.lengths.back() = last_length / 2 + 1;
  return resized(x, plane.dims, plane.lengths);
}

void irfftn_body(const Args& args, TensorList& outs) {
  Plane plane;
  int64_t n;
  const Tensor x = half_spectrum(args, plane, n);
  outs.push(fft_c2r(x, plane.dims, norm_of(args, 3, false), n));
}

void hfftn_body(const Args& args, TensorList& outs) {
  Plane plane;
  int64_t n;
  Tensor x = half_spectrum(args, plane, n);
  const FftNorm norm = norm_of(args, 3, true);
  if (plane.dims.size() > 1) x = fft_c2c(x, but_last(plane.dims), norm, true);
  outs.push(fft_c2r(conj(x), last(plane.dims), norm, n));
}

// --- Frequencies and shifts

// (n, d, dtype, device): the first `count` of the numbers 0, 1 ... n-1, those from n/2 on minus n,
// divided by n d.
Tensor frequencies(const Args& args, bool onesided) {
  const int64_t n = args.integer(0);
  const DType dtype = args.dtype_or_none(2).value_or(default_dtype());
  WISP_CHECK(is_differentiable(dtype), args.name(),
             "(): requires a floating point or complex dtype");
  WISP_CHECK(n >= 0, args.name(), "(): Trying to create tensor with negative dimension ", n);
  Tensor places = invoke<"arange">(onesided ? n / 2 + 1 : n, dtype);
  if (!onesided && n > 1) {
    const Tensor back = narrow(places, 0, (n + 1) / 2, n / 2);
    copy_(back, invoke<"arange.start">(-(n / 2), 0, 1, dtype));
  }
  return mul(places, 1.0 / (static_cast<double>(n) * args.real(1)));
}

template <bool onesided>
void frequencies_body(const Args& args, TensorList& outs) {
  outs.push(frequencies(args, onesided));
}

template <bool inverse>
void shift_body(const Args& args, TensorList& outs) {
  const Tensor& x = args.tensor(0);
  Dims dims, shifts;
  if (args.has(1)) {
    for (int64_t dim : args.integers(1)) dims.push_back(wrap_dim(dim, x.ndim(), args.name()));
  } else {
    for (int64_t dim = 0; dim < x.ndim(); ++dim) dims.push_back(dim);
  }
  for (int64_t dim : dims) {
    const int64_t size = x.ndim() ? x->size(dim) : 1;
    shifts.push_back(inverse ? (size + 1) / 2 : size / 2);
  }
  outs.push(invoke<"roll">(x, shifts, dims));
}

// --- Entries

OpDef entry(const char* schema, const char* doc, BodyFn body) {
  return {.schema = schema,
          .doc = doc,
          .body = body,
          .onnx = "DFT",
          .traits = trait::out,
          .homes = home::fft};
}

void register_lines(Registry& r) {
  r.add(entry(
      "fft_fft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor",
      "The discrete Fourier transform along a dimension.\n\n`n` cuts off the dimension or fills it up with zeros. `norm` says what is divided by n: \"backward\" (default) the inverse transform, \"forward\" the transform, \"ortho\" both by its root.\n\n>>> wisp.fft.fft(wisp.tensor([0., 1., 2., 3.]))\ntensor([ 6.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])",
      complex_body<true>));
  r.add(entry(
      "fft_ifft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor",
      "The inverse of `fft.fft`.\n\n>>> wisp.fft.ifft(wisp.tensor([6.+0.j, -2.+2.j, -2.+0.j, -2.-2.j]))\ntensor([0.+0.j, 1.+0.j, 2.+0.j, 3.+0.j])",
      complex_body<false>));
  r.add(entry(
      "fft_rfft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor",
      "The first n / 2 + 1 numbers of the transform of real numbers; the others are their conjugates.\n\n>>> wisp.fft.rfft(wisp.tensor([0., 1., 2., 3.]))\ntensor([ 6.+0.j, -2.+2.j, -2.+0.j])",
      from_real_body<true>));
  r.add(entry(
      "fft_irfft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor",
      "The inverse of `fft.rfft`: `n` real numbers, by default an even number of them.\n\n>>> wisp.fft.irfft(wisp.tensor([6.+0.j, -2.+2.j, -2.+0.j]))\ntensor([0., 1., 2., 3.])",
      to_real_body<false>));
  r.add(entry(
      "fft_hfft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor",
      "The transform of a signal of which half is given, the other half being its conjugate: real numbers.\n\n>>> wisp.fft.hfft(wisp.tensor([1.5+0.j, -0.5-0.5j, -0.5+0.j]))\ntensor([0., 1., 2., 3.])",
      to_real_body<true>));
  r.add(entry(
      "fft_ihfft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor",
      "The inverse of `fft.hfft`.\n\n>>> wisp.fft.ihfft(wisp.tensor([0., 1., 2., 3.]))\ntensor([ 1.5000-0.0000j, -0.5000-0.5000j, -0.5000-0.0000j])",
      from_real_body<false>));
}

void register_planes(Registry& r) {
  r.add(entry(
      "fft_fft2(Tensor self, int[1]? s=None, int[1] dim=[-2,-1], str? norm=None) -> Tensor",
      "The Fourier transform along two dimensions.\n\n>>> wisp.fft.fft2(wisp.tensor([[1., 2.], [3., 4.]]))\ntensor([[10.+0.j, -2.+0.j],\n        [-4.+0.j,  0.+0.j]])",
      complex_n_body<true>));
  r.add(entry(
      "fft_ifft2(Tensor self, int[1]? s=None, int[1] dim=[-2,-1], str? norm=None) -> Tensor",
      "The inverse of `fft.fft2`.\n\n>>> wisp.fft.ifft2(wisp.tensor([[10., -2.], [-4., 0.]]))\ntensor([[1.+0.j, 2.+0.j],\n        [3.+0.j, 4.+0.j]])",
      complex_n_body<false>));
  r.add(entry(
      "fft_rfft2(Tensor self, int[1]? s=None, int[1] dim=[-2,-1], str? norm=None) -> Tensor",
      "The Fourier transform of real numbers along two dimensions, of the last one the first half.\n\n>>> wisp.fft.rfft2(wisp.tensor([[1., 2.], [3., 4.]]))\ntensor([[10.+0.j, -2.+0.j],\n        [-4.+0.j,  0.+0.j]])",
      rfftn_body));
  r.add(entry(
      "fft_irfft2(Tensor self, int[1]? s=None, int[1] dim=[-2,-1], str? norm=None) -> Tensor",
      "The inverse of `fft.rfft2`.\n\n>>> wisp.fft.irfft2(wisp.tensor([[10., -2.], [-4., 0.]]))\ntensor([[1., 2.],\n        [3., 4.]])",
      irfftn_body));
  r.add(entry(
      "fft_hfft2(Tensor self, int[1]? s=None, int[1] dim=[-2,-1], str? norm=None) -> Tensor",
      "`fft.hfft` along two dimensions.\n\n>>> wisp.fft.hfft2(wisp.tensor([[2.5, -0.5], [-1., 0.]]))\ntensor([[1., 2.],\n        [3., 4.]])",
      hfftn_body));
  r.add(entry(
      "fft_ihfft2(Tensor self, int[1]? s=None, int[1] dim=[-2,-1], str? norm=None) -> Tensor",
      "The inverse of `fft.hfft2`.\n\n>>> wisp.fft.ihfft2(wisp.tensor([[1., 2.], [3., 4.]])).real\ntensor([[ 2.5000, -0.5000],\n        [-1.0000,  0.0000]])",
      ihfftn_body));
}

void register_volumes(Registry& r) {
  r.add(entry(
      "fft_fftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
      "The Fourier transform along several dimensions, by default all.\n\n>>> wisp.fft.fftn(wisp.tensor([[1., 2.], [3., 4.]]))\ntensor([[10.+0.j, -2.+0.j],\n        [-4.+0.j,  0.+0.j]])",
      complex_n_body<true>));
  r.add(entry(
      "fft_ifftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
      "The inverse of `fft.fftn`.\n\n>>> wisp.fft.ifftn(wisp.tensor([[10., -2.], [-4., 0.]]))\ntensor([[1.+0.j, 2.+0.j],\n        [3.+0.j, 4.+0.j]])",
      complex_n_body<false>));
  r.add(entry(
      "fft_rfftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
      "The Fourier transform of real numbers along several dimensions, of the last one the first half.\n\n>>> wisp.fft.rfftn(wisp.tensor([[1., 2.], [3., 4.]]))\ntensor([[10.+0.j, -2.+0.j],\n        [-4.+0.j,  0.+0.j]])",
      rfftn_body));
  r.add(entry(
      "fft_irfftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
      "The inverse of `fft.rfftn`.\n\n>>> wisp.fft.irfftn(wisp.tensor([[10., -2.], [-4., 0.]]))\ntensor([[1., 2.],\n        [3., 4.]])",
      irfftn_body));
  r.add(entry(
      "fft_hfftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
      "`fft.hfft` along several dimensions.\n\n>>> wisp.fft.hfftn(wisp.tensor([[2.5, -0.5], [-1., 0.]]))\ntensor([[1., 2.],\n        [3., 4.]])",
      hfftn_body));
  r.add(entry(
      "fft_ihfftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
      "The inverse of `fft.hfftn`.\n\n>>> wisp.fft.ihfftn(wisp.tensor([[1., 2.], [3., 4.]])).real\ntensor([[ 2.5000, -0.5000],\n        [-1.0000,  0.0000]])",
      ihfftn_body));
}

void register_helpers(Registry& r) {
  OpDef all = entry(
      "fft_fftfreq(int n, float d=1.0, *, Dtype? dtype=None, Device? device=None) -> Tensor",
      "The frequencies of a transform of `n` numbers taken every `d`.\n\n>>> wisp.fft.fftfreq(4)\ntensor([ 0.0000,  0.2500, -0.5000, -0.2500])",
      frequencies_body<false>);
  OpDef half = entry(
      "fft_rfftfreq(int n, float d=1.0, *, Dtype? dtype=None, Device? device=None) -> Tensor",
      "The frequencies of `fft.rfft` of `n` numbers taken every `d`.\n\n>>> wisp.fft.rfftfreq(4)\ntensor([0.0000, 0.2500, 0.5000])",
      frequencies_body<true>);
  OpDef shift = entry(
      "fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor",
      "Moves frequency 0 to the middle.\n\n>>> wisp.fft.fftshift(wisp.tensor([0, 1, 2, -2, -1]))\ntensor([-2, -1,  0,  1,  2])",
      shift_body<false>);
  OpDef unshift = entry(
      "fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor",
      "The inverse of `fft.fftshift`.\n\n>>> wisp.fft.ifftshift(wisp.tensor([-2, -1, 0, 1, 2]))\ntensor([ 0,  1,  2, -2, -1])",
      shift_body<true>);
  for (OpDef* def : {&all, &half}) {
    def->traits |= trait::factory;
    def->onnx = "Range";
  }
  for (OpDef* def : {&shift, &unshift}) {
    def->traits = 0;
    def->onnx = "Concat";
  }
  for (OpDef* def : {&all, &half, &shift, &unshift}) r.add(*def);
}

}  // namespace

void register_fft(Registry& r) {
  register_lines(r);
  register_planes(r);
  register_volumes(r);
  register_helpers(r);
}

}  // namespace wisp::ops
