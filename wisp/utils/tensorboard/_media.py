"""Pictures and sounds for event files: grids of images, PNG, GIF, WAV."""

import math
import zlib
from struct import pack

import wisp
from wisp import Tensor


def as_tensor(value):
    """Numbers, lists, arrays and tensors as a tensor without history."""
    if isinstance(value, Tensor):
        return value.detach()
    if hasattr(value, "detach"):  # a tensor of another library
        value = value.detach().numpy()
    return wisp.as_tensor(value)


def raw_bytes(tensor):
    """The memory of a tensor, element after element."""
    return memoryview(tensor.contiguous().reshape(-1).view(wisp.uint8)).tobytes() if tensor.numel() else b""


def to_hwc(tensor, dataformats):
    """An image, or a grid of images, as height by width by channels; grey ones get three channels."""
    letters = dataformats.upper()
    if len(set(letters)) != len(letters):
        raise AssertionError(f"You can not use the same dimension shordhand twice. input_format: {dataformats}")
    if tensor.dim() != len(letters):
        raise AssertionError(
            f"size of input tensor and input format are different. tensor shape: {tuple(tensor.shape)}, "
            f"input_format: {dataformats}"
        )
    wanted = {4: "NCHW", 3: "HWC", 2: "HW"}.get(len(letters), "")
    if sorted(letters) != sorted(wanted):
        raise ValueError(f"expected an image in an order of NCHW, CHW or HW, got {dataformats!r}")
    tensor = tensor.permute([letters.index(letter) for letter in wanted])
    if len(letters) == 4:
        return make_grid(tensor)
    tensor = tensor if len(letters) == 3 else tensor.unsqueeze(-1)
    return tensor.expand(-1, -1, 3) if tensor.shape[-1] == 1 else tensor


def make_grid(images, columns=8):
    """Images (N, C, H, W) side by side, `columns` in a row, as height by width by channels."""
    if images.dim() != 4 or images.shape[1] not in (1, 3):
        raise AssertionError(f"expected images of 1 or 3 channels, got the shape {tuple(images.shape)}")
    n, _, height, width = images.shape
    images = images.expand(-1, 3, -1, -1)
    columns = min(n, columns)
    rows = math.ceil(n / columns)
    canvas = wisp.zeros(rows * columns, 3, height, width, dtype=images.dtype)
    canvas[:n] = images
    grid = canvas.reshape(rows, columns, 3, height, width).permute(0, 3, 1, 4, 2)
    return grid.reshape(rows * height, columns * width, 3)


def to_pixels(image):
    """Colours as bytes: those of floating point go from 0 to 1."""
    if image.dtype is wisp.uint8:
        return image
    return (image.to(wisp.float32) * 255).nan_to_num(0.0).clamp(0, 255).to(wisp.uint8)


def png(pixels):
    """A PNG file of pixels: height by width by 1 to 4 channels."""
    height, width, channels = pixels.shape
    kind = {1: 0, 2: 4, 3: 2, 4: 6}.get(channels)
    if kind is None:
        raise TypeError(f"expected an image of 1 to 4 channels, got {channels}")
    rows = pixels.reshape(height, width * channels)
    filtered = wisp.cat([wisp.zeros(height, 1, dtype=wisp.uint8), rows], 1)  # every row begins with its filter: none
    header = pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    parts = (b"IHDR", header), (b"IDAT", zlib.compress(raw_bytes(filtered))), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        pack(">I", len(data)) + name + data + pack(">I", zlib.crc32(name + data)) for name, data in parts
    )


def rescaled(pixels, factor):
    """Pixels of another size."""
    if factor == 1:
        return pixels
    size = [max(1, int(n * factor)) for n in pixels.shape[:2]]
    image = pixels.permute(2, 0, 1).unsqueeze(0).to(wisp.float32)
    image = wisp.nn.functional.interpolate(image, size, mode="bilinear", antialias=True)
    return image[0].permute(1, 2, 0).round().clamp(0, 255).to(wisp.uint8)


def draw_boxes(pixels, boxes, labels):
    """Red frames around (left, top, right, bottom), and labels on them."""
    pixels = pixels.clone()
    red = wisp.tensor([255, 0, 0] + [255] * (pixels.shape[-1] - 3), dtype=wisp.uint8)
    limit = wisp.tensor([pixels.shape[1] - 1, pixels.shape[0] - 1] * 2)
    places = boxes.to(wisp.int64).clamp(min=0).minimum(limit).tolist()
    for left, top, right, bottom in places:
        pixels[top : bottom + 1, [left, right]] = red
        pixels[[top, bottom], left : right + 1] = red
    return draw_labels(pixels, places, labels) if labels else pixels


def draw_labels(pixels, places, labels):
    draw, image_of = _pillow("add_image_with_boxes() with labels")
    image = image_of.fromarray(pixels.numpy())
    pen = draw.Draw(image)
    for (left, top, _, _), label in zip(places, labels):
        corners = pen.textbbox((left, top), str(label))
        pen.rectangle(corners, fill="red")
        pen.text((left, top), str(label), fill="black")
    return wisp.tensor(bytearray(image.tobytes()), dtype=wisp.uint8).reshape(pixels.shape)


def gif(frames, fps):
    """An animated GIF of frames: time by height by width by channels."""
    _, image_of = _pillow("add_video()")
    from io import BytesIO

    first, *rest = (image_of.fromarray(frame.numpy()) for frame in frames.contiguous())
    out = BytesIO()
    first.save(out, format="GIF", save_all=True, append_images=rest, duration=1000 / fps, loop=0)
    return out.getvalue()


def _pillow(what):
    try:
        from PIL import Image, ImageDraw
    except ImportError as error:
        raise ImportError(f"{what} draws with Pillow: pip install pillow") from error
    return ImageDraw, Image


def tile_video(video):
    """Videos (N, T, C, H, W) side by side, as time by height by width by channels."""
    n, time, channels, height, width = video.shape
    rows = 2 ** (max(n - 1, 0).bit_length() // 2)
    columns = math.ceil(n / rows)
    canvas = wisp.zeros(rows * columns, time, channels, height, width, dtype=video.dtype)
    canvas[:n] = video
    tiled = canvas.reshape(rows, columns, time, channels, height, width).permute(2, 0, 4, 1, 5, 3)
    tiled = tiled.reshape(time, rows * height, columns * width, channels)
    return tiled.expand(-1, -1, -1, 3) if channels == 1 else tiled


def wav(samples, sample_rate):
    """A WAV file of one channel, 16 bits a sample."""
    data = raw_bytes((samples * 32767.0).to(wisp.int16))
    layout = pack("<HHIIHH", 1, 1, sample_rate, 2 * sample_rate, 2, 16)
    body = b"WAVEfmt " + pack("<I", len(layout)) + layout + b"data" + pack("<I", len(data)) + data
    return b"RIFF" + pack("<I", len(body)) + body
