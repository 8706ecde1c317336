"""Linear regression: finds the weights and the bias behind noisy measurements, with nn and optim."""

import argparse

import wisp
from wisp import nn


def main(args=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(args)

    wisp.manual_seed(options.seed)
    weights, bias = wisp.tensor([2.0, -3.5, 0.5]), 4.0
    x = wisp.randn(200, 3)
    y = x @ weights + bias + 0.1 * wisp.randn(200)

    model = nn.Linear(3, 1)
    optimizer = wisp.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    for step in range(options.steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x).squeeze(1), y)
        loss.backward()
        optimizer.step()
        if step % 50 == 0 or step == options.steps - 1:
            print(f"step {step:4d}   loss {loss.item():9.5f}")
    print(f"weights {[round(w, 2) for w in model.weight[0].tolist()]}, were {weights.tolist()}")
    print(f"bias {model.bias.item():.2f}, was {bias}")
    return loss.item()


if __name__ == "__main__":
    main()
