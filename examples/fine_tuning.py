"""Fine-tuning: a network that has learned the digits 0 to 4 learns 5 to 9 from a few examples of each.

Its convolutions are kept as they are, only new last layers are trained; for comparison a new network learns from the same
examples.
"""

import argparse
from collections import OrderedDict

from sklearn.datasets import load_digits

import wisp
from wisp import nn
from wisp.nn import functional as F


def head():
    return nn.Sequential(nn.Linear(32 * 16, 64), nn.ReLU(), nn.Linear(64, 5))


def network():
    features = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(),
    )  # fmt: skip
    return nn.Sequential(OrderedDict(features=features, head=head()))


def fit(model, images, truth, steps, batch=32, lr=2e-3):
    """Trains the parameters that are not frozen."""
    optimizer = wisp.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=lr)
    for _ in range(steps):
        chosen = wisp.randint(len(images), (batch,))
        loss = F.cross_entropy(model(images[chosen]), truth[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@wisp.no_grad()
def accuracy(model, images, truth):
    return (model(images).argmax(1) == truth).float().mean().item()


def prepared(model):
    """The model with its features frozen and a new head."""
    model.features.requires_grad_(False)
    model.head = head()
    return model


def main(args=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--examples", type=int, default=5, help="of each new digit")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(args)

    wisp.manual_seed(options.seed)
    digits = load_digits()
    images = wisp.tensor(digits.images, dtype=wisp.float32).unsqueeze(1) / 16
    truth = wisp.tensor(digits.target)
    old, new = truth < 5, truth >= 5

    model = network()
    fit(model, images[old], truth[old], options.steps)
    print(f"digits 0 to 4: {accuracy(model, images[old], truth[old]):.1%} right")

    new_images, new_truth = images[new], truth[new] - 5
    few = wisp.cat([(new_truth == digit).nonzero()[: options.examples, 0] for digit in range(5)])
    rest = wisp.ones(len(new_truth), dtype=wisp.bool).index_fill(0, few, False)
    results = {}
    for name, start in (("fine-tuned", prepared(model)), ("from nothing", network())):
        fit(start, new_images[few], new_truth[few], options.steps)
        results[name] = accuracy(start, new_images[rest], new_truth[rest])
        print(f"digits 5 to 9 from {options.examples} examples of each, {name}: {results[name]:.1%} right")
    return results["fine-tuned"]


if __name__ == "__main__":
    main()
