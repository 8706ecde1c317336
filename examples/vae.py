"""A variational autoencoder of handwritten digits: draws digits that nobody wrote."""

import argparse

from sklearn.datasets import load_digits

import wisp
from wisp import nn
from wisp.nn import functional as F
from wisp.utils.data import DataLoader


class VAE(nn.Module):
    def __init__(self, hidden=128, latent=8):
        super().__init__()
        self.latent = latent
        self.encoder = nn.Sequential(nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, 64))

    def forward(self, x):
        mean, log_variance = self.encoder(x).chunk(2, dim=1)
        code = mean + wisp.exp(0.5 * log_variance) * wisp.randn_like(mean)
        return self.decoder(code), mean, log_variance


def loss_of(x, scores, mean, log_variance):
    """How badly the digits are drawn, and how far their codes are from a normal distribution; per digit."""
    drawn = F.binary_cross_entropy_with_logits(scores, x, reduction="sum")
    distance = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum()
    return (drawn + distance) / len(x)


def show(pictures):
    """Prints digits beside each other."""
    shades = " .:=+*#@"
    for row in range(8):
        lines = (picture.view(8, 8)[row].tolist() for picture in pictures)
        print("  ".join("".join(shades[min(int(value * 8), 7)] * 2 for value in line) for line in lines))


def main(args=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(args)

    wisp.manual_seed(options.seed)
    data = wisp.tensor(load_digits().data, dtype=wisp.float32) / 16
    loader = DataLoader(data, batch_size=options.batch, shuffle=True)
    model = VAE()
    optimizer = wisp.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(1, options.epochs + 1):
        total = 0.0
        for x in loader:
            loss = loss_of(x, *model(x))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(x)
        if epoch % 5 == 0 or epoch == options.epochs:
            print(f"epoch {epoch:3d}   loss {total / len(data):.3f}")
    with wisp.no_grad():
        show(model.decoder(wisp.randn(4, model.latent)).sigmoid())
    return total / len(data)


if __name__ == "__main__":
    main()
