"""The workloads: each as a function that makes one step of it in either library, with its sizes and its work.

A step returns its loss (inference: the output), so that a run can show that both libraries computed the same thing.
"""

import os
from collections.abc import Callable
from typing import NamedTuple

import workload_models as models
from workload_models import numbers, words


class Workload(NamedTuple):
    """build(T, **sizes) gives the step, products(**sizes) what it multiplies, tiny the sizes for a quick look.

    rival: what PyTorch alone is told besides; own: switches that wisp alone turns; states: numbers that the optimiser keeps per weight,
    None for inference.
    """

    build: Callable
    products: Callable
    sizes: dict
    tiny: dict
    states: int | None
    rival: dict
    own: dict


# --- steps


def training(T, model, optimiser, loss, clip=None):
    def step():
        optimiser.zero_grad()
        found = loss()
        found.backward()
        if clip:
            T.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimiser.step()
        return found

    return step


def inference(T, model, *inputs):
    model.eval()

    def step():
        with T.inference_mode():
            return model(*inputs)

    return step


def mlp_step(T, batch, **sizes):
    model = models.mlp(T, **sizes)
    x, y = numbers(T, 1, batch, sizes["inputs"]), numbers(T, 2, batch, sizes["outputs"])
    # So slowly that it does not arrive: then it would compute with ever smaller numbers, which take longer.
    optimiser = T.optim.Adam(model.parameters(), lr=1e-7)
    return training(T, model, optimiser, lambda: T.nn.functional.mse_loss(model(x), y))


def digits_step(T, batch, image, dropout):
    model = models.digits_cnn(T, image, dropout)
    x, y = numbers(T, 1, batch, 1, image, image), words(T, 2, 10, batch)
    optimiser = T.optim.Adadelta(model.parameters(), lr=0.1)
    return training(T, model, optimiser, lambda: T.nn.functional.cross_entropy(model(x), y))


def digits_forward(T, batch, image, dropout):
    return inference(T, models.digits_cnn(T, image, dropout), numbers(T, 1, batch, 1, image, image))


def resnet_step(T, batch, image, blocks, width, classes, channels_last=False):
    model, x = models.resnet(T, blocks, width, classes), numbers(T, 1, batch, 3, image, image)
    if channels_last:
        model, x = model.to(memory_format=T.channels_last), x.to(memory_format=T.channels_last)
    y = words(T, 2, classes, batch)
    optimiser = T.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return training(T, model, optimiser, lambda: T.nn.functional.cross_entropy(model(x), y))


def resnet_forward(T, batch, image, **sizes):
    return inference(T, models.resnet(T, **sizes), numbers(T, 1, batch, 3, image, image))


def lstm_step(T, batch, length, **sizes):
    model, vocabulary = models.lstm_language_model(T, **sizes), sizes["vocabulary"]
    x, y = words(T, 1, vocabulary, length, batch), words(T, 2, vocabulary, length * batch)
    optimiser = T.optim.SGD(model.parameters(), lr=0.1)
    loss = T.nn.functional.cross_entropy
    return training(T, model, optimiser, lambda: loss(model(x).view(-1, vocabulary), y), clip=0.25)


def lstm_forward(T, batch, length, hidden, layers):
    state = numbers(T, 2, layers, batch, hidden), numbers(T, 3, layers, batch, hidden)
    step = inference(T, models.lstm(T, hidden, layers), numbers(T, 1, length, batch, hidden), state)
    return lambda: step()[0]


def gpt_step(T, batch, **sizes):
    model, vocabulary, length = models.gpt(T, **sizes), sizes["vocabulary"], sizes["length"]
    x, y = words(T, 1, vocabulary, batch, length), words(T, 2, vocabulary, batch * length)
    optimiser = T.optim.AdamW(model.parameters(), lr=1e-4)
    loss = T.nn.functional.cross_entropy
    return training(T, model, optimiser, lambda: loss(model(x).view(-1, vocabulary), y))


def gpt_token(T, length, heads, layers, **sizes):
    """The last of length words; keys and values of those before it are in the caches."""
    model = models.gpt(T, length=length, heads=heads, layers=layers, **sizes)
    shape = 1, heads, length, sizes["width"] // heads
    caches = [(numbers(T, 2 * i, *shape), numbers(T, 2 * i + 1, *shape)) for i in range(layers)]
    return inference(T, model, words(T, 1, sizes["vocabulary"], 1, 1), caches, length - 1)


def rows_step(T, rows, columns, operator):
    """Forward and backward of an operator over the rows of a matrix."""
    F = T.nn.functional
    x, y = numbers(T, 1, rows, columns).requires_grad_(), words(T, 2, columns, rows)
    weight, bias = T.ones(columns, requires_grad=True), T.zeros(columns, requires_grad=True)
    calls = {
        "softmax": lambda: F.softmax(x, -1),
        "layer norm": lambda: F.layer_norm(x, (columns,), weight, bias),
        "cross entropy": lambda: F.cross_entropy(x, y),
    }
    grad = T.tensor(1.0) if operator == "cross entropy" else numbers(T, 3, rows, columns)

    def step():
        x.grad = weight.grad = bias.grad = None
        result = calls[operator]()
        result.backward(grad)
        return result.flatten()[0].item()

    return step


# --- their work


def no_products(**sizes):
    return []


# How often a matrix passes through memory, forward and backward: softmax is read, written; then it and the gradient of
# it are read and that of the matrix is written. Cross entropy reads the matrix twice and writes its gradient.
ROW_PASSES = {"softmax": 5, "layer norm": 5, "cross entropy": 3}


def work(case, sizes):
    """{"flops", "bytes"} of a step: of all products, and of what has to be fetched from memory and put there.

    Backward computes two products for each one. In training a weight is read forward, backward and by the optimiser, and
    written by it; its gradient is written and read; so is what the optimiser keeps. Inference reads each weight once.
    """
    workload = WORKLOADS[case]
    if "operator" in sizes:
        return {"flops": 0, "bytes": 4 * sizes["rows"] * sizes["columns"] * ROW_PASSES[sizes["operator"]]}
    products, trains = workload.products(**sizes), workload.states is not None
    flops = sum(2 * p.rows * p.inner * p.columns * (3 - p.of_data if trains else 1) for p in products)
    weights = sum(p.inner * p.columns for p in products if p.fetched)
    return {"flops": flops, "bytes": 4 * weights * (6 + 2 * workload.states if trains else 1)}


# --- the table

RESNET = {"batch": 16, "image": 224, "blocks": (3, 4, 6, 3), "width": 64, "classes": 1000}
SMALL_RESNET = {"batch": 2, "image": 32, "blocks": (1, 1), "width": 8, "classes": 10}
LSTM = {"batch": 20, "length": 35, "vocabulary": 10_000, "hidden": 200, "layers": 2}
SMALL_LSTM = {"batch": 2, "length": 4, "vocabulary": 20, "hidden": 8}
LSTM_CELL = {"batch": 1, "length": 1, "hidden": 200, "layers": 2}
GPT = {"batch": 8, "length": 256, "vocabulary": 256, "width": 384, "heads": 6, "layers": 6}
SMALL_GPT = {"length": 8, "vocabulary": 20, "width": 16, "heads": 2, "layers": 2}
ROWS = {"rows": 2500, "columns": 4000}
SMALL_ROWS = {"rows": 4, "columns": 50}
DIGITS = {"batch": 64, "image": 28, "dropout": 0.25}
SMALL_DIGITS = {"batch": 2, "image": 12, "dropout": 0.0}

MLP_CASE = "MLP 4-64-64-2, batch 1"
DIGITS_CASE = "MNIST CNN, batch 64"
LSTM_CASE = "LSTM language model, 200 wide"
GPT_CASE = "GPT 6 x 384, batch 8"


def table():
    def trained(build, products, sizes, tiny, states, **rival):
        return Workload(build, products, sizes, {**sizes, **tiny}, states, rival, {})

    def forward(build, products, sizes, tiny):
        one = {"batch": 1} if "batch" in sizes else {}
        return Workload(build, products, {**sizes, **one}, {**sizes, **tiny, **one}, None, {}, {})

    def by_winograd(workload):
        return workload._replace(own={"winograd": True})

    def rows(operator):
        return trained(rows_step, no_products, {**ROWS, "operator": operator}, SMALL_ROWS, 0)

    mlp = {"batch": 1, "inputs": 4, "width": 64, "depth": 2, "outputs": 2}
    two_layers = {"batch": 64, "inputs": 1000, "width": 100, "depth": 1, "outputs": 10}
    small_mlp = {"batch": 2, "inputs": 5, "width": 4}
    deep = {**RESNET, "batch": 8, "blocks": (3, 4, 23, 3)}
    one_word = {key: value for key, value in GPT.items() if key != "batch"}
    resnet = resnet_step, models.resnet_products
    mnist = trained(digits_step, models.digits_products, DIGITS, SMALL_DIGITS, 2)
    shallow = trained(*resnet, RESNET, SMALL_RESNET, 1)
    against_last = trained(*resnet, RESNET, SMALL_RESNET, 1, channels_last=True)
    one_image = forward(resnet_forward, models.resnet_products, RESNET, SMALL_RESNET)
    language = lstm_step, models.lstm_language_model_products
    cell = lstm_forward, models.lstm_products
    small_cell = {"hidden": 8}
    digits = models.digits_products
    return {
        MLP_CASE: trained(mlp_step, models.mlp_products, mlp, small_mlp, 2),
        "two-layer net 1000-100-10, batch 64": trained(mlp_step, models.mlp_products, two_layers, small_mlp, 2),
        DIGITS_CASE: mnist,
        "MNIST CNN, batch 64, Winograd": by_winograd(mnist),
        "ResNet-50, batch 16": shallow,
        "ResNet-50, batch 16, Winograd": by_winograd(shallow),
        "ResNet-50, batch 16, PyTorch in channels_last": against_last,
        "ResNet-50, batch 16, Winograd, PyTorch in channels_last": by_winograd(against_last),
        "ResNet-101, batch 8": trained(*resnet, deep, SMALL_RESNET, 1),
        "ResNet-101, batch 8, Winograd": by_winograd(trained(*resnet, deep, SMALL_RESNET, 1)),
        LSTM_CASE: trained(*language, LSTM, SMALL_LSTM, 0),
        "LSTM language model, 650 wide": trained(*language, {**LSTM, "hidden": 650}, SMALL_LSTM, 0),
        GPT_CASE: trained(gpt_step, models.gpt_products, GPT, {**SMALL_GPT, "batch": 2}, 2),
        "softmax, 2,500 rows of 4,000": rows("softmax"),
        "layer norm, 2,500 rows of 4,000": rows("layer norm"),
        "cross entropy, 2,500 rows of 4,000": rows("cross entropy"),
        "inference: ResNet-50": one_image,
        "inference: ResNet-50, Winograd": by_winograd(one_image),
        "inference: MNIST CNN": forward(digits_forward, digits, DIGITS, SMALL_DIGITS),
        "inference: GPT, one token after 255": forward(gpt_token, models.gpt_token_products, one_word, SMALL_GPT),
        "inference: LSTM step, 200 wide": forward(*cell, LSTM_CELL, small_cell),
        "inference: LSTM step, 650 wide": forward(*cell, {**LSTM_CELL, "hidden": 650}, small_cell),
    }


WORKLOADS = table()


# --- growth


class Growth(NamedTuple):
    """One size of a workload (or the number of threads) takes the values in turn; the others are as in the table but for
    fixed."""

    axis: str
    case: str
    size: str
    values: tuple
    fixed: dict


def growth_table():
    cores = os.cpu_count() or 1
    threads = tuple(sorted({1, min(2, cores), cores}))
    mlp = {"batch": 64, "inputs": 256, "width": 256, "depth": 4, "outputs": 10}
    gpt = {"batch": 2, "layers": 2}
    return {
        "MNIST CNN by batch size": Growth("batch size", DIGITS_CASE, "batch", (1, 4, 16, 64, 256), {}),
        "MLP by depth": Growth("hidden layers", MLP_CASE, "depth", (1, 4, 16, 64), mlp),
        "MLP by width": Growth("width", MLP_CASE, "width", (16, 64, 256, 1024), mlp),
        "GPT by sequence length": Growth("words", GPT_CASE, "length", (32, 64, 128, 256, 512), gpt),
        "LSTM by sequence length": Growth("words", LSTM_CASE, "length", (5, 10, 20, 40, 80), {}),
        "MNIST CNN by threads": Growth("threads", DIGITS_CASE, "threads", threads, {}),
        "GPT by threads": Growth("threads", GPT_CASE, "threads", threads, gpt),
    }


GROWTH = growth_table()
