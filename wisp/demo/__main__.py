"""Trains a convolutional network on scikit-learn's handwritten digits, saves it, loads it again and shows what it reads;
then exports it as a program that needs no Python and as an ONNX model, and reads both back."""

import argparse
import sys
from pathlib import Path

import wisp
from wisp.demo import _digits
from wisp.demo._chart import draw_curves
from wisp.demo._pictures import side_by_side
from wisp.demo._progress import Progress


def _positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, got {number}")
    return number


def options(args):
    parser = argparse.ArgumentParser(prog="python -m wisp.demo", description=__doc__)
    parser.add_argument(
        "--epochs", type=_positive, default=10, help="how often every training digit is seen (default 10)"
    )
    parser.add_argument("--batch", type=_positive, default=64, help="digits per step (default 64)")
    parser.add_argument("--seed", type=int, default=0, help="of everything random (default 0)")
    parser.add_argument("--out", type=Path, default=Path("wisp-demo"), help="folder for files (default wisp-demo)")
    return parser.parse_args(args)


def show(net, test):
    """Prints a few digits with what the network reads; those it misreads come first."""
    images, truth = test.tensors
    chances, read = net(images).softmax(1).max(1)
    order = (read == truth).long().argsort(stable=True)[:4]
    captions = [f"read {read[i]} ({chances[i]:.0%}), is {truth[i]}" for i in order]
    print(side_by_side([images[i, 0] for i in order], captions))


def export(net, images, folder):
    """The network as files for other programs, each with the model that is read back from it."""
    program, model = folder / "digits.pt", folder / "digits.onnx"
    wisp.jit.save(wisp.jit.freeze(wisp.jit.trace(net, images[:1])), program)
    exported = {program: wisp.jit.load(program)}
    try:
        wisp.onnx.export(net, images[:1], model)
    except ImportError:
        print("no ONNX model: pip install onnx")
    else:
        exported[model] = wisp.onnx.load(model)
    return exported


def main(args=None):
    """Runs the demonstration; returns the share of test digits that the loaded network reads right."""
    wanted = options(args)
    wanted.out.mkdir(parents=True, exist_ok=True)  # before the work that would be lost if it cannot be
    wisp.manual_seed(wanted.seed)
    train, test = _digits.load(wanted.seed)
    print(f"wisp {wisp.__version__} learns from {len(train):,} handwritten digits; {len(test)} others are the test")
    with Progress(len(train) * wanted.epochs) as progress:
        net, history = _digits.train(train, test, wanted.epochs, wanted.batch, progress)

    checkpoint, curves = wanted.out / "digits.safetensors", wanted.out / "curves.png"
    wisp.save(net.state_dict(), checkpoint)
    loaded = _digits.network()
    loaded.load_state_dict(wisp.load(checkpoint))
    loaded.eval()
    accuracy = _digits.accuracy(loaded, test)
    draw_curves(curves, {"loss": history["loss"], "test accuracy": history["accuracy"]})

    with wisp.no_grad():
        show(loaded, test)
    print(f"{accuracy:.1%} of the test digits read right after {progress.seconds:.1f} s of training")
    print(f"network saved in and loaded from {checkpoint}; curves in {curves}")
    with wisp.no_grad():
        for path, model in export(loaded, test.tensors[0], wanted.out).items():
            print(f"exported to {path}, which reads {_digits.accuracy(model, test):.1%} right")
    return accuracy


if __name__ == "__main__":
    sys.exit(0 if main() > 0 else 1)
