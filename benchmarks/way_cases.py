"""Everyday functions for ways.py, beside those that are there: pieces of networks, losses, masks, indices and loops.

Each case is made by a function that returns what is called and, if that takes any, the inputs.
"""

import math

import workloads

import wisp
from wisp import nn
from wisp.nn import functional as F

KB, MB = 1 << 10, 1 << 20


def of(f, *shapes):
    """A function, and what it is called with."""
    return f, [wisp.randn(*shape) for shape in shapes]


def labels(n, classes):
    return wisp.randint(0, classes, (n,))


# --- attention and its surroundings


def causal(scores):
    length = scores.shape[-1]
    mask = wisp.ones(length, length, dtype=wisp.bool).tril()
    return (scores * 0.125).masked_fill(~mask, float("-inf")).softmax(-1)


def rotate_half(x):
    half = x.shape[-1] // 2
    return wisp.cat((-x[..., half:], x[..., :half]), dim=-1)


def rotary(q, k, cos, sin):
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


def rotary_pairs(x, cos, sin):
    even, odd = x[..., ::2], x[..., 1::2]
    return wisp.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


def heads(x):
    q, k, v = x.view(x.shape[0], x.shape[1], 3, 4, -1).permute(2, 0, 3, 1, 4)
    return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)


def positions(length, width):
    where = wisp.arange(length, dtype=wisp.float32)[:, None]
    angles = where * wisp.exp(wisp.arange(0, width, 2) * (-math.log(10000.0) / width))
    return wisp.cat([angles.sin(), angles.cos()], 1)


def alibi(scores, slopes):
    length = scores.shape[-1]
    where = wisp.arange(length)
    return (scores + slopes[:, None, None] * (where[None] - where[:, None])).softmax(-1)


# --- layers by hand


def layer_norm(x, weight, bias):
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt() * weight + bias


def batch_norm(x, weight, bias):
    mean, var = x.mean((0, 2, 3), keepdim=True), x.var((0, 2, 3), keepdim=True, unbiased=False)
    return (x - mean) * (var + 1e-5).rsqrt() * weight + bias


def gelu_by_hand(x):
    return 0.5 * x * (1 + (math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)).tanh())


def mish(x):
    return x * F.softplus(x).tanh()


def gelu_mlp(x, inner, outer):
    return x + F.gelu(x @ inner) @ outer


def swiglu(x, gate, up, down):
    return (F.silu(x @ gate) * (x @ up)) @ down


def geglu(x):
    a, b = x.chunk(2, -1)
    return a * F.gelu(b)


def squeeze_excite(x, reduce, expand):
    weights = F.relu(x.mean((2, 3)) @ reduce) @ expand
    return x * weights.sigmoid()[:, :, None, None]


def conv_relu_pool(x, weight):
    return F.max_pool2d(F.relu(F.conv2d(x, weight, padding=1)), 2)


def gru_cell(x, h, w, u):
    r, z, n = (x @ w).chunk(3, 1)
    hr, hz, hn = (h @ u).chunk(3, 1)
    z = (z + hz).sigmoid()
    return (1 - z) * (n + (r + hr).sigmoid() * hn).tanh() + z * h


# --- losses and measures


def cross_entropy():
    return F.cross_entropy, [wisp.randn(512, 1000), labels(512, 1000)]


def picked_log_softmax():
    def f(logits, y):
        return -logits.log_softmax(-1)[wisp.arange(len(y)), y].mean()

    return f, [wisp.randn(512, 256), labels(512, 256)]


def smoothed(classes, n):
    def f(logits, y):
        target = F.one_hot(y, classes).float() * 0.9 + 0.1 / classes
        return -(target * logits.log_softmax(-1)).sum(-1).mean()

    return f, [wisp.randn(n, classes), labels(n, classes)]


def binary_cross_entropy(x, y):
    return (x.clamp(min=0) - x * y + (-x.abs()).exp().log1p()).mean()


def focal(x, y):
    p = x.sigmoid()
    near = wisp.where(y > 0, p, 1 - p)
    return (-((1 - near) ** 2) * (near + 1e-8).log()).mean()


def huber(x, y):
    d = (x - y).abs()
    return wisp.where(d < 1, 0.5 * d * d, d - 0.5).mean()


def divergence(p, q):
    return (p.softmax(-1) * (p.log_softmax(-1) - q.log_softmax(-1))).sum(-1).mean()


def contrastive(a, b):
    a, b = a / a.norm(dim=-1, keepdim=True), b / b.norm(dim=-1, keepdim=True)
    return (a @ b.t() / 0.07).diagonal().mean()


def accuracy(n, classes):
    def f(logits, y):
        return (logits.argmax(-1) == y).float().mean().item()

    return f, [wisp.randn(n, classes), labels(n, classes)]


def overlap(a, b):
    """Of boxes with boxes, all pairs."""
    low, high = wisp.maximum(a[:, None, :2], b[None, :, :2]), wisp.minimum(a[:, None, 2:], b[None, :, 2:])
    inner = (high - low).clamp(min=0).prod(-1)
    areas = [(x[:, 2:] - x[:, :2]).prod(-1) for x in (a, b)]
    return inner / (areas[0][:, None] + areas[1][None] - inner)


# --- masks, indices, order


def leaky(x):
    return wisp.where(x > 0, x, 0.1 * x)


def outliers(x):
    far = (x - x.mean()).abs() > 2 * x.std()
    return wisp.where(far, x.mean(), x), far.sum()


def one_hot(n, classes):
    return lambda y: (y[:, None] == wisp.arange(classes)).float(), [labels(n, classes)]


def embedding(n, width, count):
    def f(table, positions, ids):
        return table[ids] * math.sqrt(width) + positions

    return f, [wisp.randn(n, width), wisp.randn(count, width), labels(count, n)]


def gathered_columns(n, width):
    def f(x, order):
        return x.gather(1, order) * 2 - x

    return f, [wisp.randn(n, width), wisp.randint(0, width, (n, width))]


def scattered(n, width, count):
    def f(x, where):
        return wisp.zeros(n, width).index_add_(0, where, x * 0.5) + 1

    return f, [wisp.randn(count, width), labels(count, n)]


def masked_mean(n, length, width):
    def f(x, lengths):
        mask = (wisp.arange(length)[None] < lengths[:, None]).float()
        return (x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)

    return f, [wisp.randn(n, length, width), wisp.randint(1, length, (n,))]


def discounted(x):
    return (x * 0.9).cumsum(-1) * 0.5 + x


def nucleus(logits):
    values, order = logits.topk(40)
    p = values.softmax(-1)
    keep = p.cumsum(-1) - p < 0.9
    return wisp.where(keep, p, 0.0), order


def ranks(x):
    order = x.argsort(-1)
    return order.argsort(-1).float() / x.shape[-1]


def board(n):
    def life(x):
        around = sum(x.roll((i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        return ((around == 3) | ((x == 1) & (around == 2))).long()

    return life, [wisp.randint(0, 2, (n, n))]


# --- numbers and loops


def quantised(x):
    scale = x.abs().amax() / 127
    return (x / scale).round().clamp(-128, 127) * scale


def scaled(x):
    low, high = x.min(), x.max()
    return (x - low) / (high - low)


def images(x, mean, std):
    return (x / 255 - mean[:, None, None]) / std[:, None, None]


def distances(a, b):
    return ((a[:, None] - b[None]) ** 2).sum(-1).sqrt()


def noised(x, noise, alpha):
    alpha = alpha[:, None, None, None]
    return alpha.sqrt() * x + (1 - alpha).sqrt() * noise


def mandelbrot(x, y):
    a, b = x, y
    for _ in range(10):
        a, b = a * a - b * b + x, 2 * a * b + y
    return a * a + b * b < 4


def power_iteration(m):
    v = wisp.ones(m.shape[0])
    for _ in range(8):
        v = m @ v
        v = v / v.norm()
    return v


def until_small(x):
    """A loop that asks for a number in every round."""
    while x.abs().mean().item() > 0.1:
        x = x * 0.5 - 0.01
    return x


def by_shape(x):
    if x.ndim == 2 and x.shape[0] > 4:
        x = x.t().contiguous()
    return (x + 1).relu() if x.shape[1] > 2 else x * 2


def padded(x):
    return F.pad(x, (1, 1, 1, 1)) * 0.5 + 1


def borders(x):
    y = x * 1.0
    y[:, 0] = 0
    y[:, -1] = 0
    y[1:-1] += x[2:] - x[:-2]
    return y


def running(x, mean, var):
    mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
    var.mul_(0.9).add_(x.var(0), alpha=0.1)
    return (x - mean) / (var + 1e-5).sqrt()


def filled_by_mask(x):
    y = x.clone()
    y[y < 0] = 0.0
    return y * 2


# --- steps


def gradient_of(f, *shapes):
    inputs = [wisp.randn(*shape).requires_grad_() for shape in shapes]

    def step():
        for x in inputs:
            x.grad = None
        out = f(*inputs)
        total = sum(o.sum() for o in out) if isinstance(out, tuple) else out.sum()
        total.backward()
        return total

    return step


def stepped(module, *inputs, optimiser=wisp.optim.SGD):
    optimiser = optimiser(module.parameters(), lr=1e-6)
    return workloads.training(wisp, module, optimiser, lambda: module(*inputs).square().mean())


def forward(module, *inputs):
    module.eval()

    def call():
        with wisp.no_grad():
            return module(*inputs)

    return call


class Block(nn.Module):
    """Of a decoder: norms by hand, rotary embeddings, a gated perceptron."""

    def __init__(self, width=128, heads=4):
        super().__init__()
        self.heads, self.norms = heads, nn.Parameter(wisp.ones(2, width))
        self.mix, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.gate, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(2 * width, width, bias=False)
        angles = wisp.arange(64.0)[:, None] * wisp.logspace(0, -4, width // heads // 2)
        self.register_buffer("angles", wisp.cat([angles, angles], 1))

    def norm(self, x, i):
        return x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * self.norms[i]

    def forward(self, x):
        n, length, width = x.shape
        q, k, v = self.mix(self.norm(x, 0)).view(n, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        q, k = rotary(q, k, self.angles.cos(), self.angles.sin())
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(n, length, width))
        a, b = self.gate(self.norm(x, 1)).chunk(2, -1)
        return x + self.down(F.silu(a) * b)


class Recurrent(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.cell = nn.LSTMCell(width, width)

    def forward(self, xs):
        h = c = wisp.zeros(xs.shape[1], xs.shape[2])
        for x in xs:
            h, c = self.cell(x, (h, c))
        return h


def cnn():
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1),
        nn.GroupNorm(4, 32), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
    )  # fmt: skip


def dropped():
    return nn.Sequential(nn.Linear(256, 512), nn.LayerNorm(512), nn.GELU(), nn.Dropout(0.1), nn.Linear(512, 256))


def adam_by_hand(*sizes):
    made = [[wisp.rand(n, n) for n in sizes] for _ in range(4)]

    def step():
        for weight, gradient, m, v in zip(*made, strict=True):
            m.mul_(0.9).add_(gradient, alpha=0.1)
            v.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
            weight.addcdiv_(m, v.sqrt() + 1e-8, value=-1e-6)
        return made[0][0]

    return step


def clipped(*sizes):
    """Gradients scaled to a norm, as a program may do it itself."""
    gradients = [wisp.randn(n, n) for n in sizes]

    def step():
        norm = sum((g * g).sum() for g in gradients).sqrt()
        scale = (1e9 / (norm + 1e-6)).clamp(max=1.0)
        for g in gradients:
            g.mul_(scale)
        return norm

    return step


def averaged_weights(*sizes):
    weights, means = ([wisp.randn(n, n) for n in sizes] for _ in range(2))

    def step():
        for mean, weight in zip(means, weights, strict=True):
            mean.copy_(mean * 0.99 + weight * 0.01)
        return means[0]

    return step


ROTARY = (4, 4, 64, 64), (4, 4, 64, 64), (64, 64), (64, 64)
CASES = {
    "rotary, 1 x 2 x 8 x 16": lambda: of(rotary, (1, 2, 8, 16), (1, 2, 8, 16), (8, 16), (8, 16)),
    "rotary, 4 x 4 x 64 x 64": lambda: of(rotary, *ROTARY),
    "rotary, 8 x 8 x 256 x 64": lambda: of(rotary, (8, 8, 256, 64), (8, 8, 256, 64), (256, 64), (256, 64)),
    "rotary of pairs, 4 x 4 x 128 x 64": lambda: of(rotary_pairs, (4, 4, 128, 64), (128, 32), (128, 32)),
    "rotary and its gradient, 4 x 4 x 64 x 64": lambda: gradient_of(rotary, *ROTARY),
    "causal mask and softmax, 8 x 128 x 128": lambda: of(causal, (8, 128, 128)),
    "heads apart and together, 4 x 64 x 384": lambda: of(heads, (4, 64, 384)),
    "ALiBi, 8 x 96 x 96": lambda: of(alibi, (8, 96, 96), (8,)),
    "positions, 512 x 128": lambda: (positions, [512, 128]),
    "layer norm by hand, 64 x 1024": lambda: of(layer_norm, (64, KB), (KB,), (KB,)),
    "layer norm by hand, 8192 x 128": lambda: of(layer_norm, (8 * KB, 128), (128,), (128,)),
    "layer norm and its gradient, 64 x 1024": lambda: gradient_of(layer_norm, (64, KB), (KB,), (KB,)),
    "batch norm by hand, 16 x 16 x 32 x 32": lambda: of(batch_norm, (16, 16, 32, 32), (16, 1, 1), (16, 1, 1)),
    "gelu by hand, 40k": lambda: of(gelu_by_hand, (40 * KB,)),
    "gelu by hand, 1M": lambda: of(gelu_by_hand, (MB,)),
    "mish and its gradient, 128k": lambda: gradient_of(mish, (128 * KB,)),
    "gelu perceptron, 128 x 256": lambda: of(gelu_mlp, (128, 256), (256, KB), (KB, 256)),
    "swiglu, 128 x 256": lambda: of(swiglu, (128, 256), (256, 512), (256, 512), (512, 256)),
    "geglu of halves, 256 x 1024": lambda: of(geglu, (256, KB)),
    "squeeze and excite, 8 x 32 x 28 x 28": lambda: of(squeeze_excite, (8, 32, 28, 28), (32, 8), (8, 32)),
    "conv, relu, pool, 8 x 8 x 28 x 28": lambda: of(conv_relu_pool, (8, 8, 28, 28), (16, 8, 3, 3)),
    "GRU cell, 64 x 256": lambda: of(gru_cell, (64, 256), (64, 256), (256, 768), (256, 768)),
    "cross entropy, 512 x 1000": cross_entropy,
    "log softmax picked, 512 x 256": picked_log_softmax,
    "smoothed labels, 32 x 10": lambda: smoothed(10, 32),
    "smoothed labels, 256 x 256": lambda: smoothed(256, 256),
    "binary cross entropy, 64k": lambda: of(binary_cross_entropy, (64 * KB,), (64 * KB,)),
    "focal loss, 100k": lambda: of(focal, (100_000,), (100_000,)),
    "huber loss, 1000": lambda: of(huber, (1000,), (1000,)),
    "huber loss, 1M": lambda: of(huber, (MB,), (MB,)),
    "divergence, 256 x 512": lambda: of(divergence, (256, 512), (256, 512)),
    "contrastive, 256 x 128": lambda: of(contrastive, (256, 128), (256, 128)),
    "accuracy with item, 1024 x 100": lambda: accuracy(KB, 100),
    "boxes, 300 x 300": lambda: of(overlap, (300, 4), (300, 4)),
    "where, 48k": lambda: of(leaky, (48 * KB,)),
    "outliers, 256k": lambda: of(outliers, (256 * KB,)),
    "one hot, 1024 x 64": lambda: one_hot(KB, 64),
    "embedding and positions, 512 x 128": lambda: embedding(10_000, 128, 512),
    "embedding and positions, 4096 x 256": lambda: embedding(10_000, 256, 4 * KB),
    "gathered columns, 256 x 256": lambda: gathered_columns(256, 256),
    "rows added by index, 4096 of 64": lambda: scattered(KB, 64, 4 * KB),
    "mean of masked, 32 x 64 x 64": lambda: masked_mean(32, 64, 64),
    "discounted sums, 64 x 1024": lambda: of(discounted, (64, KB)),
    "nucleus of logits, 8 x 8192": lambda: of(nucleus, (8, 8 * KB)),
    "ranks, 64 x 1024": lambda: of(ranks, (64, KB)),
    "game of life, 256 x 256": lambda: board(256),
    "quantised, 64k": lambda: of(quantised, (64 * KB,)),
    "scaled to 0..1, 1M": lambda: of(scaled, (MB,)),
    "images normalised, 16 x 3 x 64 x 64": lambda: of(images, (16, 3, 64, 64), (3,), (3,)),
    "distances, 256 x 256 x 16": lambda: of(distances, (256, 16), (256, 16)),
    "noise of diffusion, 16 x 3 x 64 x 64": lambda: (
        noised, [wisp.randn(16, 3, 64, 64), wisp.randn(16, 3, 64, 64), wisp.rand(16)]
    ),
    "mandelbrot of 10 rounds, 128k": lambda: of(mandelbrot, (128 * KB,), (128 * KB,)),
    "power iteration, 200 x 200": lambda: of(power_iteration, (200, 200)),
    "rounds by item, 64k": lambda: of(until_small, (64 * KB,)),
    "by shape, 3 x 3": lambda: of(by_shape, (3, 3)),
    "by shape, 256 x 256": lambda: of(by_shape, (256, 256)),
    "padded, 16 x 4 x 32 x 32": lambda: of(padded, (16, 4, 32, 32)),
    "borders in place, 256 x 256": lambda: of(borders, (256, 256)),
    "running statistics, 1024 x 64": lambda: (
        running, [wisp.randn(KB, 64), wisp.zeros(64), wisp.ones(64)]
    ),
    "filled by mask, 64k": lambda: of(filled_by_mask, (64 * KB,)),
    "decoder block forward, 4 x 64": lambda: forward(Block(), wisp.randn(4, 64, 128)),
    "decoder block step, 4 x 64": lambda: stepped(Block(), wisp.randn(4, 64, 128), optimiser=wisp.optim.AdamW),
    "decoder block step, 16 x 64": lambda: stepped(Block(), wisp.randn(16, 64, 128)),
    "LSTM cells of 16 rounds, 128 x 64": lambda: forward(Recurrent(64), wisp.randn(16, 128, 64)),
    "LSTM cells step, 128 x 64": lambda: stepped(Recurrent(64), wisp.randn(16, 128, 64)),
    "CNN forward, batch 8": lambda: forward(cnn(), wisp.randn(8, 3, 32, 32)),
    "CNN step, batch 8": lambda: stepped(cnn(), wisp.randn(8, 3, 32, 32)),
    "dropout step, batch 128": lambda: stepped(dropped(), wisp.randn(128, 256)),
    "Adam by hand, 64 to 256": lambda: adam_by_hand(64, 128, 256),
    "clipped by hand, 64 to 512": lambda: clipped(64, 256, 512),
    "mean of weights, 64 to 512": lambda: averaged_weights(64, 256, 512),
}  # fmt: skip
