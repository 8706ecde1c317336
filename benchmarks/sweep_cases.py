"""What benchmarks/sweep.py measures: one line per case, `name | inputs | call`.

The names are those of the core list (conformance/core_ops.txt), a word in brackets tells variants of one name apart.
Inputs are separated by commas; those behind a semicolon never require a gradient. An input is one of the makers below
or `name = expression`. Expressions know T (the library), F (nn.functional), the number of elements N, R x C = N, an image
batch B, K, H, W of about N elements, M rows of D numbers, about N together, and a number G of matrices.
"""

import re

NAMES = ("N", "R", "C", "B", "K", "H", "W", "M", "D", "G")
SIZES = {
    size: dict(zip(NAMES, numbers))
    for size, numbers in {
        "1k": (1_000, 25, 40, 2, 8, 8, 8, 32, 32, 1),
        "100k": (100_000, 250, 400, 8, 16, 28, 28, 400, 256, 98),
        "10M": (10_000_000, 2_500, 4_000, 32, 64, 70, 70, 20_000, 512, 2_450),
    }.items()
}

# name: expression of a tensor of the shape S, which depends on the layout.
MAKERS = {
    **{n: "T.randn(S)" for n in ("x", "y", "z")},
    **{n: "T.rand(S) + 0.1" for n in ("p", "q")},  # positive
    **{n: "T.randint(1, 100, S)" for n in ("i", "j")},
    **{n: "T.rand(S) > 0.5" for n in ("a", "b")},
}

# Layouts. contiguous: every input is. strided: the first input is a transposed matrix. broadcast: the second input is a
# row, the third a column. A family says which of them make sense.
FAMILIES = {
    "creation": (
        ("contiguous",),
        """
torch.arange | | T.arange(N)
torch.zeros | | T.zeros(R, C)
torch.ones | | T.ones(R, C)
torch.full | | T.full((R, C), 1.5)
torch.eye | | T.eye(R, C)
torch.linspace | | T.linspace(0.0, 1.0, N)
torch.randn | | T.randn(R, C)
torch.rand | | T.rand(R, C)
torch.randint | | T.randint(0, 100, (R, C))
torch.empty | | T.empty(R, C)
torch.zeros_like | ; x | T.zeros_like(x)
torch.ones_like | ; x | T.ones_like(x)
torch.full_like | ; x | T.full_like(x, 1.5)
torch.rand_like | ; x | T.rand_like(x)
torch.randn_like | ; x | T.randn_like(x)
torch.empty_like | ; x | T.empty_like(x)
Tensor.new_zeros | ; x | x.new_zeros((R, C))
Tensor.new_ones | ; x | x.new_ones((R, C))
Tensor.new_full | ; x | x.new_full((R, C), 1.5)
torch.meshgrid | ; u = T.rand(R), v = T.rand(C) | T.meshgrid(u, v, indexing="ij")
torch.normal | ; x, p | T.normal(x, p)
torch.bernoulli | ; u = T.rand(R, C) | T.bernoulli(u)
torch.multinomial | ; u = T.rand(N) | T.multinomial(u, 100, replacement=True)
torch.multinomial [without replacement] | ; u = T.rand(N) | T.multinomial(u, 100)
Tensor.uniform_ | ; x | x.uniform_()
Tensor.normal_ | ; x | x.normal_()
""",
    ),
    "triangles and filling": (
        ("contiguous", "strided"),
        """
torch.tril | x | T.tril(x)
torch.triu | x | T.triu(x)
Tensor.zero_ | ; x | x.zero_()
Tensor.fill_ | ; x | x.fill_(1.5)
""",
    ),
    "pointwise, one input": (
        ("contiguous", "strided"),
        """
torch.add [number] | x | T.add(x, 1.5)
torch.mul [number] | x | T.mul(x, 1.5)
torch.pow [2] | x | T.pow(x, 2)
torch.pow [3] | x | T.pow(x, 3)
torch.pow [0.5] | p | T.pow(p, 0.5)
torch.pow [number] | p | T.pow(p, 2.5)
torch.pow [of number] | x | T.pow(2.0, x)
torch.neg | x | T.neg(x)
torch.abs | x | T.abs(x)
torch.exp | x | T.exp(x)
torch.log | p | T.log(p)
torch.log1p | p | T.log1p(p)
torch.expm1 | x | T.expm1(x)
torch.sqrt | p | T.sqrt(p)
torch.rsqrt | p | T.rsqrt(p)
torch.sin | x | T.sin(x)
torch.cos | x | T.cos(x)
torch.tanh | x | T.tanh(x)
torch.sigmoid | x | T.sigmoid(x)
torch.clamp | x | T.clamp(x, -0.5, 0.5)
torch.floor | x | T.floor(x)
torch.ceil | x | T.ceil(x)
torch.round | x | T.round(x)
torch.sign | x | T.sign(x)
torch.square | x | T.square(x)
torch.reciprocal | p | T.reciprocal(p)
torch.erf | x | T.erf(x)
torch.fmod [number] | x | T.fmod(x, 0.3)
torch.remainder [number] | x | T.remainder(x, 0.3)
torch.floor_divide [number] | x | T.floor_divide(x, 0.3)
torch.isnan | x | T.isnan(x)
torch.isfinite | x | T.isfinite(x)
torch.nan_to_num | x | T.nan_to_num(x)
torch.logical_not | a | T.logical_not(a)
torch.logical_not [float] | x | T.logical_not(x)
torch.eq [number] | x | T.eq(x, 0.5)
torch.gt [number] | x | T.gt(x, 0.5)
operator.neg | x | -x
operator.pow | x | x ** 2
operator.mod [number] | i | i % 7
operator.floordiv [number] | i | i // 7
Tensor.__radd__ | x | 1.5 + x
Tensor.__rmul__ | x | 1.5 * x
Tensor.__rsub__ | x | 1.5 - x
Tensor.__rpow__ | x | 2.0 ** x
Tensor.__rdiv__ | p | 1.5 / p
Tensor.clamp_ | ; x | x.clamp_(-0.5, 0.5)
Tensor.exp_ | ; x = T.zeros(S) - 1 | x.exp_()
Tensor.sqrt_ | ; p | p.sqrt_()
Tensor.abs | x | x.abs()
Tensor.exp | x | x.exp()
Tensor.log | p | p.log()
Tensor.sqrt | p | p.sqrt()
Tensor.pow | x | x.pow(2)
Tensor.clamp | x | x.clamp(min=0.0)
Tensor.sigmoid | x | x.sigmoid()
Tensor.tanh | x | x.tanh()
nn.functional.relu | x | F.relu(x)
nn.functional.gelu | x | F.gelu(x)
nn.functional.gelu [tanh] | x | F.gelu(x, approximate="tanh")
nn.functional.silu | x | F.silu(x)
nn.functional.leaky_relu | x | F.leaky_relu(x)
nn.functional.elu | x | F.elu(x)
nn.functional.softplus | x | F.softplus(x)
nn.functional.logsigmoid | x | F.logsigmoid(x)
nn.functional.hardtanh | x | F.hardtanh(x)
nn.functional.dropout | x | F.dropout(x, 0.5, training=True)
""",
    ),
    "pointwise, several inputs": (
        ("contiguous", "strided", "broadcast"),
        """
torch.add | x, y | T.add(x, y)
torch.add [alpha] | x, y | T.add(x, y, alpha=0.5)
torch.add [integers] | i, j | T.add(i, j)
torch.sub | x, y | T.sub(x, y)
torch.mul | x, y | T.mul(x, y)
torch.div | x, q | T.div(x, q)
torch.div [integers] | i, j | T.div(i, j)
torch.div [floor] | x, q | T.div(x, q, rounding_mode="floor")
torch.pow | p, y | T.pow(p, y)
torch.maximum | x, y | T.maximum(x, y)
torch.minimum | x, y | T.minimum(x, y)
torch.atan2 | x, y | T.atan2(x, y)
torch.fmod | x, q | T.fmod(x, q)
torch.remainder | x, q | T.remainder(x, q)
torch.remainder [integers] | i, j | T.remainder(i, j)
torch.floor_divide | x, q | T.floor_divide(x, q)
torch.floor_divide [integers] | i, j | T.floor_divide(i, j)
torch.lerp | x, y, z | T.lerp(x, y, z)
torch.lerp [number] | x, y | T.lerp(x, y, 0.3)
torch.addcmul | x, y, z | T.addcmul(x, y, z, value=0.5)
torch.addcdiv | x, y, q | T.addcdiv(x, y, q, value=0.5)
torch.where | x, y; a | T.where(a, x, y)
torch.logical_and | a, b | T.logical_and(a, b)
torch.logical_or | a, b | T.logical_or(a, b)
torch.eq | x, y | T.eq(x, y)
torch.ne | x, y | T.ne(x, y)
torch.lt | x, y | T.lt(x, y)
torch.le | x, y | T.le(x, y)
torch.gt | x, y | T.gt(x, y)
torch.ge | x, y | T.ge(x, y)
torch.eq [integers] | i, j | T.eq(i, j)
torch.isclose | x, y | T.isclose(x, y)
torch.bitwise_and | i, j | T.bitwise_and(i, j)
torch.logaddexp | x, y | T.logaddexp(x, y)
operator.add | x, y | x + y
operator.sub | x, y | x - y
operator.mul | x, y | x * y
operator.truediv | x, q | x / q
operator.pow [tensors] | p, y | p ** y
operator.floordiv | x, q | x // q
operator.mod | x, q | x % q
operator.eq | x, y | x == y
operator.lt | x, y | x < y
operator.gt | x, y | x > y
operator.and_ | a, b | a & b
operator.or_ | a, b | a | b
Tensor.add_ | ; x, y | x.add_(y)
Tensor.add_ [number] | ; x, y | x.add_(y, alpha=-0.1)
Tensor.sub_ | ; x, y | x.sub_(y)
Tensor.mul_ | ; x = T.ones(S), y = T.ones(S) | x.mul_(y)
Tensor.div_ | ; x = T.ones(S), y = T.ones(S) | x.div_(y)
Tensor.addcdiv_ | ; x, y, q | x.addcdiv_(y, q, value=0.5)
Tensor.addcmul_ | ; x, y, z | x.addcmul_(y, z, value=0.5)
Tensor.lerp_ | ; x, y | x.lerp_(y, 0.3)
torch.masked_fill | x; a | T.masked_fill(x, a, 1.5)
Tensor.masked_fill | x; a | x.masked_fill(a, 1.5)
Tensor.masked_fill_ | ; x, a | x.masked_fill_(a, 1.5)
""",
    ),
    "comparing whole tensors": (
        ("contiguous", "strided"),
        """
torch.allclose | x; y = x.clone() | T.allclose(x, y)
torch.equal | x; y = x.clone() | T.equal(x, y)
""",
    ),
    "reductions": (
        ("contiguous", "strided"),
        """
torch.sum | x | T.sum(x)
torch.sum [rows] | x | T.sum(x, 1)
torch.sum [columns] | x | T.sum(x, 0)
torch.sum [bool] | a | T.sum(a)
torch.sum [integers] | i | T.sum(i)
torch.mean | x | T.mean(x)
torch.mean [rows] | x | T.mean(x, 1)
torch.mean [columns] | x | T.mean(x, 0)
torch.std | x | T.std(x)
torch.var | x | T.var(x)
torch.var [rows] | x | T.var(x, 1)
torch.var [columns] | x | T.var(x, 0)
torch.var_mean | x | T.var_mean(x)
torch.var_mean [rows] | x | T.var_mean(x, 1)
torch.max | x | T.max(x)
torch.max [rows] | x | T.max(x, 1)
torch.max [columns] | x | T.max(x, 0)
torch.min | x | T.min(x)
torch.min [rows] | x | T.min(x, 1)
torch.argmax | x | T.argmax(x)
torch.argmax [rows] | x | T.argmax(x, 1)
torch.argmax [columns] | x | T.argmax(x, 0)
torch.argmin | x | T.argmin(x)
torch.argmin [rows] | x | T.argmin(x, 1)
torch.amax | x | T.amax(x)
torch.amax [rows] | x | T.amax(x, 1)
torch.amax [columns] | x | T.amax(x, 0)
torch.amin | x | T.amin(x)
torch.amin [rows] | x | T.amin(x, 1)
torch.prod | x = T.ones(S) | T.prod(x)
torch.prod [rows] | x = T.ones(S) | T.prod(x, 1)
torch.any | ; a = T.zeros(S) > 1 | T.any(a)
torch.any [rows] | ; a = T.zeros(S) > 1 | T.any(a, 1)
torch.all | ; a = T.zeros(S) < 1 | T.all(a)
torch.all [rows] | ; a = T.zeros(S) < 1 | T.all(a, 1)
torch.cumsum [rows] | x | T.cumsum(x, 1)
torch.cumsum [columns] | x | T.cumsum(x, 0)
torch.cumprod [rows] | x = T.ones(S) | T.cumprod(x, 1)
torch.cumprod [columns] | x = T.ones(S) | T.cumprod(x, 0)
torch.norm | x | T.norm(x)
torch.norm [1] | x | T.norm(x, 1)
torch.norm [rows] | x | T.norm(x, dim=1)
torch.norm [columns] | x | T.norm(x, dim=0)
torch.logsumexp | x | T.logsumexp(x, 1)
torch.logsumexp [columns] | x | T.logsumexp(x, 0)
torch.median | x | T.median(x)
torch.median [rows] | x | T.median(x, 1)
torch.topk | x | T.topk(x, 5, 1)
torch.sort [rows] | x | T.sort(x, 1)
torch.sort [columns] | x | T.sort(x, 0)
torch.argsort | x | T.argsort(x, 1)
torch.count_nonzero | ; a | T.count_nonzero(a)
torch.count_nonzero [rows] | ; x | T.count_nonzero(x, 1)
Tensor.sum | x | x.sum()
Tensor.mean | x | x.mean(-1)
Tensor.max | x | x.max()
Tensor.min | x | x.min()
Tensor.argmax | x | x.argmax(-1)
Tensor.std | x | x.std(-1)
Tensor.var | x | x.var(-1)
Tensor.norm | x | x.norm()
Tensor.all | ; a = T.zeros(S) < 1 | a.all()
Tensor.any | ; a = T.zeros(S) > 1 | a.any()
linalg.norm | x | T.linalg.norm(x)
linalg.vector_norm | x | T.linalg.vector_norm(x)
linalg.vector_norm [3] | x | T.linalg.vector_norm(x, 3)
""",
    ),
    "sorting and counting": (
        ("contiguous",),
        """
torch.sort | x = T.randn(N) | T.sort(x)
torch.sort [integers] | ; i = T.randint(0, 1 << 40, (N,)) | T.sort(i)
torch.topk [100] | x = T.randn(N) | T.topk(x, 100)
torch.unique | ; i = T.randint(0, 1000, (N,)) | T.unique(i)
torch.bincount | ; i = T.randint(0, 1000, (N,)) | T.bincount(i)
torch.searchsorted | ; e = T.linspace(0, 1, 1000), u = T.rand(N) | T.searchsorted(e, u)
torch.cumsum | x = T.randn(N) | T.cumsum(x, 0)
torch.cumprod | x = T.ones(N) | T.cumprod(x, 0)
Tensor.item | ; x = T.randn(1) | x.item()
""",
    ),
    "shape": (
        ("contiguous", "strided"),
        """
torch.cat [rows] | x; y | T.cat((x, y), 0)
torch.cat [columns] | x, y | T.cat((x, y), 1)
torch.stack | x, y | T.stack((x, y))
torch.stack [last] | x, y | T.stack((x, y), -1)
torch.split | x | T.split(x, 10)
torch.chunk | x | T.chunk(x, 5, 1)
torch.squeeze | x | T.squeeze(x)
torch.unsqueeze | x | T.unsqueeze(x, 0)
torch.transpose | x | T.transpose(x, 0, 1)
torch.permute | x | T.permute(x, (1, 0))
torch.reshape | x | T.reshape(x, (C, R))
torch.flatten | x | T.flatten(x)
torch.unbind | x | T.unbind(x)
torch.flip | x | T.flip(x, (0,))
torch.flip [rows] | x | T.flip(x, (1,))
torch.roll | x | T.roll(x, 3, 1)
torch.repeat_interleave | x | T.repeat_interleave(x, 2, 0)
torch.diag | x | T.diag(x)
torch.diagonal | x | T.diagonal(x)
torch.hstack | x, y | T.hstack((x, y))
torch.vstack | x, y | T.vstack((x, y))
torch.movedim | x | T.movedim(x, 0, 1)
torch.tile | x | T.tile(x, (2, 2))
torch.broadcast_to | x | T.broadcast_to(x, (2, R, C))
torch.clone | x | T.clone(x)
Tensor.reshape | x | x.reshape(-1)
Tensor.permute | x | x.permute(1, 0)
Tensor.transpose | x | x.transpose(0, 1)
Tensor.contiguous | x | x.contiguous()
Tensor.contiguous [of transposed] | x | x.t().contiguous()
Tensor.expand | x | x.expand(2, R, C)
Tensor.expand_as | x, w = T.randn(2, R, C) | x.expand_as(w)
Tensor.repeat | x | x.repeat(2, 2)
Tensor.squeeze | x | x.squeeze()
Tensor.unsqueeze | x | x.unsqueeze(-1)
Tensor.flatten | x | x.flatten()
Tensor.unfold | x | x.unfold(1, 8, 4)
Tensor.T | x | x.T
Tensor.mT | x | x.mT
Tensor.t | x | x.t()
Tensor.split | x | x.split(10)
Tensor.chunk | x | x.chunk(5)
Tensor.clone | x | x.clone()
Tensor.narrow | x | x.narrow(1, 1, 7)
Tensor.to | x | x.to(T.float64)
Tensor.float | i | i.float()
Tensor.double | x | x.double()
Tensor.long | ; x | x.long()
Tensor.int | ; x | x.int()
Tensor.bool | ; x | x.bool()
Tensor.half | x | x.half()
""",
    ),
    "views of contiguous tensors": (
        ("contiguous",),
        """
Tensor.view | x | x.view(C, R)
Tensor.view_as | x, w = T.randn(C, R) | x.view_as(w)
""",
    ),
    "indexing": (
        ("contiguous", "strided"),
        """
operator.getitem [number] | x | x[3]
operator.getitem [slice] | x | x[2:-2, ::2]
operator.getitem [slice, copied] | x | x[2:-2, ::2].contiguous()
operator.getitem [rows] | x; k = T.randint(0, R, (R,)) | x[k]
operator.getitem [columns] | x; k = T.randint(0, C, (C,)) | x[:, k]
operator.getitem [pairs] | x; k = T.randint(0, R, (N,)), l = T.randint(0, C, (N,)) | x[k, l]
operator.getitem [mask] | x; a | x[a]
torch.gather | x; k = T.randint(0, R, (R, C)) | T.gather(x, 0, k)
torch.gather [rows] | x; k = T.randint(0, C, (R, C)) | T.gather(x, 1, k)
torch.scatter | x, y; k = T.randint(0, R, (R, C)) | T.scatter(x, 0, k, y)
torch.scatter_add | x, y; k = T.randint(0, R, (R, C)) | T.scatter_add(x, 0, k, y)
torch.scatter_add [rows] | x, y; k = T.randint(0, C, (R, C)) | T.scatter_add(x, 1, k, y)
torch.index_select | x; k = T.randint(0, R, (R,)) | T.index_select(x, 0, k)
torch.index_select [columns] | x; k = T.randint(0, C, (C,)) | T.index_select(x, 1, k)
torch.masked_select | x; a | T.masked_select(x, a)
torch.nonzero | ; a | T.nonzero(a)
torch.take_along_dim | x; k = T.randint(0, C, (R, C)) | T.take_along_dim(x, k, 1)
Tensor.gather | x; k = T.randint(0, C, (R, C)) | x.gather(1, k)
Tensor.scatter_ | ; x, y, k = T.randint(0, C, (R, C)) | x.scatter_(1, k, y)
Tensor.scatter_add_ | ; x, y, k = T.randint(0, C, (R, C)) | x.scatter_add_(1, k, y)
Tensor.index_add_ | ; x, y, k = T.randint(0, R, (R,)) | x.index_add_(0, k, y)
Tensor.index_put_ | ; x, k = T.randint(0, R, (R,)), y | x.index_put_((k,), y)
Tensor.index_put_ [accumulate] | ; x, k = T.randint(0, R, (R,)), y | x.index_put_((k,), y, accumulate=True)
nn.functional.one_hot | ; k = T.randint(0, 10, (R, C // 10)) | F.one_hot(k, 10)
nn.functional.embedding | w = T.randn(R, C); k = T.randint(0, R, (R,)) | F.embedding(k, w)
nn.functional.embedding [narrow] | w = T.randn(1000, 16); k = T.randint(0, 1000, (N // 16,)) | F.embedding(k, w)
""",
    ),
    "matrices": (
        ("contiguous",),
        """
torch.matmul | x = T.randn(M, D), w = T.randn(D, D) | T.matmul(x, w)
torch.matmul [batched] | x = T.randn(G, 64, 64), w = T.randn(G, 64, 64) | T.matmul(x, w)
torch.matmul [batch by matrix] | x = T.randn(G, 64, 64), w = T.randn(64, 64) | T.matmul(x, w)
torch.matmul [attention] | x = T.randn(G, 8, 64, 32) , w = T.randn(G, 8, 64, 32) | T.matmul(x, w.transpose(-2, -1))
operator.matmul | x = T.randn(M, D), w = T.randn(D, D) | x @ w
operator.matmul [transposed] | x = T.randn(D, M), w = T.randn(D, D) | x.t() @ w.t()
torch.mm | x = T.randn(M, D), w = T.randn(D, D) | T.mm(x, w)
torch.mm [10x10] | x = T.randn(10, 10), w = T.randn(10, 10) | T.mm(x, w)
torch.bmm | x = T.randn(G, 64, 64), w = T.randn(G, 64, 64) | T.bmm(x, w)
torch.bmm [flat] | x = T.randn(G, 64, 32), w = T.randn(G, 32, 64) | T.bmm(x, w)
torch.mv | x, v = T.randn(C) | T.mv(x, v)
torch.mv [transposed] | x, v = T.randn(R) | T.mv(x.t(), v)
torch.dot | x = T.randn(N), y = T.randn(N) | T.dot(x, y)
torch.outer | u = T.randn(R), v = T.randn(C) | T.outer(u, v)
torch.einsum | x = T.randn(M, D), w = T.randn(D, D) | T.einsum("ij,jk->ik", x, w)
torch.einsum [batched] | x = T.randn(G, 64, 32), w = T.randn(G, 64, 32) | T.einsum("bik,bjk->bij", x, w)
torch.addmm | b = T.randn(D), x = T.randn(M, D), w = T.randn(D, D) | T.addmm(b, x, w)
torch.baddbmm | b = T.randn(G, 64, 64), x = T.randn(G, 64, 32), w = T.randn(G, 32, 64) | T.baddbmm(b, x, w)
torch.tensordot | x = T.randn(G, 32, 32), w = T.randn(32, 32, 16) | T.tensordot(x, w, 2)
torch.cdist | x = T.randn(R, 16), y = T.randn(C, 16) | T.cdist(x, y)
torch.cdist [1] | x = T.randn(R, 16), y = T.randn(C, 16) | T.cdist(x, y, p=1.0)
nn.functional.linear | x = T.randn(M, D), w = T.randn(D, D), b = T.randn(D) | F.linear(x, w, b)
nn.functional.linear [classifier] | x = T.randn(M, D), w = T.randn(10, D), b = T.randn(10) | F.linear(x, w, b)
nn.functional.linear [one row] | x = T.randn(1, C), w = T.randn(R, C), b = T.randn(R) | F.linear(x, w, b)
""",
    ),
    "decompositions and transforms": (
        ("contiguous",),
        """
linalg.inv | x = T.randn(G, 32, 32) + 6 * T.eye(32) | T.linalg.inv(x)
linalg.solve | x = T.randn(G, 32, 32) + 6 * T.eye(32), v = T.randn(G, 32, 8) | T.linalg.solve(x, v)
linalg.svd | x = T.randn(G, 32, 32) | T.linalg.svd(x)
linalg.qr | x = T.randn(G, 32, 32) | T.linalg.qr(x)
linalg.eigh | x = T.randn(G, 32, 32) | T.linalg.eigh(x + x.mT)
linalg.cholesky | x = T.randn(G, 32, 32) | T.linalg.cholesky(x @ x.mT + T.eye(32))
linalg.det | x = T.randn(G, 32, 32) | T.linalg.det(x)
linalg.slogdet | x = T.randn(G, 32, 32) | T.linalg.slogdet(x)
fft.fft | x = T.randn(G, 1024) | T.fft.fft(x)
fft.fft [long] | x = T.randn(N) | T.fft.fft(x)
fft.ifft | x = T.complex(T.randn(G, 1024), T.randn(G, 1024)) | T.fft.ifft(x)
fft.rfft | x = T.randn(G, 1024) | T.fft.rfft(x)
fft.irfft | x = T.complex(T.randn(G, 513), T.randn(G, 513)) | T.fft.irfft(x)
""",
    ),
    "nn.functional over rows": (
        ("contiguous", "strided"),
        """
nn.functional.softmax | x | F.softmax(x, 1)
nn.functional.softmax [columns] | x | F.softmax(x, 0)
nn.functional.softmax [10] | x = T.randn(N // 10, 10) | F.softmax(x, 1)
nn.functional.log_softmax | x | F.log_softmax(x, 1)
nn.functional.log_softmax [columns] | x | F.log_softmax(x, 0)
nn.functional.layer_norm | x, g = T.rand(C), b = T.rand(C) | F.layer_norm(x, (C,), g, b)
nn.functional.layer_norm [plain] | x | F.layer_norm(x, (C,))
nn.functional.normalize | x | F.normalize(x)
nn.functional.cosine_similarity | x, y | F.cosine_similarity(x, y)
nn.functional.cross_entropy | x; t = T.randint(0, C, (R,)) | F.cross_entropy(x, t)
nn.functional.cross_entropy [10] | x = T.randn(N // 10, 10); t = T.randint(0, 10, (N // 10,)) | F.cross_entropy(x, t)
nn.functional.cross_entropy [smoothing] | x; t = T.randint(0, C, (R,)) | F.cross_entropy(x, t, label_smoothing=0.1)
nn.functional.cross_entropy [probabilities] | x; t = T.softmax(T.randn(R, C), 1) | F.cross_entropy(x, t)
nn.functional.nll_loss | x; t = T.randint(0, C, (R,)) | F.nll_loss(x, t)
nn.functional.mse_loss | x; y | F.mse_loss(x, y)
nn.functional.mse_loss [none] | x; y | F.mse_loss(x, y, reduction="none")
nn.functional.l1_loss | x; y | F.l1_loss(x, y)
nn.functional.smooth_l1_loss | x; y | F.smooth_l1_loss(x, y)
nn.functional.binary_cross_entropy | u = T.rand(S) * 0.98 + 0.01; t = T.rand(S) | F.binary_cross_entropy(u, t)
nn.functional.binary_cross_entropy_with_logits | x; t = T.rand(S) | F.binary_cross_entropy_with_logits(x, t)
nn.functional.kl_div | x; t = T.rand(S) | F.kl_div(x, t, reduction="batchmean")
nn.functional.triplet_margin_loss | x, y, z | F.triplet_margin_loss(x, y, z)
""",
    ),
    "nn.functional over images": (
        ("contiguous",),
        """
nn.functional.softmax [channels] | x = T.randn(B, K, H, W) | F.softmax(x, 1)
nn.functional.batch_norm [training] | x = T.randn(B, K, H, W), g = T.rand(K), b = T.rand(K); m = T.zeros(K), v = T.ones(K) | F.batch_norm(x, m, v, g, b, training=True)
nn.functional.batch_norm [rows] | x, g = T.rand(C), b = T.rand(C); m = T.zeros(C), v = T.ones(C) | F.batch_norm(x, m, v, g, b, training=True)
nn.functional.batch_norm | x = T.randn(B, K, H, W), g = T.rand(K), b = T.rand(K); m = T.zeros(K), v = T.ones(K) | F.batch_norm(x, m, v, g, b)
nn.functional.group_norm | x = T.randn(B, K, H, W), g = T.rand(K), b = T.rand(K) | F.group_norm(x, 4, g, b)
nn.functional.instance_norm | x = T.randn(B, K, H, W), g = T.rand(K), b = T.rand(K) | F.instance_norm(x, weight=g, bias=b)
nn.functional.cross_entropy [images] | x = T.randn(B, K, H, W); t = T.randint(0, K, (B, H, W)) | F.cross_entropy(x, t)
nn.functional.pad | x = T.randn(B, K, H, W) | F.pad(x, (1, 1, 1, 1))
nn.functional.pad [reflect] | x = T.randn(B, K, H, W) | F.pad(x, (1, 1, 1, 1), mode="reflect")
nn.functional.conv1d | x = T.randn(B, K, H * W), w = T.randn(K, K, 3), b = T.randn(K) | F.conv1d(x, w, b, padding=1)
nn.functional.conv2d | x = T.randn(B, K, H, W), w = T.randn(K, K, 3, 3), b = T.randn(K) | F.conv2d(x, w, b, padding=1)
nn.functional.conv2d [1x1] | x = T.randn(B, K, H, W), w = T.randn(K, K, 1, 1), b = T.randn(K) | F.conv2d(x, w, b)
nn.functional.conv2d [depthwise] | x = T.randn(B, K, H, W), w = T.randn(K, 1, 3, 3), b = T.randn(K) | F.conv2d(x, w, b, padding=1, groups=K)
nn.functional.conv_transpose2d | x = T.randn(B, K, H, W), w = T.randn(K, K, 2, 2), b = T.randn(K) | F.conv_transpose2d(x, w, b, stride=2)
nn.functional.max_pool2d | x = T.randn(B, K, H, W) | F.max_pool2d(x, 2)
nn.functional.avg_pool2d | x = T.randn(B, K, H, W) | F.avg_pool2d(x, 2)
nn.functional.adaptive_avg_pool2d | x = T.randn(B, K, H, W) | F.adaptive_avg_pool2d(x, 1)
nn.functional.interpolate | x = T.randn(B, K, H, W) | F.interpolate(x, scale_factor=2)
nn.functional.interpolate [bilinear] | x = T.randn(B, K, H, W) | F.interpolate(x, scale_factor=2, mode="bilinear")
nn.functional.unfold | x = T.randn(B, K, H, W) | F.unfold(x, 3, padding=1)
nn.functional.pixel_shuffle | x = T.randn(B, K, H, W) | F.pixel_shuffle(x, 2)
nn.functional.grid_sample | x = T.randn(B, K, H, W), g = T.rand(B, H, W, 2) * 2 - 1 | F.grid_sample(x, g, align_corners=False)
nn.functional.scaled_dot_product_attention | q = T.randn(G, 4, 64, 16), k = T.randn(G, 4, 64, 16), v = T.randn(G, 4, 64, 16) | F.scaled_dot_product_attention(q, k, v)
""",
    ),
}


def parse(line):
    """(name, call, [(input, expression, may require grad)]) of one line."""
    name, inputs, call = (part.strip() for part in line.split("|", 2))
    found = []
    for part, tracked in zip((inputs + ";").split(";"), (True, False)):
        depth, at = 0, 0
        for end, letter in enumerate(part + ","):
            depth += letter in "([" or -(letter in ")]")
            if letter == "," and depth == 0:
                if word := part[at:end].strip():
                    key, _, expression = (w.strip() for w in word.partition(" = "))
                    found.append((key, expression or MAKERS[key], tracked))
                at = end + 1
    return name, call, found


def cases():
    """Every case as (family, name, layout, call, inputs)."""
    for family, (layouts, lines) in FAMILIES.items():
        for line in filter(None, lines.splitlines()):
            name, call, inputs = parse(line)
            for layout in layouts:
                if layout == "contiguous" or re.search(r"\bS\b", inputs[0][1]):
                    yield family, name, layout, call, inputs
