"""A tree-recursive network: computes the truth of logical formulas by following the structure of each one.

Every formula is a tree of its own, and the network that is run is that tree: leaves are vectors, and each "and", "or" and
"not" combines the vectors below it.
"""

import argparse
import random

import wisp
from wisp import nn


def random_formula(depth, names):
    """A name, or ("not", formula), or ("and" or "or", formula, formula)."""
    if depth == 0 or random.random() < 0.15:
        return random.choice(names)
    kind = random.choice(("not", "and", "or"))
    count = 1 if kind == "not" else 2
    return (kind, *(random_formula(depth - 1, names) for _ in range(count)))


def truth(formula):
    if isinstance(formula, str):
        return formula == "true"
    kind, *parts = formula
    values = [truth(part) for part in parts]
    return {"not": lambda: not values[0], "and": lambda: all(values), "or": lambda: any(values)}[kind]()


class TreeNetwork(nn.Module):
    def __init__(self, width, names):
        super().__init__()
        self.leaves = nn.ParameterDict({name: nn.Parameter(wisp.randn(width)) for name in names})
        self.combine = nn.ModuleDict({
            "not": nn.Sequential(nn.Linear(width, width), nn.Tanh()),
            "and": nn.Sequential(nn.Linear(2 * width, width), nn.Tanh()),
            "or": nn.Sequential(nn.Linear(2 * width, width), nn.Tanh()),
        })  # fmt: skip
        self.head = nn.Linear(width, 1)

    def vector(self, formula):
        if isinstance(formula, str):
            return self.leaves[formula]
        kind, *parts = formula
        return self.combine[kind](wisp.cat([self.vector(part) for part in parts]))

    def forward(self, formulas):
        return self.head(wisp.stack([self.vector(formula) for formula in formulas])).squeeze(1)


def main(args=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(args)

    wisp.manual_seed(options.seed)
    random.seed(options.seed)
    names = ("true", "false")
    model = TreeNetwork(options.width, names)
    optimizer = wisp.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(options.steps):
        formulas = [random_formula(options.depth, names) for _ in range(options.batch)]
        wanted = wisp.tensor([float(truth(formula)) for formula in formulas])
        loss = nn.functional.binary_cross_entropy_with_logits(model(formulas), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0 or step == options.steps - 1:
            print(f"step {step:4d}   loss {loss.item():.4f}")

    deeper = [random_formula(options.depth + 2, names) for _ in range(200)]
    with wisp.no_grad():
        found = (model(deeper) > 0).tolist()
    right = sum(a == truth(formula) for a, formula in zip(found, deeper)) / len(deeper)
    print(f"{right:.1%} right on formulas deeper than those it learned from")
    return right


if __name__ == "__main__":
    main()
