"""Small functions and modules as programs have them, for ways.py: their time goes into Python, not into kernels."""

import dataclasses
import math

from way_cases import labels, of

import wisp
from wisp import nn
from wisp.nn import functional as F

# --- modules


@dataclasses.dataclass
class Config:
    width: int = 16
    heads: int = 2
    dropout: float = 0.0


class RMSNorm(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.eps, self.weight = eps, nn.Parameter(wisp.ones(width))

    def _norm(self, x):
        return x * wisp.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return self._norm(x.float()).type_as(x) * self.weight


class FeedForward(nn.Module):
    def __init__(self, width, inner, dropout=0.0):
        super().__init__()
        self.w1, self.w2 = nn.Linear(width, inner, bias=False), nn.Linear(inner, width, bias=False)
        self.w3, self.dropout = nn.Linear(width, inner, bias=False), nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(self.w2(F.silu(self.w1(x)) * self.w3(x)))


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config, self.dropout = config, nn.Dropout(config.dropout)
        self.inner, self.outer = nn.Linear(config.width, 3 * config.width), nn.Linear(config.width, config.width)
        self.register_buffer("mask", wisp.ones(32, 32).tril().view(1, 1, 32, 32))

    def forward(self, x):
        batch, length, width = x.size()
        shape = batch, length, self.config.heads, width // self.config.heads
        q, k, v = (t.view(shape).transpose(1, 2) for t in self.inner(x).split(width, dim=2))
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        scores = scores.masked_fill(self.mask[:, :, :length, :length] == 0, float("-inf"))
        y = self.dropout(F.softmax(scores, dim=-1)) @ v
        return self.outer(y.transpose(1, 2).contiguous().view(batch, length, width))


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(config.width), RMSNorm(config.width)
        self.attention, self.mlp = Attention(config), FeedForward(config.width, 2 * config.width, config.dropout)

    def forward(self, x):
        x = x + self.attention(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Residual(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x, **options):
        return self.inner(x, **options) + x


class Layers(nn.Module):
    """A list of layers, with the loop that everybody writes."""

    def __init__(self, count=3, width=8):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(count)])
        self.act = F.relu

    def forward(self, x, mask=None):
        for i, layer in enumerate(self.layers):
            x = layer(x)
            if i < len(self.layers) - 1:
                x = self.act(x)
        return x if mask is None else x * mask


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleDict({"policy": nn.Linear(8, 2), "value": nn.Linear(8, 1)})

    def forward(self, x):
        return self.heads["policy"](x).log_softmax(-1), self.heads["value"](x)


class Checked(nn.Linear):
    """A subclass that looks at what it is given."""

    def forward(self, x):
        if not isinstance(x, wisp.Tensor):
            raise TypeError(f"expected a tensor, got {type(x).__name__}")
        assert x.dim() == 2, f"expected a batch, got {x.dim()} dimensions"
        return super().forward(x)


class Counting(nn.Module):
    """Writes down how often it was called, so that it stays as it is."""

    calls = 0

    def forward(self, x):
        self.calls += 1
        return (x * 2).relu() + x


def lenet():
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 2))


def conv_block():
    return nn.Sequential(nn.Conv1d(4, 4, 3, padding=1), nn.BatchNorm1d(4), nn.ReLU())


def trained(module, *shape):
    """A module in training, with its gradients."""
    inputs = [wisp.randn(*shape)]
    parameters = list(module.parameters())
    return module, inputs, lambda f: lambda x: wisp.autograd.grad(f(x).sum(), parameters)


def evaluated(module, *shapes):
    """Without gradients."""
    module.eval()

    def around(f):
        def call(*inputs):
            with wisp.no_grad():
                return f(*inputs)

        return call

    return module, [wisp.randn(*shape) for shape in shapes], around


NET = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))


def loss_of_net(x, y):
    return F.mse_loss(NET(x), y)


def step_of_net(net, batch):
    return F.cross_entropy(net(batch["x"]), batch["y"], label_smoothing=0.1)


# --- functions


def dice(x, y, smooth=1.0):
    x = x.sigmoid().flatten(1)
    y = y.flatten(1)
    return (1 - (2 * (x * y).sum(1) + smooth) / (x.sum(1) + y.sum(1) + smooth)).mean()


def focal(x, y, *, alpha=0.25, gamma=2.0, reduction="mean"):
    p, ce = x.sigmoid(), F.binary_cross_entropy_with_logits(x, y, reduction="none")
    near = p * y + (1 - p) * (1 - y)
    loss = (alpha * y + (1 - alpha) * (1 - y)) * ce * (1 - near) ** gamma
    return loss.mean() if reduction == "mean" else loss.sum()


def triplet(a, p, n, margin=0.2):
    return F.relu((a - p).pow(2).sum(-1) - (a - n).pow(2).sum(-1) + margin).mean()


def gaussian_kl(mean, logvar):
    return -0.5 * (1 + logvar - mean.pow(2) - logvar.exp()).sum(-1).mean()


def ppo(new, old, advantage, clip=0.2):
    ratio = (new - old).exp()
    return -wisp.min(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()


def normal_log_prob(x, mean, log_std):
    return (-0.5 * ((x - mean) / log_std.exp()) ** 2 - log_std - 0.5 * math.log(2 * math.pi)).sum(-1)


def adam_direction(g, m, v, t=3, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
    m, v = betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g * g
    return -lr * (m / (1 - betas[0] ** t)) / ((v / (1 - betas[1] ** t)).sqrt() + eps), m, v


def early(x, scale=None):
    if scale is None:
        return x.relu()
    if scale == 0:
        return x
    return x * scale


def by_dtype(x):
    work = x if x.dtype == wisp.float32 else x.float()
    out = work / work.norm(dim=-1, keepdim=True).clamp(min=1e-6)
    return out.to(x.dtype)


def patches(x, size=2):
    b, c, h, w = x.shape
    return x.reshape(b, c, h // size, size, w // size, size).permute(0, 2, 4, 1, 3, 5).reshape(b, -1, c * size * size)


def quaternion(a, b):
    w, x, y, z = a.unbind(-1)
    s, t, u, v = b.unbind(-1)
    return wisp.stack(
        [w * s - x * t - y * u - z * v, w * t + x * s + y * v - z * u, w * u - x * v + y * s + z * t, w * v + x * u - y * t + z * s], -1
    )  # fmt: skip


def horner(x, coefficients=(1.0, -0.5, 0.25, -0.125)):
    total = 0.0
    for c in reversed(coefficients):
        total = total * x + c
    return total


def of_dict(batch):
    return {name: x * 2 for name, x in batch.items()}["x"].relu() + batch["y"]


def weighted(factor):
    """A closure, as factories of losses return it."""

    def loss(x, y):
        return factor * (x - y).abs().mean() + (1 - factor) * (x - y).pow(2).mean()

    return loss


def without_gradients(x, target):
    with wisp.no_grad():
        target = target * 0.9 + x * 0.1
    return (x - target).pow(2).mean()


def noisy(x):
    return x + wisp.randn_like(x) * 0.1


def moving_average(average, x):
    return average.lerp_(x, 0.1)


def arranged(x):
    return x + wisp.arange(x.shape[-1], dtype=wisp.float32) * 0.1


CASES = {
    "RMSNorm module, 2 x 16": lambda: of(RMSNorm(16), (2, 16)),
    "SwiGLU module, 2 x 16": lambda: evaluated(FeedForward(16, 32), (2, 16)),
    "dropout module in training, 2 x 16": lambda: of(FeedForward(16, 32, 0.1), (2, 16)),
    "attention module, 2 x 4 x 16": lambda: of(Attention(Config()), (2, 4, 16)),
    "transformer block, 2 x 4 x 16": lambda: evaluated(Block(Config()), (2, 4, 16)),
    "transformer block and its gradients, 2 x 4 x 16": lambda: trained(Block(Config()), 2, 4, 16),
    "residual module, 2 x 8": lambda: of(Residual(nn.Linear(8, 8)), (2, 8)),
    "list of layers, 2 x 8": lambda: of(Layers(), (2, 8)),
    "list of layers and its gradients, 2 x 8": lambda: trained(Layers(), 2, 8),
    "dict of heads, 1 x 8": lambda: evaluated(Heads(), (1, 8)),
    "checked linear, 2 x 8": lambda: of(Checked(8, 8), (2, 8)),
    "counting module, 2 x 8": lambda: of(Counting(), (2, 8)),
    "LeNet module, 1 x 1 x 8 x 8": lambda: evaluated(lenet(), (1, 1, 8, 8)),
    "convolution and batch norm, 1 x 4 x 8": lambda: evaluated(conv_block(), (1, 4, 8)),
    "batch norm in training, 8 x 8": lambda: of(nn.BatchNorm1d(8), (8, 8)),
    "GRU cell module, 1 x 16": lambda: of(nn.GRUCell(16, 16), (1, 16), (1, 16)),
    "LSTM cell module, 1 x 16": lambda: (
        nn.LSTMCell(16, 16),
        [wisp.randn(1, 16), (wisp.randn(1, 16), wisp.randn(1, 16))],
    ),
    "encoder layer module, 2 x 4 x 16": lambda: evaluated(
        nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), (2, 4, 16)
    ),
    "embedding module, 8": lambda: (nn.Embedding(10, 4), [labels(8, 10)]),
    "linear module, 1 x 8": lambda: evaluated(nn.Linear(8, 8), (1, 8)),
    "cross entropy module, 4 x 5": lambda: (nn.CrossEntropyLoss(), [wisp.randn(4, 5), labels(4, 5)]),
    "loss of a network, 2 x 8": lambda: of(loss_of_net, (2, 8), (2, 2)),
    "step of a network and a dict, 2 x 8": lambda: (step_of_net, [NET, {"x": wisp.randn(2, 8), "y": labels(2, 2)}]),
    "dice, 2 x 16": lambda: of(dice, (2, 16), (2, 16)),
    "focal loss, 16": lambda: (focal, [wisp.randn(16), wisp.rand(16).round()]),
    "triplet, 4 x 8": lambda: of(triplet, (4, 8), (4, 8), (4, 8)),
    "divergence of gaussians, 4 x 8": lambda: of(gaussian_kl, (4, 8), (4, 8)),
    "clipped policy, 32": lambda: of(ppo, (32,), (32,), (32,)),
    "normal log prob, 4 x 6": lambda: of(normal_log_prob, (4, 6), (4, 6), (6,)),
    "direction of Adam, 64": lambda: (adam_direction, [wisp.randn(64), wisp.randn(64), wisp.rand(64)]),
    "early return, 10": lambda: of(early, (10,)),
    "by dtype, 4 x 8": lambda: of(by_dtype, (4, 8)),
    "patches, 1 x 3 x 8 x 8": lambda: of(patches, (1, 3, 8, 8)),
    "quaternions, 16": lambda: of(quaternion, (16, 4), (16, 4)),
    "Horner's rule, 16": lambda: of(horner, (16,)),
    "dict of tensors, 8": lambda: (of_dict, [{"x": wisp.randn(8), "y": wisp.randn(8)}]),
    "closure, 16": lambda: of(weighted(0.3), (16,), (16,)),
    "no_grad inside, 16": lambda: of(without_gradients, (16,), (16,)),
    "noise, 16": lambda: of(noisy, (16,)),
    "moving average, 16": lambda: of(moving_average, (16,), (16,)),
    "range added, 16": lambda: of(arranged, (16,)),
    "Huber loss, 4 x 5": lambda: of(F.huber_loss, (4, 5), (4, 5)),
}
