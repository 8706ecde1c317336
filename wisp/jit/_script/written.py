"""Functions of numbers that are no builtins: scripts compile them from here."""

import math


def comb(n: int, k: int):
    """In how many ways k of n things can be taken."""
    if n < 0 or k < 0:
        raise ValueError("comb(): n and k must be non-negative integers")
    found = 1
    for i in range(min(k, n - k)):
        found = found * (n - i) // (i + 1)
    return found if k <= n else 0


def perm(n: int, k: int):
    """The same, if their order counts."""
    if n < 0 or k < 0:
        raise ValueError("perm(): n and k must be non-negative integers")
    found = 1
    for i in range(k):
        found *= n - i
    return found if k <= n else 0


def isqrt(n: int):
    """The largest integer whose square is not larger than n."""
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    found = int(math.sqrt(n))
    while found * found > n:
        found -= 1
    while (found + 1) * (found + 1) <= n:
        found += 1
    return found


def lcm(a: int, b: int):
    """The least common multiple."""
    return 0 if a == 0 or b == 0 else abs(a // math.gcd(a, b) * b)


def isclose(a, b, rel_tol=1e-9, abs_tol=0.0):
    """Whether two numbers are nearly the same."""
    if a == b:
        return True
    if math.isinf(a) or math.isinf(b):
        return False
    return abs(a - b) <= max(rel_tol * max(abs(a), abs(b)), abs_tol)


def rect(r, phi):
    """The complex number of this length and angle."""
    return complex(r * math.cos(phi), r * math.sin(phi))


def conjugate(z):
    """The complex number with the other sign of its imaginary part."""
    return complex(z.real, -z.imag)
