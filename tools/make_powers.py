#!/usr/bin/env python3
"""The powers of five with which Furrow reads and writes numbers, and the proof that 128 bits of them are enough.

  tools/make_powers.py table > src/base/powers_table.inc    makes the table
  tools/make_powers.py scales                               the numbers of fw_decimal_scales in src/base/powers.c
  tools/make_powers.py prove                                checks every claim of src/base/powers.h (a second)

The table has g(q) = ceil(5^q * 2^(127 - floor(log2 5^q))) for FIRST <= q <= LAST: 5^q as a number of 128 bits, rounded
up. Reading and writing form P = w * g(q) for an integer w, in place of the true T = w * 5^q * 2^(127 - ...), which is
not greater than P and less than P by less than w. What is wanted is T cut at some bit: the bits above it, and whether
all below is zero. With B = 2^(128 + s), where the cut is, the claim is

  floor(T / B) = floor(P / B), and T is a multiple of B just when P mod B < w.

It fails only if P mod B < w and T is not a multiple of B. For each q, all w of the range in question with P mod B < 2^64
are found by the Euclidean algorithm; they are next to none, and those with P mod B < w are checked with
big integers. A cut at a higher bit needs no proof of its own: its multiples are multiples of the lower one, too, which are
2^128 apart at least. No search is needed for the q near 0, where a power of five divides many w:
  0 <= q <= 27: 5^q fits 64 bits, so P is T and P mod B is a multiple of 2^64: less than w only when it is 0.
  -27 <= q < 0: T is w * 2^n / 5^-q with n >= 128. If it is not a multiple of B, it is away from the nearest one by
    2^128 / 5^27 > 2^65 at least, and P mod B is not less than w < 2^64.
That 128 bits suffice for reading was found by Mushtak and Lemire, "Fast number parsing without fallback", 2022.
"""
import sys

FIRST, LAST = -342, 340


def power(q, bits=128):
    """5^q, scaled to `bits` bits and rounded up."""
    if q >= 0:
        value = 5**q
        shift = bits - value.bit_length()
        return value << shift if shift >= 0 else -(-value >> -shift)
    value = 5**-q
    return -(-(1 << (value.bit_length() + bits - 1)) // value)


def table():
    print("/* base/powers_table.inc: made by tools/make_powers.py; 5^q from q = %d to %d. */" % (FIRST, LAST))
    for q in range(FIRST, LAST + 1):
        g = power(q)
        print("{0x%016x, 0x%016x}, /* %d */" % (g >> 64, g & (2**64 - 1), q))


def scales():
    """2^60 * 2^-i / 10^k, 10^k not above 2^-i: all integers, and their lowest bits are 0, which the kernels count on."""
    for i in range(76):
        k = floor_log10_pow2(-i)
        scale, rest = divmod(2**60 * 10**-k, 2**i)
        assert rest == 0 and 2**60 <= scale < 10 * 2**60 and scale % (2**26 if i < 47 else 8) == 0
        print("0x%016x," % scale)


def first_hit(a, m, low, high):
    """The smallest x >= 0 with low <= a * x mod m <= high (0 <= low <= high < m), or None."""
    if low == 0:
        return 0
    a %= m
    if a == 0:
        return None
    x = -(-low // a)
    if a * x <= high:
        return x
    y = first_hit(m, a, -high % a, -low % a)  # the number of times that m is passed
    return None if y is None else -(-(low + m * y) // a)


def close_calls(g, modulus, reach, low, high):
    """All x in [low, high) with g * x mod modulus < reach."""
    x = low
    while x < high:
        at = g * x % modulus
        if at >= reach:
            step = first_hit(g, modulus, modulus - at, modulus - at + reach - 1)
            if step is None:
                return
            x += step
            if x >= high:
                return
        yield x
        x += 1


def prove(what, cases, bits=128):
    """cases: (q, s, granule, low, high), w = granule * x for low <= x < high, cut at bit `bits` + s."""
    half = bits // 2
    easy = {128: 27, 64: 13}[bits]  # see above; 5^13 is the last power in 32 bits as 5^27 is in 64
    for q, s, granule, low, high in cases:
        if abs(q) <= easy:
            continue
        g = power(q, bits) * granule
        for x in close_calls(g, 1 << (bits + s), 1 << half, low, high):
            if g * x % (1 << (bits + s)) < granule * x and not exact(g * x >> (bits + s), s, granule * x, q, bits):
                sys.exit("%s: q %d, slack %d, w %d is not decided" % (what, q, s, granule * x))
    print("%s: proved" % what)


def exact(n, s, w, q, bits):
    """Is w * 5^q, in the scale of power(q, bits), the multiple n of 2^(bits + s)?"""
    if q >= 0:
        shift = bits - (5**q).bit_length()
        return n << (bits + s + max(0, -shift)) == w * 5**q << max(0, shift)
    return n * 5**-q << (bits + s) == w << ((5**-q).bit_length() + bits - 1)


def floor_log2_pow10(q):
    return q * 217706 >> 16


def floor_log10_pow2(e):
    return e * 315653 >> 20


def floor_log10_three_quarters_pow2(e):
    return (e * 315653 - 131008) >> 20


def prove_logarithms():
    for q in range(FIRST, LAST + 1):
        assert floor_log2_pow10(q) == (q + (5**q).bit_length() - 1 if q >= 0 else q - (5**-q).bit_length())
    shift = 1100
    for e in range(-shift, shift):
        unit = 10**400 << shift  # 1, in a scale that makes all of these integers
        for number, log in (
            (unit << e if e >= 0 else unit >> -e, floor_log10_pow2(e)),
            ((unit << e if e >= 0 else unit >> -e) * 3 // 4, floor_log10_three_quarters_pow2(e)),
        ):
            assert number * 10**-log >= unit if log < 0 else number >= unit * 10**log
            assert number * 10**~log < unit if log < -1 else number < unit * 10 ** (log + 1)
    print("logarithms: proved")


def shortest_cases(precision, least, greatest):
    """The products of the shortest digits of c * 2^e. w is 4c - 2, 4c or 4c + 2 followed by h zero bits; above a
    power of two, where the gap below is half as wide, it is 4c - 1, 4c or 4c + 2."""
    for e in range(least, greatest + 1):
        k = floor_log10_pow2(e)
        h = e + floor_log2_pow10(-k) + 1
        assert 1 <= h <= 4
        lowest = (1 << precision) - 1 if e > least else 1
        yield -k, 0, 2 << h, lowest, (1 << (precision + 1)) + 1
        k = floor_log10_three_quarters_pow2(e)
        h = e + floor_log2_pow10(-k) + 1
        assert 1 <= h <= 4
        yield -k, 0, 1 << h, (1 << (precision + 1)) - 1, (1 << (precision + 1)) + 3


def prove_all():
    for q in range(FIRST, LAST + 1):
        g = power(q)
        assert g.bit_length() == 128 and (0 <= q <= 27 or g % 2**64 != 0)
    prove_logarithms()
    word = 1, 1 << 63, 1 << 64
    f64 = 1 << 11, 1 << 52, 1 << 53  # subnormal ones are among these, once they are shifted up
    f32 = 1 << 40, 1 << 23, 1 << 24
    prove("reading f64", ((q, 9, *word) for q in range(-342, 309)))
    prove("reading f32", ((q, 38, *word) for q in range(-64, 39)))
    prove("17 digits of f64", ((q, 1, *f64) for q in range(-292, 341)))
    prove("9 digits of f32", ((q, 1, *f32) for q in range(-30, 54)))
    prove("shortest f64", shortest_cases(53, -1074, 971))
    prove("shortest f32", shortest_cases(24, -149, 104), 64)


if __name__ == "__main__":
    if sys.argv[1:] == ["table"]:
        table()
    elif sys.argv[1:] == ["scales"]:
        scales()
    elif sys.argv[1:] == ["prove"]:
        prove_all()
    else:
        sys.exit(__doc__)
