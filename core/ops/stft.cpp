// Short-time Fourier transforms: of windows that move along a signal, and back.
#include <algorithm>

#include "ops/families.h"
#include "ops/fft.h"
#include "ops/ops.h"

namespace wisp::ops {

namespace {

// What both directions share.
struct Frames {
  int64_t n_fft, hop, window_length;
};

// (self, n_fft, hop_length, win_length, window, ...)
Frames frames_of(const Args& args) {
  const int64_t n_fft = args.integer(1);
  return {n_fft, args.has(2) ? args.integer(2) : n_fft / 4, args.has(3) ? args.integer(3) : n_fft};
}

// As long as a frame, with zeros around it. Undefined if every number counts in full.
Tensor whole_window(const Args& args, const Frames& frames, DType dtype) {
  const int64_t missing = frames.n_fft - frames.window_length, left = missing / 2;
  const Tensor given = args.has(4) ? args.tensor(4) : Tensor();
  if (missing == 0) return given;
  const Tensor window = given.defined() ? given : ones(Dims{frames.window_length}, dtype);
  return constant_pad_nd(window, Dims{left, missing - left}, 0);
}

void check_not_complex(const Args& args, bool complex, bool onesided) {
  WISP_CHECK(!complex || !onesided, args.name(),
             "(): Cannot have onesided output if window or input is complex");
}

// --- stft(self, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided,
//          return_complex, align_to_window)

// The signal with half a frame on both sides.
Tensor centered(const Args& args, const Tensor& signal) {
  Dims shape(static_cast<size_t>(std::max<int64_t>(3 - signal.ndim(), 0)), 1);
  for (int64_t size : signal.sizes()) shape.push_back(size);
  const int64_t half = args.integer(1) / 2;
  const Tensor padded = invoke<"pad">(view(signal, shape), Dims{half, half}, args[6]);
  return view(padded, padded.sizes().last(signal.sizes().size()));
}

bool returns_complex(const Args& args, const Tensor& signal) {
  if (args.has(9)) return args.boolean(9);
  const bool complex =
      is_complex(signal.dtype()) || (args.has(4) && is_complex(args.tensor(4).dtype()));
  WISP_CHECK(complex, args.name(),
             "(): stft requires the return_complex parameter be given for real inputs, and will "
             "further require that return_complex=True in a future release.");
  return true;
}

void check_stft(const Args& args, const Tensor& signal, const Frames& frames) {
  const int64_t length = signal->size(signal.ndim() - 1);
  WISP_CHECK(frames.n_fft > 0 && frames.n_fft <= length, args.name(), "(): expected 0 < n_fft < ",
             length, ", but got n_fft=", frames.n_fft);
  WISP_CHECK(frames.hop > 0, args.name(),
             "(): expected hop_length > 0, but got hop_length=", frames.hop);
  WISP_CHECK(frames.window_length > 0 && frames.window_length <= frames.n_fft, args.name(),
             "(): expected 0 < win_length <= n_fft, but got win_length=", frames.window_length);
  if (!args.has(4)) return;
  const Tensor& window = args.tensor(4);
  WISP_CHECK(window.ndim() == 1 && window->size(0) == frames.window_length, args.name(),
             "(): expected a 1D window tensor of size equal to win_length=", frames.window_length,
             ", but got window with size ", window.sizes());
}

// Frames are n_fft numbers with the window in their middle. If windows, not frames, start with the
// signal, the frames reach over its ends.
Tensor cut_frames(const Args& args, Tensor signal, const Frames& frames) {
  if (!args.boolean(5) && args.has(10) && args.boolean(10)) {
    const int64_t missing = frames.n_fft - frames.window_length, left = missing / 2;
    signal = constant_pad_nd(signal, Dims{left, missing - left}, 0);
  }
  return invoke<"unfold">(signal, -1, frames.n_fft, frames.hop);
}

void stft_body(const Args& args, TensorList& outs) {
  Tensor signal = args.tensor(0);
  WISP_CHECK(!args.boolean(5) || !args.has(10), args.name(),
             "(): stft align_to_window should only be set when center = false");
  WISP_CHECK(is_differentiable(signal.dtype()), args.name(),
             "(): expected a tensor of floating point or complex values");
  WISP_CHECK(signal.ndim() == 1 || signal.ndim() == 2, args.name(),
             "(): expected a 1D or 2D tensor, got ", signal.ndim(), "D");
  const bool complex_result = returns_complex(args, signal);
  if (args.boolean(5)) signal = centered(args, signal);
  const Frames frames = frames_of(args);
  check_stft(args, signal, frames);
  Tensor cut = cut_frames(args, signal, frames);
  const Tensor window = whole_window(args, frames, to_real(signal.dtype()));
  if (window.defined()) cut = mul(cut, window);
  const bool complex = is_complex(cut.dtype());
  const bool onesided = args.has(8) ? args.boolean(8) : !complex;
  check_not_complex(args, complex, onesided);
  const FftNorm norm = args.boolean(7) ? FftNorm::root_n : FftNorm::none;
  const Dims last{-1};
  const Tensor spectrum =
      complex ? fft_c2c(cut, last, norm, true) : fft_r2c(cut, last, norm, onesided);
  const Tensor result = transpose(spectrum, -2, -1);
  outs.push(complex_result ? result : view_as_real(result));
}

// --- istft(self, n_fft, hop_length, win_length, window, center, normalized, onesided, length,
//           return_complex)

bool is_onesided(const Args& args) {
  return args.has(7) ? args.boolean(7) : args.tensor(0).size(-2) != args.integer(1);
}

void check_spectrum(const Args& args) {
  const Tensor& self = args.tensor(0);
  WISP_CHECK(is_complex(self.dtype()), args.name(),
             "(): istft requires a complex-valued input tensor matching the output from stft with "
             "return_complex=True.");
  WISP_CHECK_INDEX(self.ndim() >= 2, args.name(),
                   "(): Dimension out of range (expected to be in "
                   "range of [-2, 1], but got -3)");
  WISP_CHECK(self.numel() > 0, args.name(), "(): input tensor cannot be empty.");
  WISP_CHECK(self.ndim() == 2 || self.ndim() == 3, args.name(),
             "(): expected a tensor with 3 or 4 dimensions, but got ", self.ndim() + 1);
  const int64_t n_fft = args.integer(1), size = self.size(-2);
  if (is_onesided(args)) {
    WISP_CHECK(size == n_fft / 2 + 1, args.name(),
               "(): expected the frequency dimension (3rd to the last) of the input tensor to "
               "match n_fft / 2 + 1 when onesided=True, but got ",
               size);
  } else {
    WISP_CHECK(size == n_fft, args.name(),
               "(): expected the frequency dimension (3rd to the last) of the input tensor to "
               "match n_fft when onesided=False, but got ",
               size);
  }
}

void check_istft(const Args& args, const Frames& frames) {
  check_spectrum(args);
  WISP_CHECK(0 < frames.hop && frames.hop <= frames.window_length, args.name(),
             "(): expected 0 < hop_length <= win_length");
  WISP_CHECK(0 < frames.window_length && frames.window_length <= frames.n_fft, args.name(),
             "(): expected 0 < win_length <= n_fft");
  if (!args.has(4)) return;
  const Tensor& window = args.tensor(4);
  WISP_CHECK(window.ndim() == 1 && window->size(0) == frames.window_length, args.name(),
             "(): Invalid window shape. window has to be 1D and length of `win_length`");
}

// The frames (batch, frame, number) in the time domain.
Tensor time_frames(const Args& args, const Frames& frames) {
  const Tensor spectrum = transpose(args.tensor(0), -2, -1);
  const FftNorm norm = args.boolean(6) ? FftNorm::root_n : FftNorm::n;
  const Dims last{-1};
  if (args.boolean(9)) {
    check_not_complex(args, true, is_onesided(args));
    return fft_c2c(spectrum, last, norm, false);
  }
  WISP_CHECK(!args.has(4) || !is_complex(args.tensor(4).dtype()), args.name(),
             "(): Complex windows are incompatible with return_complex=False");
  return fft_c2r(slice(spectrum, -1, 0, frames.n_fft / 2 + 1), last, norm, frames.n_fft);
}

// Frames added up where they overlap: (..., frame, number) becomes (..., signal).
Tensor overlapped(const Tensor& frames, int64_t hop) {
  const int64_t count = frames.size(-2), length = frames.size(-1) + hop * (count - 1);
  Dims size(frames.sizes().first(frames.sizes().size() - 2));
  size.push_back(length);
  Dims stride = contiguous_strides(size);
  stride.back() = hop;
  stride.push_back(1);
  return embed(frames, size, stride, 0);
}

void istft_body(const Args& args, TensorList& outs) {
  const Frames frames = frames_of(args);
  check_istft(args, frames);
  Tensor cut = time_frames(args, frames);
  Tensor window = whole_window(args, frames, to_real(cut.dtype()));
  if (!window.defined()) window = ones(Dims{frames.n_fft}, to_real(cut.dtype()));
  cut = mul(cut, window);
  const int64_t count = cut.size(-2);
  const Tensor squares =
      expand(mul(window, window), Dims{count, frames.n_fft});  // each frame was windowed twice
  const int64_t length = frames.n_fft + frames.hop * (count - 1);
  const int64_t start = args.boolean(5) ? frames.n_fft / 2 : 0;
  const int64_t end = args.has(8) ? start + args.integer(8) : length - start;
  const Tensor signal = slice(overlapped(cut, frames.hop), -1, start, std::min(end, length));
  const Tensor envelope = slice(overlapped(squares, frames.hop), -1, start, std::min(end, length));
  WISP_CHECK(envelope.numel() > 0, args.name(), "(): expected a signal that is not empty");
  const bool covered = all(gt(abs(detach(envelope)), 1e-11)).item().truth();
  WISP_CHECK(covered, args.name(), "(): window overlap add min: 1");
  Tensor result = div(signal, envelope);
  if (end > length) {
    warn(
        "The length of signal is shorter than the length parameter. Result is being padded with "
        "zeros in the tail. Please check your center and hop_length settings.");
    result = constant_pad_nd(result, Dims{0, end - length}, 0);
  }
  outs.push(result);
}

}  // namespace

void register_stft(Registry& r) {
  r.add(
      {.schema =
           "stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, str pad_mode=\"reflect\", bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor",
       .doc =
           "Fourier transforms of a window of `n_fft` numbers that moves along a signal by `hop_length` (n_fft / 4): (frequency, frame).\n\n"
           "With `center`, frame t is centred at t * hop_length: the signal is padded by half a frame on both sides. A `window` shorter than a frame is filled up with zeros on both sides. `normalized` divides by the root of n_fft.\n\n"
           ">>> wisp.stft(wisp.tensor([1., 2., 3., 4.]), 2, 2, center=False, return_complex=True)\ntensor([[ 3.+0.j,  7.+0.j],\n        [-1.+0.j, -1.+0.j]])",
       .body = stft_body,
       .onnx = "STFT"});
  r.add(
      {.schema =
           "istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor",
       .doc =
           "The signal whose stft is given: frames are transformed back, added where they overlap, and divided by the sum of squared windows.\n\n"
           ">>> wisp.istft(wisp.tensor([[3.+0.j, 7.+0.j], [-1.+0.j, -1.+0.j]]), 2, 2, center=False)\ntensor([1., 2., 3., 4.])",
       .body = istft_body,
       .onnx = "+ several nodes"});
}

}  // namespace wisp::ops
