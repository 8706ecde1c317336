"""Small networks of many kinds: each function makes a module and its loss in either library (T), at sizes of an everyday script."""

from workload_models import numbers, words


def sequence(T, *layers):
    return T.nn.Sequential(*layers)


def classified(T, model, x, classes):
    """The loss of a network that tells images, texts or rows apart."""
    y = words(T, 2, classes, x.shape[0])
    return model, lambda: T.nn.functional.cross_entropy(model(x), y)


def images(T, batch, channels, *sizes):
    return numbers(T, 1, batch, channels, *sizes)


# --- images


def plain_cnn(T):
    nn, layers, given = T.nn, [], 3
    for width in (32, 64, 128):
        layers += [nn.Conv2d(given, width, 3, padding=1), nn.ReLU(inplace=True)]
        layers += [nn.Conv2d(width, width, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2)]
        given = width
    head = [nn.Flatten(), nn.Linear(128 * 16, 256), nn.ReLU(), nn.Dropout(0.5), nn.Linear(256, 10)]
    return classified(T, sequence(T, *layers, *head), images(T, 32, 3, 32, 32), 10)


def separable(T, given, made, stride, activation):
    nn = T.nn
    depthwise = nn.Conv2d(given, given, 3, stride, 1, groups=given, bias=False)
    return [
        depthwise,
        nn.BatchNorm2d(given),
        activation(),
        nn.Conv2d(given, made, 1, bias=False),
        nn.BatchNorm2d(made),
        activation(),
    ]


def depthwise_cnn(T):
    nn, layers, given = T.nn, [T.nn.Conv2d(3, 32, 3, 2, 1), T.nn.ReLU6()], 32
    for width, stride in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1)):
        layers += separable(T, given, width, stride, nn.ReLU6)
        given = width
    model = sequence(T, *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 10))
    return classified(T, model, images(T, 16, 3, 96, 96), 10)


def inverted_cnn(T):
    nn = T.nn

    def block(width):
        wide = [nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width), nn.SiLU()]
        return sequence(T, *wide, *separable(T, 4 * width, width, 1, nn.SiLU))

    model = sequence(
        T, nn.Conv2d(3, 32, 3, 2, 1), block(32), block(32), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)
    )
    return classified(T, model, images(T, 16, 3, 64, 64), 10)


def residual_cnn(T, norm):
    nn = T.nn

    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            convs = [nn.Conv2d(64, 64, 3, 1, 1) for _ in range(2)]
            self.inner = sequence(T, norm(64), nn.ReLU(), convs[0], norm(64), nn.ReLU(), convs[1])

        def forward(self, x):
            return x + self.inner(x)

    blocks = [Residual() for _ in range(3)]
    model = sequence(T, nn.Conv2d(3, 64, 3, 1, 1), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    return classified(T, model, images(T, 16, 3, 32, 32), 10)


def dense_cnn(T):
    nn, F = T.nn, T.nn.functional

    class Dense(nn.Module):
        def __init__(self, given, grown):
            super().__init__()
            self.norm, self.conv = nn.BatchNorm2d(given), nn.Conv2d(given, grown, 3, 1, 1, bias=False)

        def forward(self, x):
            return T.cat([x, self.conv(F.relu(self.norm(x)))], 1)

    layers = [nn.Conv2d(3, 24, 3, 1, 1), *(Dense(24 + 12 * i, 12) for i in range(6))]
    model = sequence(
        T, *layers, nn.BatchNorm2d(96), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(96, 10)
    )
    return classified(T, model, images(T, 16, 3, 32, 32), 10)


def modern_cnn(T):
    nn, F = T.nn, T.nn.functional

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.depthwise, self.norm = nn.Conv2d(width, width, 7, 1, 3, groups=width), nn.LayerNorm(width)
            self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            rows = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
            return x + self.narrow(F.gelu(self.wide(rows))).permute(0, 3, 1, 2)

    blocks = [Block(64) for _ in range(3)]
    model = sequence(T, nn.Conv2d(3, 64, 4, 4), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    return classified(T, model, images(T, 16, 3, 96, 96), 10)


def u_net(T):
    nn = T.nn

    def twice(given, made):
        layers = []
        for channels in (given, made):
            layers += [nn.Conv2d(channels, made, 3, padding=1), nn.BatchNorm2d(made), nn.ReLU(inplace=True)]
        return sequence(T, *layers)

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down1, self.down2, self.bottom, self.pool = twice(3, 16), twice(16, 32), twice(32, 64), nn.MaxPool2d(2)
            self.up2, self.join2 = nn.ConvTranspose2d(64, 32, 2, 2), twice(64, 32)
            self.up1, self.join1 = nn.ConvTranspose2d(32, 16, 2, 2), twice(32, 16)
            self.head = nn.Conv2d(16, 2, 1)

        def forward(self, x):
            a = self.down1(x)
            b = self.down2(self.pool(a))
            joined = self.join2(T.cat([self.up2(self.bottom(self.pool(b))), b], 1))
            return self.head(self.join1(T.cat([self.up1(joined), a], 1)))

    model, x, y = UNet(), images(T, 4, 3, 96, 96), words(T, 2, 2, 4, 96, 96)
    return model, lambda: nn.functional.cross_entropy(model(x), y)


def generator(T):
    nn, layers = T.nn, []
    for given, made, stride, padding in ((64, 256, 1, 0), (256, 128, 2, 1), (128, 64, 2, 1)):
        layers += [nn.ConvTranspose2d(given, made, 4, stride, padding, bias=False), nn.BatchNorm2d(made), nn.ReLU(True)]
    model, x = sequence(T, *layers, nn.ConvTranspose2d(64, 3, 4, 2, 1, bias=False), nn.Tanh()), images(T, 32, 64, 1, 1)
    return model, lambda: model(x).square().mean()


def discriminator(T):
    nn = T.nn
    first = [nn.Conv2d(3, 64, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, True)]
    second = [nn.Conv2d(64, 128, 4, 2, 1, bias=False), nn.BatchNorm2d(128), nn.LeakyReLU(0.2, True)]
    model, x = sequence(T, *first, *second, nn.Conv2d(128, 1, 4, 2, 1), nn.Sigmoid()), images(T, 32, 3, 32, 32)
    return model, lambda: nn.functional.binary_cross_entropy(model(x), T.ones(32, 1, 4, 4))


def super_resolution(T):
    nn, layers, given = T.nn, [], 1
    for width, window in ((64, 5), (64, 3), (32, 3)):
        layers += [nn.Conv2d(given, width, window, 1, window // 2), nn.ReLU()]
        given = width
    model = sequence(T, *layers, nn.Conv2d(32, 9, 3, 1, 1), nn.PixelShuffle(3))
    x, y = images(T, 4, 1, 48, 48), numbers(T, 2, 4, 1, 144, 144)
    return model, lambda: nn.functional.mse_loss(model(x), y)


def style_transfer(T):
    nn, layers, given = T.nn, [], 3
    for window in (9, 3, 3):
        layers += [
            nn.ReflectionPad2d(window // 2),
            nn.Conv2d(given, 32, window),
            nn.InstanceNorm2d(32, affine=True),
            nn.ReLU(),
        ]
        given = 32
    model, x = (
        sequence(T, *layers, nn.Upsample(scale_factor=2), nn.Conv2d(32, 3, 3, padding=1)),
        images(T, 2, 3, 64, 64),
    )
    return model, lambda: model(x).abs().mean()


def volumes(T):
    nn = T.nn
    layers = [
        nn.Conv3d(1, 8, 3, padding=1),
        nn.BatchNorm3d(8),
        nn.ReLU(),
        nn.MaxPool3d(2),
        nn.Conv3d(8, 16, 3, padding=1),
        nn.ReLU(),
    ]
    model = sequence(T, *layers, nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(16, 3))
    return classified(T, model, images(T, 4, 1, 24, 24, 24), 3)


# --- attention


def encoder(T, width, layers, **options):
    nn = T.nn
    layer = nn.TransformerEncoderLayer(width, width // 64, 4 * width, batch_first=True, **options)
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)


def vision_transformer(T):
    nn = T.nn

    class Vision(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches, self.places = nn.Conv2d(3, 192, 8, 8), nn.Parameter(T.zeros(1, 64, 192))
            self.encoder, self.head = encoder(T, 192, 4, activation="gelu", norm_first=True), nn.Linear(192, 10)

        def forward(self, x):
            return self.head(self.encoder(self.patches(x).flatten(2).transpose(1, 2) + self.places).mean(1))

    return classified(T, Vision(), images(T, 8, 3, 64, 64), 10)


def text_encoder(T):
    nn, text, mask = T.nn, words(T, 1, 1000, 16, 64), T.arange(64).expand(16, 64) >= 50

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.encoder, self.head = nn.Embedding(1000, 256), encoder(T, 256, 2), nn.Linear(256, 2)

        def forward(self, text):
            return self.head(self.encoder(self.words(text), src_key_padding_mask=mask).mean(1))

    return classified(T, Reader(), text, 2)


def translator(T):
    nn, given, wanted = T.nn, words(T, 1, 500, 16, 32), words(T, 2, 500, 16, 33)
    mask = nn.Transformer.generate_square_subsequent_mask(32)
    model = nn.ModuleList(
        [nn.Transformer(128, 4, 2, 2, 512, batch_first=True), nn.Embedding(500, 128), nn.Linear(128, 500)]
    )

    def loss():
        both, embed, head = model
        found = head(both(embed(given), embed(wanted[:, :-1]), tgt_mask=mask, tgt_is_causal=True))
        return nn.functional.cross_entropy(found.flatten(0, 1), wanted[:, 1:].flatten())

    return model, loss


def gated_decoder(T, width=256, heads=8, wide=688, length=64):
    """Rotary positions, RMS norms and gated linear units, written out."""
    nn, F, half = T.nn, T.nn.functional, width // heads // 2
    angles = T.arange(length)[:, None] * T.arange(2 * half)[None] / 100.0
    cos, sin, x = angles.cos(), angles.sin(), numbers(T, 1, 8, length, width)

    def turned(t):
        return t * cos + T.cat([-t[..., half:], t[..., :half]], -1) * sin

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            shapes = {"q": (width, width), "k": (width, width), "v": (width, width), "out": (width, width)}
            shapes |= {"gate": (width, wide), "up": (width, wide), "down": (wide, width)}
            self.maps = nn.ModuleDict({name: nn.Linear(*shape, bias=False) for name, shape in shapes.items()})
            self.scales = nn.ParameterList([nn.Parameter(T.ones(width)) for _ in range(2)])

        def normed(self, x, i):
            return x * T.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scales[i]

        def forward(self, x):
            y, at = self.normed(x, 0), self.maps
            q, k, v = (at[name](y).view(*x.shape[:2], heads, -1).transpose(1, 2) for name in "qkv")
            seen = F.scaled_dot_product_attention(turned(q), turned(k), v, is_causal=True)
            x = x + at["out"](seen.transpose(1, 2).reshape(x.shape))
            y = self.normed(x, 1)
            return x + at["down"](F.silu(at["gate"](y)) * at["up"](y))

    model = sequence(T, Block(), Block())
    return model, lambda: model(x).square().mean()


# --- sequences


def recurrent(T, kind, batch, length, **options):
    nn, text = T.nn, words(T, 1, 1000, batch, length)

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.layer = nn.Embedding(1000, 64), getattr(nn, kind)(64, 64, batch_first=True, **options)
            self.head = nn.LazyLinear(5)

        def forward(self, text):
            return self.head(self.layer(self.words(text))[0].mean(1))

    model = Reader()
    model(text)
    return classified(T, model, text, 5)


def cell_by_cell(T):
    nn, x = T.nn, numbers(T, 1, 30, 16, 32)
    model = nn.ModuleList([nn.LSTMCell(32, 64), nn.Linear(64, 1)])

    def loss():
        (cell, head), state, found = model, (T.zeros(16, 64), T.zeros(16, 64)), []
        for step in x:
            state = cell(step, state)
            found.append(head(state[0]))
        return T.stack(found).square().mean()

    return model, loss


def text_cnn(T):
    nn, F, text = T.nn, T.nn.functional, words(T, 1, 5000, 32, 60)

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.head = nn.Embedding(5000, 100), nn.Linear(192, 2)
            self.convs = nn.ModuleList([nn.Conv1d(100, 64, window) for window in (3, 4, 5)])

        def forward(self, text):
            x = self.words(text).transpose(1, 2)
            return self.head(F.dropout(T.cat([F.relu(conv(x)).amax(2) for conv in self.convs], 1), 0.5, self.training))

    return classified(T, Reader(), text, 2)


def dilated_waves(T):
    nn, F, x = T.nn, T.nn.functional, numbers(T, 1, 4, 1, 1024)

    class Block(nn.Module):
        def __init__(self, dilation):
            super().__init__()
            self.gates, self.out = nn.Conv1d(32, 64, 2, dilation=dilation), nn.Conv1d(32, 32, 1)

        def forward(self, x):
            a, b = self.gates(F.pad(x, (self.gates.dilation[0], 0))).chunk(2, 1)
            return x + self.out(T.tanh(a) * T.sigmoid(b))

    model = sequence(T, nn.Conv1d(1, 32, 1), *(Block(2**i) for i in range(6)), nn.Conv1d(32, 16, 1))
    return model, lambda: model(x).square().mean()


def speech(T):
    nn, x = T.nn, numbers(T, 1, 80, 8, 40)
    model, lengths = (
        nn.ModuleList([nn.LSTM(40, 64, bidirectional=True), nn.Linear(128, 30)]),
        (T.full((8,), 80), T.full((8,), 15)),
    )
    text = words(T, 2, 29, 8, 15) + 1

    def loss():
        layer, head = model
        return nn.functional.ctc_loss(head(layer(x)[0]).log_softmax(2), text, *lengths)

    return model, loss


# --- rows, graphs, the rest


def deep_rows(T):
    nn, layers = T.nn, []
    for _ in range(4):
        layers += [nn.Linear(256, 256), nn.LayerNorm(256), nn.GELU(), nn.Dropout(0.1)]
    model, x = sequence(T, *layers), numbers(T, 1, 64, 256)
    return model, lambda: model(x).square().mean()


def normed_rows(T):
    nn, layers, given = T.nn, [], 100
    for _ in range(2):
        layers += [nn.Linear(given, 200), nn.BatchNorm1d(200), nn.ReLU()]
        given = 200
    return classified(T, sequence(T, *layers, nn.Linear(200, 10)), numbers(T, 1, 128, 100), 10)


def double_rows(T):
    nn = T.nn
    model = sequence(T, nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 1)).double()
    x = numbers(T, 1, 256, 64).double()
    return model, lambda: model(x).square().mean()


def variational(T):
    nn, F, x = T.nn, T.nn.functional, numbers(T, 1, 128, 784).sigmoid()
    shapes = ((784, 400), (400, 20), (400, 20), (20, 400), (400, 784))
    model = nn.ModuleList([nn.Linear(*shape) for shape in shapes])

    def loss():
        hide, means, spreads, show, paint = model
        hidden = F.relu(hide(x))
        mean, spread = means(hidden), spreads(hidden)
        code = mean + T.randn_like(mean) * T.exp(0.5 * spread)
        painted = T.sigmoid(paint(F.relu(show(code))))
        return F.binary_cross_entropy(painted, x, reduction="sum") - 0.5 * T.sum(
            1 + spread - mean.pow(2) - spread.exp()
        )

    return model, loss


def contrasts(T):
    nn, F = T.nn, T.nn.functional
    model, a, b = (
        sequence(T, nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 64)),
        numbers(T, 1, 256, 128),
        numbers(T, 2, 256, 128),
    )
    return model, lambda: F.cross_entropy(F.normalize(model(a)) @ F.normalize(model(b)).T / 0.1, T.arange(256))


def graph(T, nodes=2000, edges=10_000):
    nn, F, x, labels = T.nn, T.nn.functional, numbers(T, 1, nodes, 64), words(T, 2, 7, nodes)
    model, begins, ends = (
        nn.ModuleList([nn.Linear(64, 64), nn.Linear(64, 7)]),
        words(T, 3, nodes, edges),
        words(T, 4, nodes, edges),
    )

    def spread(h):
        return T.zeros(nodes, h.shape[1]).index_add(0, ends, h[begins])

    def loss():
        first, second = model
        return F.cross_entropy(spread(second(F.relu(spread(first(x))))), labels)

    return model, loss


def word_vectors(T):
    nn, F = T.nn, T.nn.functional
    model = nn.ModuleList([nn.Embedding(5000, 100), nn.Embedding(5000, 100)])
    centre, near, far = words(T, 1, 5000, 256), words(T, 2, 5000, 256), words(T, 3, 5000, 256, 5)

    def loss():
        inner, outer = model
        found = F.logsigmoid((inner(centre) * outer(near)).sum(1))
        return -(found + F.logsigmoid(-(outer(far) @ inner(centre).unsqueeze(2)).squeeze(2)).sum(1)).mean()

    return model, loss


def gaussian_process(T):
    model, x, y = T.nn.ParameterList([T.nn.Parameter(T.tensor(1.0))]), numbers(T, 1, 100, 3), numbers(T, 2, 100, 1)

    def loss():
        kernel = T.exp(-(T.cdist(x, x) ** 2) / model[0] ** 2) + 0.1 * T.eye(100)
        factor = T.linalg.cholesky(kernel)
        return (y.T @ T.cholesky_solve(y, factor)).sum() + 2 * factor.diagonal().log().sum()

    return model, loss


CASES = {
    "plain CNN": plain_cnn,
    "depthwise CNN": depthwise_cnn,
    "inverted residuals, SiLU": inverted_cnn,
    "residual CNN, batch norm": lambda T: residual_cnn(T, T.nn.BatchNorm2d),
    "residual CNN, group norm": lambda T: residual_cnn(T, lambda width: T.nn.GroupNorm(8, width)),
    "dense CNN": dense_cnn,
    "depthwise 7x7 and layer norm": modern_cnn,
    "U-Net": u_net,
    "generator of images": generator,
    "discriminator of images": discriminator,
    "super-resolution": super_resolution,
    "style transfer": style_transfer,
    "3-D convolutions": volumes,
    "vision transformer": vision_transformer,
    "text encoder with padding": text_encoder,
    "translator": translator,
    "rotary decoder, gated": gated_decoder,
    "GRU": lambda T: recurrent(T, "GRU", 32, 40),
    "LSTM, both directions": lambda T: recurrent(T, "LSTM", 32, 30, bidirectional=True),
    "RNN": lambda T: recurrent(T, "RNN", 16, 50),
    "LSTM, cell by cell": cell_by_cell,
    "CNN of texts": text_cnn,
    "dilated convolutions of waves": dilated_waves,
    "speech, CTC": speech,
    "rows, layer norm and dropout": deep_rows,
    "rows, batch norm": normed_rows,
    "rows, float64": double_rows,
    "variational autoencoder": variational,
    "contrastive loss": contrasts,
    "graph network": graph,
    "word vectors": word_vectors,
    "Gaussian process": gaussian_process,
}
