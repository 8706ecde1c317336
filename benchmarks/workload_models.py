"""The networks of the workloads, written once for either library, and the matrix products that each comes down to."""

import random
from typing import NamedTuple

PERIOD = 10_007


class Product(NamedTuple):
    """A matrix of rows x inner times one of inner x columns; a table in which rows are looked up is a product of no rows.

    fetched: the second matrix lies in memory (a weight) and is not computed on the way; of_data: the first one is the
    data itself, which gets no gradient.
    """

    rows: int
    inner: int
    columns: int
    fetched: bool = True
    of_data: bool = False


def convolution(batch, side, channels, filters, kernel, of_data=False):
    return Product(batch * side * side, channels * kernel * kernel, filters, of_data=of_data)


# --- weights and data that are the same in both libraries, whose generators differ


def numbers(T, seed, *shape, scale=1.0):
    """Numbers of variance scale**2. They repeat after a while: Python draws them one by one."""
    count = T.Size(shape).numel()
    source = random.Random(seed)
    bound = scale * 3**0.5
    drawn = T.tensor([source.uniform(-bound, bound) for _ in range(min(count, PERIOD))])
    return drawn.repeat(-(-count // len(drawn)))[:count].reshape(shape)


def words(T, seed, vocabulary, *shape):
    source = random.Random(seed)
    return T.tensor([source.randrange(vocabulary) for _ in range(T.Size(shape).numel())]).reshape(shape)


def filled(T, model):
    """The model with weights of the size that keeps a signal alive through many layers; biases are zero."""
    with T.no_grad():
        for seed, (name, p) in enumerate(model.named_parameters()):
            if p.dim() > 1:
                p.copy_(numbers(T, seed, *p.shape, scale=(2 / p[0].numel()) ** 0.5))
            elif "bias" in name:
                p.zero_()
    return model


# --- layers in a row


def mlp(T, inputs, width, depth, outputs):
    layers = []
    for i in range(depth):
        layers += [T.nn.Linear(width if i else inputs, width), T.nn.ReLU()]
    return filled(T, T.nn.Sequential(*layers, T.nn.Linear(width, outputs)))


def mlp_products(batch, inputs, width, depth, outputs):
    hidden = [Product(batch, width, width)] * (depth - 1)
    return [Product(batch, inputs, width, of_data=True), *hidden, Product(batch, width, outputs)]


# --- digits


def digits_cnn(T, image, dropout):
    nn = T.nn
    convolutions = [nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2)]
    inside = nn.Linear(64 * ((image - 4) // 2) ** 2, 128)
    head = [nn.Dropout(dropout), nn.Flatten(), inside, nn.ReLU(), nn.Dropout(2 * dropout), nn.Linear(128, 10)]
    return filled(T, nn.Sequential(*convolutions, *head))


def digits_products(batch, image, dropout):
    return [
        convolution(batch, image - 2, 1, 32, 3, of_data=True),
        convolution(batch, image - 4, 32, 64, 3),
        Product(batch, 64 * ((image - 4) // 2) ** 2, 128),
        Product(batch, 128, 10),
    ]


# --- residual networks


def resnet_plan(blocks, width):
    """(channels that come in, planes, stride) of every block; the first of a stage has a way around of its own."""
    channels = width
    for stage, count in enumerate(blocks):
        planes = width << stage
        for i in range(count):
            yield channels, planes, 2 if stage and not i else 1
            channels = 4 * planes


def resnet(T, blocks, width, classes):
    nn, F = T.nn, T.nn.functional

    def normed(channels, filters, kernel, stride=1):
        layer = nn.Conv2d(channels, filters, kernel, stride, kernel // 2, bias=False)
        return nn.Sequential(layer, nn.BatchNorm2d(filters))

    class Block(nn.Module):
        def __init__(self, channels, planes, stride):
            super().__init__()
            self.narrow = normed(channels, planes, 1)
            self.middle = normed(planes, planes, 3, stride)
            self.widen = normed(planes, 4 * planes, 1)
            self.around = nn.Identity() if channels == 4 * planes else normed(channels, 4 * planes, 1, stride)

        def forward(self, x):
            inside = F.relu(self.middle(F.relu(self.narrow(x))))
            return F.relu(self.widen(inside) + self.around(x))

    stem = [normed(3, width, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    body = [Block(*plan) for plan in resnet_plan(blocks, width)]
    channels = 4 * width << (len(blocks) - 1)
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes)]
    return filled(T, nn.Sequential(*stem, *body, *head))


def resnet_products(batch, image, blocks, width, classes, channels_last=False):
    side = -(-image // 2)
    found = [convolution(batch, side, 3, width, 7, of_data=True)]
    side = -(-side // 2)
    for channels, planes, stride in resnet_plan(blocks, width):
        found.append(convolution(batch, side, channels, planes, 1))
        side = -(-side // stride)
        found.append(convolution(batch, side, planes, planes, 3))
        found.append(convolution(batch, side, planes, 4 * planes, 1))
        if channels != 4 * planes:
            found.append(convolution(batch, side, channels, 4 * planes, 1))
    return [*found, Product(batch, 4 * planes, classes)]


# --- a language model of LSTM layers


def lstm(T, hidden, layers):
    return filled(T, T.nn.LSTM(hidden, hidden, layers))


def lstm_language_model(T, vocabulary, hidden, layers):
    nn = T.nn

    class LanguageModel(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(vocabulary, hidden)
            self.recurrent = nn.LSTM(hidden, hidden, layers)
            self.head = nn.Linear(hidden, vocabulary)

        def forward(self, x):
            return self.head(self.recurrent(self.embedding(x))[0])

    return filled(T, LanguageModel())


def lstm_products(batch, length, hidden, layers):
    return [Product(batch * length, 2 * hidden, 4 * hidden)] * layers


def lstm_language_model_products(batch, length, vocabulary, hidden, layers):
    table, head = Product(0, vocabulary, hidden), Product(batch * length, hidden, vocabulary)
    return [table, *lstm_products(batch, length, hidden, layers), head]


# --- a transformer


def gpt_block(T, width, heads):
    nn, F = T.nn, T.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.inward, self.outward = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def attend(self, x, cache, position):
            """Attention of the words of x to those before; the cache has the keys and values up to the position."""
            batch, length, _ = x.shape
            split = self.inward(x).view(batch, length, 3, heads, width // heads)
            q, k, v = split.permute(2, 0, 3, 1, 4).unbind(0)
            if cache is not None:
                cache[0][:, :, position : position + length] = k
                cache[1][:, :, position : position + length] = v
                k, v = (part[:, :, : position + length] for part in cache)
            found = F.scaled_dot_product_attention(q, k, v, is_causal=cache is None)
            return self.outward(found.transpose(1, 2).reshape(batch, length, width))

        def forward(self, x, cache=None, position=0):
            x = x + self.attend(self.norm1(x), cache, position)
            return x + self.feed(self.norm2(x))

    return Block()


def gpt(T, vocabulary, length, width, heads, layers):
    nn = T.nn

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
            self.blocks = nn.ModuleList([gpt_block(T, width, heads) for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

        def forward(self, x, caches=None, position=0):
            places = T.arange(position, position + x.shape[1])
            x = self.embedding(x) + self.positions(places)
            for i, block in enumerate(self.blocks):
                x = block(x, caches and caches[i], position)
            return self.head(self.norm(x))

    return filled(T, GPT())


def gpt_products(batch, length, vocabulary, width, heads, layers):
    rows = batch * length
    attention = Product(rows, width, (length + 1) // 2, fetched=False)  # on average, a word sees half of them
    block = [Product(rows, width, columns * width) for columns in (3, 1, 4, 4)] + 2 * [attention]
    tables = [Product(0, vocabulary, width), Product(0, length, width)]
    return [*tables, *layers * block, Product(rows, width, vocabulary)]


def gpt_token_products(length, vocabulary, width, heads, layers):
    """Of one word that follows length - 1 others; their keys and values come from memory."""
    block = [Product(1, width, columns * width) for columns in (3, 1, 4, 4)] + 2 * [Product(1, width, length)]
    return [*layers * block, Product(1, width, vocabulary)]
