"""Fits a two-layer network to random data with tensors and autograd alone, and prints the falling loss."""

import argparse
import time

import wisp


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    wisp.manual_seed(options.seed)
    batch, inputs, hidden, outputs = 64, 1000, 100, 10
    x = wisp.randn(batch, inputs)
    y = wisp.randn(batch, outputs)
    w1 = wisp.randn(inputs, hidden, requires_grad=True)
    w2 = wisp.randn(hidden, outputs, requires_grad=True)

    learning_rate = 1e-6
    start = time.perf_counter()
    for step in range(options.steps):
        prediction = x.mm(w1).clamp(min=0).mm(w2)
        loss = (prediction - y).pow(2).sum()
        loss.backward()
        with wisp.no_grad():
            w1 -= learning_rate * w1.grad
            w2 -= learning_rate * w2.grad
            w1.grad.zero_()
            w2.grad.zero_()
        if step % 50 == 0 or step == options.steps - 1:
            print(f"step {step:4d}   loss {loss.item():16.4f}")
    seconds = time.perf_counter() - start
    print(f"{options.steps} steps in {seconds:.2f} s ({1e3 * seconds / options.steps:.2f} ms each)")


if __name__ == "__main__":
    main()
