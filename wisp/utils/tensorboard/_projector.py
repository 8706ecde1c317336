"""Embeddings for TensorBoard's projector: tables of tab-separated values, a picture, and a list of them."""

import math
import os

import wisp
from wisp.utils.tensorboard import _media


def write_embedding(folder, mat, metadata, metadata_header, label_img):
    """Writes the files of an embedding; returns the size of one of the pictures, if there are any."""
    if mat.dim() != 2:
        raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
    os.makedirs(folder, exist_ok=True)
    if metadata is not None:
        _write_labels(os.path.join(folder, "metadata.tsv"), metadata, metadata_header, len(mat))
    size = None
    if label_img is not None:
        size = label_img.shape[2:]
        _write_sprite(os.path.join(folder, "sprite.png"), label_img, len(mat))
    _write(os.path.join(folder, "tensors.tsv"), (map(str, row) for row in mat.tolist()))
    return size


def _write(path, rows):
    with open(path, "w", encoding="utf8") as out:
        out.writelines("\t".join(row) + "\n" for row in rows)


def _write_labels(path, metadata, header, n):
    if len(metadata) != n:
        raise AssertionError("#labels should equal with #data points")
    rows = [[str(x) for x in (row if header else [row])] for row in metadata]
    _write(path, [header, *rows] if header else rows)


def _write_sprite(path, images, n):
    """All pictures in one square, row by row."""
    if len(images) != n:
        raise AssertionError("#images should equal with #data points")
    if images.shape[2] != images.shape[3]:
        raise AssertionError("Image should be square, see tensorflow/tensorboard#670")
    side = math.ceil(math.sqrt(n))
    square = wisp.zeros(side * side, *images.shape[1:], dtype=images.dtype)
    square[:n] = images
    with open(path, "wb") as out:
        out.write(_media.png(_media.to_pixels(_media.make_grid(square, side))))


def entry(name, folder, has_metadata, size):
    """An embedding in the list, which is a protocol buffer in text."""
    lines = [f'tensor_name: "{name}"']
    if has_metadata:
        lines.append(f'metadata_path: "{folder}/metadata.tsv"')
    if size is not None:
        sides = "\n".join(f"    single_image_dim: {n}" for n in size)
        lines.append(f'sprite {{\n    image_path: "{folder}/sprite.png"\n{sides}\n  }}')
    lines.append(f'tensor_path: "{folder}/tensors.tsv"')
    return "embeddings {\n" + "".join(f"  {line}\n" for line in lines) + "}\n"
