"""Leading singular and eigenvectors of large matrices, found by iteration."""

from wisp import _C

__all__ = ["lobpcg", "pca_lowrank", "svd_lowrank"]

_qr, _svd, _eigh = (_C._linalg[name] for name in ("qr", "svd", "eigh"))
_randn, _cat = _C._functions["randn"], _C._functions["cat"]


def _approximate_basis(A, q, niter, M):
    """Orthonormal columns that span most of the range of A - M (Halko et al., 2009, algorithm 4.4)."""

    def apply(X, adjoint=False):
        product = (A.mH if adjoint else A) @ X
        return product if M is None else product - (M.mH if adjoint else M) @ X

    Q = _qr(apply(_randn(A.shape[-1], q, dtype=A.dtype))).Q
    for _ in range(niter):
        Q = _qr(apply(Q, adjoint=True)).Q
        Q = _qr(apply(Q)).Q
    return Q


def svd_lowrank(A, q=6, niter=2, M=None):
    """About the first q singular values and vectors (U, S, V) of A, or of A - M.

    Args:
        A: matrices.
        q: how many; a little more than the rank that matters.
        niter: iterations; more of them help where singular values fall off slowly.
        M: what is subtracted from A.

    >>> U, S, V = wisp.svd_lowrank(wisp.eye(3), q=3)
    >>> S.shape
    wisp.Size([3])
    """
    q = 6 if q is None else q
    if M is not None:
        M = M.expand_as(A)
    # The shorter side is the one projected on.
    transposed = A.shape[-2] < A.shape[-1]
    if transposed:
        A, M = A.mH, None if M is None else M.mH
    Q = _approximate_basis(A, q, niter, M)
    U, S, Vh = _svd(Q.mH @ (A if M is None else A - M), full_matrices=False)
    U, V = Q @ U, Vh.mH
    return (V, S, U) if transposed else (U, S, V)


def pca_lowrank(A, q=None, center=True, niter=2):
    """Principal components: ``svd_lowrank`` of A, whose rows are observations, less its mean row if ``center``.

    >>> U, S, V = wisp.pca_lowrank(wisp.tensor([[1., 0.], [-1., 0.]]), q=1)
    >>> S
    tensor([1.4142])
    """
    rows, columns = A.shape[-2:]
    if q is None:
        q = min(6, rows, columns)
    elif not 0 <= q <= min(rows, columns):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(rows, columns)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if center:
        A = A - A.mean(dim=-2, keepdim=True)
    return svd_lowrank(A, q, niter=niter)


# --- lobpcg


def _orthonormal(S, B):
    """A basis of the columns of S with S^T B S = I; directions that are all but lost in the others are dropped."""
    scale = S.norm(dim=0)
    S = S[:, scale > 0] / scale[scale > 0]
    gram = S.mT @ (S if B is None else B @ S)
    values, vectors = _eigh(gram)
    kept = values > values.max() * 1e-7  # Gram matrices have but half of the precision
    return S @ (vectors[:, kept] / values[kept].sqrt())


def _lobpcg_matrix(A, B, X, iK, niter, tol, largest):
    k = X.shape[-1]
    sign = -1 if largest else 1
    X, P = _orthonormal(X, B), None
    values = None
    size = A.norm()
    for step in range(niter + 1):
        # Rayleigh and Ritz: the best combinations of the columns so far.
        values, turn = _eigh(X.mT @ (A @ X) * sign)
        X = X @ turn
        BX = X if B is None else B @ X
        R = A @ X - BX * (values * sign)
        if step == niter or bool((R[:, :k].norm(dim=0) <= tol * (size + values[:k].abs())).all()):
            break
        X, R = X[:, :k], R[:, :k]
        W = R if iK is None else iK @ R
        S = _cat([X, W] if P is None else [X, W, P], dim=1)
        basis = _orthonormal(S, B)
        values, turn = _eigh(basis.mT @ (A @ basis) * sign)
        found = basis @ turn[:, :k]
        # The new direction of search is what the step added to X.
        P = found - X @ (X.mT @ (found if B is None else B @ found))
        X = found
    return values[:k] * sign, X[:, :k]


def lobpcg(A, k=None, B=None, X=None, n=None, iK=None, niter=None, tol=None, largest=None, method=None, tracker=None,
           ortho_iparams=None, ortho_fparams=None, ortho_bparams=None):  # fmt: skip
    """The k largest (or smallest) eigenvalues and eigenvectors of ``A x = lambda B x`` for symmetric A.

    Args:
        A: symmetric matrices.
        k: how many.
        B: a symmetric positive definite matrix; the identity if left out.
        X: where to start, one column per eigenvector.
        n: the number of columns to start with, if X is left out.
        iK: a preconditioner.
        niter: the most iterations; -1 for as many as it takes.
        tol: how small residuals have to be.
        largest: False for the smallest eigenvalues.
        method: "basic" or "ortho": both are accepted, and orthonormal bases are used throughout.

    >>> wisp.lobpcg(wisp.diag(wisp.arange(1., 10.)), k=1)[0]
    tensor([9.0000])
    """
    if A.shape[-1] != A.shape[-2]:
        raise ValueError("A must be a square matrix")
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = (k if n is None else n) if X is None else X.shape[-1]
    size = A.shape[-1]
    if size < 3 * n:
        raise ValueError(
            f"LPBPCG algorithm is not applicable when the number of A rows (={size})"
            f" is smaller than 3 x the number of requested eigenpairs (={n})"
        )
    niter = 1000 if niter is None or niter < 0 else niter
    tol = (1.2e-7 if str(A.dtype).endswith("float32") else 2.3e-16) ** 0.5 if tol is None else tol
    largest = True if largest is None else largest
    batch = A.shape[:-2]
    if X is None:
        X = _randn(*batch, size, n, dtype=A.dtype)
    if not batch:
        return _lobpcg_matrix(A, B, X, iK, niter, tol, largest)
    flat = [None if t is None else t.expand(*batch, *t.shape[-2:]).reshape(-1, *t.shape[-2:]) for t in (A, B, X, iK)]
    results = [
        _lobpcg_matrix(*(None if t is None else t[i] for t in flat), niter, tol, largest) for i in range(len(flat[0]))
    ]
    stack = _C._functions["stack"]
    values, vectors = (stack(list(part)) for part in zip(*results))
    return values.reshape(*batch, k), vectors.reshape(*batch, size, k)
