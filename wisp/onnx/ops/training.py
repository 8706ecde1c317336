"""Steps of optimisers, of the domain ai.onnx.preview.training."""

import wisp


def _optimizer(update, state_count):
    """The operator that updates several tensors: inputs are rate, step, all tensors, gradients, then states of each kind."""

    def run(node, rate, step, *rest):
        count = len(rest) // (2 + state_count)
        columns = [rest[i * count : (i + 1) * count] for i in range(2 + state_count)]
        results = [update(node, rate, int(step.item()), *row) for row in zip(*columns)]
        return tuple(value for column in zip(*results) for value in column)

    return run


def _adagrad(node, rate, step, x, gradient, squares):
    gradient = node["norm_coefficient"] * x + gradient
    squares = squares + gradient * gradient
    rate = rate / (1 + step * node["decay_factor"])
    return x - rate * gradient / (wisp.sqrt(squares) + node["epsilon"]), squares


def _adam(node, rate, step, x, gradient, mean, squares):
    alpha, beta = node["alpha"], node["beta"]
    gradient = node["norm_coefficient"] * x + gradient
    mean = alpha * mean + (1 - alpha) * gradient
    squares = beta * squares + (1 - beta) * gradient * gradient
    if step > 0:
        rate = rate * ((1 - beta**step) ** 0.5 / (1 - alpha**step))
    x = x - rate * mean / (wisp.sqrt(squares) + node["epsilon"])
    return (1 - node["norm_coefficient_post"]) * x, mean, squares


def _momentum(node, rate, step, x, gradient, velocity):
    gradient = node["norm_coefficient"] * x + gradient
    velocity = node["alpha"] * velocity + (node["beta"] if step > 0 else 1) * gradient
    direction = gradient + node["alpha"] * velocity if node["mode"] == "nesterov" else velocity
    return x - rate * direction, velocity


OPERATORS = {
    "Adagrad": [(1, _optimizer(_adagrad, 1))],
    "Adam": [(1, _optimizer(_adam, 2))],
    "Momentum": [(1, _optimizer(_momentum, 1))],
}
