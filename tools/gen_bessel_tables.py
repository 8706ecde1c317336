"""Writes core/cpu/bessel_tables.h: Bessel functions, Airy's and some others as polynomials on short pieces. Needs mpmath.

A table covers an interval in pieces of one width, a power of two. On each, the function is a polynomial in s, which goes from
-1 to 1; where the piece has a zero of the function in it, times the distance from that zero (in two parts), so that the digits
do not go lost there.
"""

import sys
from pathlib import Path

import mpmath as mp

mp.mp.dps = 40
PI = mp.pi


def chebyshev(f, low, high, count):
    """The coefficients of powers of s, of the polynomial of so many that goes through f at Chebyshev's points."""
    points = [mp.cos(PI * (2 * k + 1) / (2 * count)) for k in range(count)]
    values = [f((low + high) / 2 + (high - low) / 2 * p) for p in points]
    parts = [2 * mp.fsum(v * mp.cos(PI * j * (2 * k + 1) / (2 * count)) for k, v in enumerate(values)) / count
             for j in range(count)]  # fmt: skip
    parts[0] /= 2
    powers, before, now = [mp.mpf(0)] * count, [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)]
    for j, part in enumerate(parts):
        polynomial = before if j == 0 else now
        for i, c in enumerate(polynomial):
            powers[i] += part * c
        if j > 0:
            after = [mp.mpf(0)] + [2 * c for c in now]
            for i, c in enumerate(before):
                after[i] -= c
            before, now = now, after
    return powers


def fits(f, low, high, powers):
    """Whether doubles of these coefficients are exact enough."""
    rounded = [mp.mpf(float(c)) for c in powers]
    for k in range(23):
        s = mp.mpf(2 * k - 22) / 22
        exact, found = f((low + high) / 2 + (high - low) / 2 * s), mp.polyval(rounded[::-1], s)
        if abs(found - exact) > mp.mpf(2) ** -52 * max(abs(exact), abs(rounded[0])):
            return False
    return True


def zero_in(f, low, high):
    if f(low) == 0:
        return low
    if f(low) * f(high) >= 0:
        return None
    return mp.findroot(f, (low, high), solver="anderson", tol=mp.mpf(10) ** -70)


def pieces(f, first, last, width):
    found = []
    for k in range(int(first / width), int(last / width)):
        low, high = mp.mpf(k) * width, mp.mpf(k + 1) * width
        zero = zero_in(f, low, high)

        def g(x, zero=zero):
            if zero is None:
                return f(x)
            return mp.diff(f, zero) if x == zero else f(x) / (x - zero)

        found.append((low, high, zero, g))
    count = 6
    while True:
        made = [chebyshev(g, low, high, count) for low, high, zero, g in found]
        if all(fits(g, low, high, c) for (low, high, zero, g), c in zip(found, made)):
            return [(zero, c) for (low, high, zero, g), c in zip(found, made)], count
        count += 1
        if count > 26:
            sys.exit("no polynomial of 26 coefficients will do")


def write(out, name, f, first, last, width):
    made, count = pieces(f, first, last, width)
    out.append(
        f"inline constexpr Table<{len(made)}, {count}> {name} = {{\n    {float(first)!r}, {float(1 / mp.mpf(width))!r}, {{"
    )
    for zero, powers in made:
        high = float(zero) if zero is not None else 0.0
        low = float(zero - mp.mpf(high)) if zero is not None else 0.0
        numbers = ", ".join(repr(float(c)) for c in powers)
        out.append(f"        {{{high!r}, {low!r}, {'0' if zero is not None else 'plain_piece'}, {{{numbers}}}}},")
    out.append("    }};\n")
    print(name, len(made), count, file=sys.stderr)


def amplitude(order, part):
    """P, or Q / u, of the waves that J and Y are far from 0, by u = 8 / x."""

    def f(u):
        if u == 0:
            return mp.mpf(1) if part == 0 else (4 * mp.mpf(order) ** 2 - 1) / 64
        x = 8 / u
        angle = x - PI / 4 - order * PI / 2
        scale = mp.sqrt(PI * x / 2)
        j, y = scale * mp.besselj(order, x), scale * mp.bessely(order, x)
        return j * mp.cos(angle) + y * mp.sin(angle) if part == 0 else (y * mp.cos(angle) - j * mp.sin(angle)) / u

    return f


def far(f, limit):
    """A function of x by u = 8 / x, with its limit at infinity."""
    return lambda u: limit if u == 0 else f(8 / u)


AIRY_ZETA = 2 * mp.mpf(2) ** mp.mpf(1.5) / 3  # at x = 2


def airy_right(v):
    """Ai(x) 2 sqrt(pi) x^(1/4) e^zeta, by v = 1 / zeta."""
    if v == 0:
        return mp.mpf(1)
    zeta = 1 / v
    x = (3 * zeta / 2) ** (mp.mpf(2) / 3)
    return mp.airyai(x) * 2 * mp.sqrt(PI) * x ** mp.mpf(0.25) * mp.exp(zeta)


def airy_left(part):
    """The two parts of the wave that Ai(-x) is, by v = 1 / zeta: P, and Q / v."""

    def f(v):
        if v == 0:
            return mp.mpf(1) if part == 0 else mp.mpf(5) / 72
        zeta = 1 / v
        x = (3 * zeta / 2) ** (mp.mpf(2) / 3)
        scale = mp.sqrt(PI) * x ** mp.mpf(0.25)
        a, b, angle = scale * mp.airyai(-x), scale * mp.airybi(-x), zeta - PI / 4
        return a * mp.cos(angle) - b * mp.sin(angle) if part == 0 else (a * mp.sin(angle) + b * mp.cos(angle)) / v

    return f


def k_rest(order):
    """What K is beside its logarithm, of x^2: see bessel.cpp."""

    def f(z):
        x = mp.sqrt(z)
        if order == 0:
            return mp.log(2) - mp.euler if z == 0 else mp.besselk(0, x) + mp.log(x) * mp.besseli(0, x)
        if z == 0:
            return (mp.euler - mp.mpf(1) / 2 - mp.log(2)) / 2
        return (mp.besselk(1, x) - 1 / x - mp.log(x) * mp.besseli(1, x)) / x

    return f


def i_even(order):
    """I0, or I1 / x, of x^2."""
    return lambda z: (mp.besseli(order, mp.sqrt(z)) / mp.sqrt(z) ** order) if z else mp.mpf(1) / (1 + order)


def y_rest(order):
    """What Y is beside its logarithm, of x^2."""

    def f(z):
        x = mp.sqrt(z)
        if z == 0:
            return 2 / PI * (mp.euler - mp.log(2)) if order == 0 else (2 * mp.euler - 1 - 2 * mp.log(2)) / (2 * PI)
        log = 2 / PI * mp.log(x) * mp.besselj(order, x)
        return mp.bessely(0, x) - log if order == 0 else (mp.bessely(1, x) - log + 2 / (PI * x)) / x

    return f


def quantile(w):
    """Where the upper tail of the normal distribution has the probability e^(-w^2 / 2)."""
    wanted = -w * w / 2
    x = w - mp.log(w * mp.sqrt(2 * PI)) / w
    for _ in range(30):
        tail = mp.erfc(x / mp.sqrt(2)) / 2
        step = (mp.log(tail) - wanted) * tail * mp.sqrt(2 * PI) * mp.exp(x * x / 2)
        x += step
        if abs(step) < mp.mpf(10) ** -32:
            return x
    return x


def main():
    out = [
        "// Written by tools/gen_bessel_tables.py, which says what these are.", "#pragma once", "",
        '#include "cpu/tabulated.h"', "", "namespace wisp::cpu::tables {", "", "// clang-format off",
    ]  # fmt: skip
    half, quarter = mp.mpf(0.5), mp.mpf(0.25)
    for order in (0, 1):
        write(out, f"j{order}_near", lambda x, n=order: mp.besselj(n, x), 0, 32, half)
        write(out, f"y{order}_near", lambda x, n=order: mp.bessely(n, x), 2, 32, half)
        write(out, f"y{order}_rest", y_rest(order), 0, 4, half * 4)
        write(out, f"wave{order}_p", amplitude(order, 0), 0, 1, quarter)
        write(out, f"wave{order}_q", amplitude(order, 1), 0, 1, quarter)
        scaled_i = lambda x, n=order: mp.besseli(n, x) * mp.exp(-x)
        scaled_k = lambda x, n=order: mp.besselk(n, x) * mp.exp(x)
        write(out, f"i{order}_near", scaled_i, 1 - order, 8, half * 2)
        write(out, f"i{order}_far", far(lambda x, f=scaled_i: f(x) * mp.sqrt(x), 1 / mp.sqrt(2 * PI)), 0, 1, quarter)
        write(out, f"i{order}_even", i_even(order), 0, 1, half * 2)
        write(out, f"k{order}_rest", k_rest(order), 0, 1, half * 2)
        write(out, f"k{order}_near", scaled_k, 1, 8, half)
        write(out, f"k{order}_far", far(lambda x, f=scaled_k: f(x) * mp.sqrt(x), mp.sqrt(PI / 2)), 0, 1, quarter)
    write(out, "i0_below_1", lambda x: 1 - mp.besseli(0, x) * mp.exp(-x), 0, 1, half * 2)  # exactly 1 at 0
    write(out, "airy_near", mp.airyai, -8, 2, half)
    write(out, "airy_right", airy_right, 0, mp.mpf(0.5625), half / 8)
    write(out, "airy_left_p", airy_left(0), 0, mp.mpf(0.09375), half / 16)
    write(out, "airy_left_q", airy_left(1), 0, mp.mpf(0.09375), half / 16)
    write(out, "inverse_gamma1p", lambda a: 1 / mp.gamma(a + 1), 0, 12, half * 2)
    write(out, "ndtri_near", lambda w: quantile(w) / w, 2, 8, half)
    write(out, "ndtri_far", lambda u: quantile(8 / u) / (8 / u), quarter / 2, 1, quarter / 2)
    out += ["// clang-format on", "", "}  // namespace wisp::cpu::tables", ""]
    Path(sys.argv[1] if len(sys.argv) > 1 else "core/cpu/bessel_tables.h").write_text("\n".join(out))


if __name__ == "__main__":
    main()
