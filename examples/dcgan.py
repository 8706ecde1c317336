"""A generative adversarial network of handwritten digits: one network draws, another tells drawn from real ones."""

import argparse

from sklearn.datasets import load_digits

import wisp
from wisp import nn
from wisp.nn import functional as F
from wisp.utils.data import DataLoader


def generator(noise, width):
    """From noise [batch, noise, 1, 1] to pictures [batch, 1, 8, 8]."""
    return nn.Sequential(
        nn.ConvTranspose2d(noise, 2 * width, 2, bias=False), nn.BatchNorm2d(2 * width), nn.ReLU(),
        nn.ConvTranspose2d(2 * width, width, 4, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
        nn.ConvTranspose2d(width, 1, 4, 2, 1), nn.Tanh(),
    )  # fmt: skip


def discriminator(width):
    """From pictures to a score: positive for those that look real."""
    return nn.Sequential(
        nn.Conv2d(1, width, 4, 2, 1), nn.LeakyReLU(0.2),
        nn.Conv2d(width, 2 * width, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * width), nn.LeakyReLU(0.2),
        nn.Conv2d(2 * width, 1, 2), nn.Flatten(0),
    )  # fmt: skip


def initialise(module):
    if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(module.weight, 0.0, 0.02)


def loss_of(scores, real):
    return F.binary_cross_entropy_with_logits(scores, wisp.full_like(scores, float(real)))


def show(pictures):
    """Prints pictures beside each other."""
    shades = " .:=+*#@"
    for row in range(8):
        lines = (((picture[0, row] + 1) / 2).tolist() for picture in pictures)
        print("  ".join("".join(shades[min(int(value * 8), 7)] * 2 for value in line) for line in lines))


def main(args=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--noise", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(args)

    wisp.manual_seed(options.seed)
    data = wisp.tensor(load_digits().images, dtype=wisp.float32).unsqueeze(1) / 8 - 1
    loader = DataLoader(data, batch_size=options.batch, shuffle=True, drop_last=True)
    draw = generator(options.noise, options.width).apply(initialise)
    judge = discriminator(options.width).apply(initialise)
    adams = [wisp.optim.Adam(net.parameters(), lr=1e-3, betas=(0.5, 0.999)) for net in (draw, judge)]
    for epoch in range(1, options.epochs + 1):
        for real in loader:
            fake = draw(wisp.randn(len(real), options.noise, 1, 1))
            judge_loss = loss_of(judge(real), True) + loss_of(judge(fake.detach()), False)
            adams[1].zero_grad()
            judge_loss.backward()
            adams[1].step()

            draw_loss = loss_of(judge(fake), True)
            adams[0].zero_grad()
            draw_loss.backward()
            adams[0].step()
        print(f"epoch {epoch:3d}   judge {judge_loss.item():.3f}   draw {draw_loss.item():.3f}")
    draw.eval()
    with wisp.no_grad():
        show(draw(wisp.randn(4, options.noise, 1, 1)))
    return judge_loss.item(), draw_loss.item()


if __name__ == "__main__":
    main()
