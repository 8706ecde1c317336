"""Functions that are tabulated, against numbers that were computed with 40 digits: every table, and the places where they meet."""

import numpy as np
import pytest

import wisp
from wisp import special

INF, NAN = float("inf"), float("nan")

# name: function, points, values
KNOWN = {
    "i0e": (
        [0.0, 0.125, -0.75, 1.0, 2.5, 7.96875, 8.0, 11.5, 40.0, 700.0, 1000000.0],
        [1.0, 0.885947524030331, 0.5411652192034954, 0.46575960759364043, 0.27004644161220276, 0.14372295930277978, 0.14343178185685032, 0.1189895130094226, 0.06327827987523534, 0.015081295651531358, 0.00039894233026924577],
    ),
    "i1e": (
        [1e-09, 0.125, -0.75, 1.0, 2.5, -7.96875, 8.0, 11.5, 40.0, 700.0, 1000000.0],
        [4.999999995000001e-10, 0.05526385324160324, -0.18988779330485503, 0.20791041534970844, 0.20658464953126657, -0.1343767944847476, 0.13414249329269817, 0.11369216512817576, 0.062482229074442064, 0.015070519444716848, 0.0003989421307980308],
    ),
    "i0": (
        [0.0, 0.125, -0.75, 1.0, 2.5, 7.96875, 8.0, 11.5, 40.0, 700.0],
        [1.0, 1.0039100663533544, 1.1456467780440014, 1.2660658777520084, 3.289839144050123, 415.2506333850912, 427.5641157218048, 11746.141518920069, 1.48947747934199e+16, 1.5295933476718737e+302],
    ),
    "i1": (
        [1e-09, 0.125, -0.75, 1.0, 2.5, -7.96875, 8.0, 11.5, 40.0, 700.0],
        [5e-10, 0.06262214981123483, -0.4019924615809222, 0.565159103992485, 2.5167162452886984, -388.24728695222757, 399.8731367825601, 11223.209738510568, 1.4707396163259352e+16, 1.5285003902339006e+302],
    ),
    "modified_bessel_k0": (
        [1e-09, 0.125, 0.96875, 1.0, 2.5, 7.96875, 8.0, 11.5, 40.0, 600.0],
        [20.839197352604824, 2.20786908674497, 0.44034510802711446, 0.42102443824070834, 0.06234755320036619, 0.00015140791080452812, 0.0001464707052228154, 3.7050381659564217e-06, 8.392861100099567e-19, 1.3558285309948523e-262],
    ),
    "modified_bessel_k1": (
        [1e-09, 0.125, 0.96875, 1.0, 2.5, 7.96875, 8.0, 11.5, 40.0, 600.0],
        [999999999.9999999, 7.831118299115751, 0.6349952118533629, 0.6019072301972346, 0.07389081634774707, 0.00016064150207714876, 0.00015536921180500115, 3.862894146160998e-06, 8.497131954861039e-19, 1.356957918112806e-262],
    ),
    "scaled_modified_bessel_k0": (
        [1e-09, 0.125, 0.96875, 1.0, 2.5, 7.96875, 8.0, 11.5, 40.0, 1000000.0],
        [20.83919737344402, 2.501843440219129, 1.1601548376280577, 1.144463079806895, 0.7595486903280996, 0.43745432995601885, 0.4366230186015861, 0.36574569917668215, 0.19755558495729816, 0.0012533139806513213],
    ),
    "scaled_modified_bessel_k1": (
        [1e-09, 0.125, 0.96875, 1.0, 2.5, 7.96875, 8.0, 11.5, 40.0, 1000000.0],
        [1000000000.9999999, 8.873819586426329, 1.6729895563117514, 1.6361534862632583, 0.900174423907878, 0.4641324239987193, 0.4631490928704961, 0.38132857397123626, 0.20000996725443349, 0.0012533146073081549],
    ),
    "bessel_j0": (
        [0.0, 0.125, -1.5, 2.40625, 5.5, 7.96875, 8.0, 14.9375, 31.96875, 32.0, 45.5, 1000.0],
        [1.0, 0.9960975630419852, 0.5118276717359181, -0.000739276482217002, -0.006843869417819197, 0.17891243925300557, 0.1716508071375539, -0.001359239427739408, 0.13718039405834123, 0.13807900974655593, 0.08817609315509209, 0.024786686152420176],
    ),
    "bessel_j1": (
        [1e-09, 0.125, -1.5, 3.84375, 5.5, -7.96875, 8.0, 13.3125, 31.96875, 32.0, -45.5, 1000.0],
        [5e-10, 0.062378009134494684, -0.5579365079100996, -0.004843129233951677, -0.34143821542904335, -0.2300679000155475, 0.23463634685391463, -0.002444840828154421, -0.03091840479704587, -0.026589028475905285, -0.07981379965306677, 0.004728311907089524],
    ),
    "bessel_y0": (
        [1e-09, 0.125, 1.5, 2.0, 3.96875, 7.96875, 8.0, 13.375, 31.96875, 32.0, 45.5, 1000.0],
        [-13.266645074938387, -1.3896806251438405, 0.38244892379775886, 0.5103756726497451, -0.0044504704350488145, 0.21846395800341892, 0.22352148938756622, 0.0030340559048072165, -0.033059383212528735, -0.028742484654433298, 0.07884019170172604, 0.0047159179776228135],
    ),
    "bessel_y1": (
        [1e-09, 0.125, 1.5, 2.0, 2.1875, 7.96875, 8.0, 11.75, 31.96875, 32.0, 45.5, 1000.0],
        [-636619772.3675814, -5.199936112534775, -0.4123086269739113, -0.10703243154093754, -0.0050320587288746, -0.1656005369922039, -0.1580604617312475, -0.0001964624261987308, -0.1377140786669552, -0.13854483153272382, -0.08731514187303833, -0.024784331292351778],
    ),
    "airy_ai": (
        [-40.0, -8.03125, -8.0, -2.34375, -0.5, 0.0, 0.5, 1.96875, 2.0, 4.5, 11.0, 50.0],
        [-0.04593392343795725, -0.08169718942228049, -0.0527050503563862, -0.003956595704258935, 0.4757280916105396, 0.3550280538878172, 0.23169360648083348, 0.036617674277812824, 0.03492413042327438, 0.00033025032351430896, 4.2262758649603595e-12, 4.5849417240748285e-104],
    ),
    "ndtri": (
        [1e-300, 1e-100, 1e-14, 0.0009765625, 0.125, 0.1328125, 0.25, 0.4375, 0.75, 0.869140625, 0.875, 0.9990234375],
        [-37.0470962993612, -21.273453560965326, -7.650628092935269, -3.0972690781987846, -1.150349380376008, -1.1131942771609287, -0.6744897501960817, -0.1573106846101707, 0.6744897501960817, 1.122338011702166, 1.150349380376008, 3.0972690781987846],
    ),
}  # fmt: skip

SHAPES, BOUNDS = zip(*[(0.25, 0.5), (0.5, 1.0), (2.5, 1.25), (2.5, 7.5), (11.5, 3.25), (11.5, 30.0), (20.0, 12.0), (20.0, 45.0), (80.0, 75.5), (80.0, 20.0), (80.0, 150.0), (0.001, 0.001953125), (3.0, 400.0)])  # fmt: skip
LOWER = [0.8464864041916775, 0.8427007929497149, 0.2235049288766773, 0.9896376620842136, 0.0002925305282442675, 0.9999617944204077, 0.021279769383026628, 0.9999897629535589, 0.3172458296196668, 4.617199456320906e-24, 0.9999999998639066, 0.9943521282860749, 1.0]  # fmt: skip
UPPER = [0.15351359580832247, 0.15729920705028513, 0.7764950711233227, 0.010362337915786437, 0.9997074694717557, 3.8205579592298964e-05, 0.9787202306169733, 1.0237046441079244e-05, 0.6827541703803333, 1.0, 1.3609335529311406e-10, 0.005647871713925076, 1.5398155074540276e-169]  # fmt: skip
POWERS, STARTS = zip(*[(1.5, 0.125), (2.0, 1.0), (3.25, 4.5), (6.5, 0.75), (12.0, 2.5), (1.0625, 20.0)])
ZETA = [25.01730935051015, 1.6449340668482264, 0.019282011903632035, 6.5158215092957334, 1.7089167198843548e-05, 13.288919198959297]  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_values_are_exact_almost_to_the_last_digit(name):
    points, values = KNOWN[name]
    found = getattr(special, name)(wisp.tensor(points, dtype=wisp.float64)).numpy()
    # Far out, the last digit of a point decides: exponentials and waves of it multiply it.
    sensitive = np.maximum(1, np.abs(points)) if name[0] != "a" else np.maximum(1, np.abs(points) ** 1.5)
    sensitive = np.ones(len(points)) if name in ("i0e", "i1e", "ndtri") or "scaled" in name else sensitive
    scale = np.abs(values) if name[:8] != "bessel_j" and name[:8] != "bessel_y" else np.maximum(np.abs(values), 0.03)
    assert (np.abs(found - values) <= 2e-15 * sensitive * scale).all(), (found - values) / scale


@pytest.mark.parametrize("name", KNOWN)
def test_floats_are_rounded_doubles(name):
    points = wisp.tensor(KNOWN[name][0], dtype=wisp.float64).float()
    points = points[points != 0] if name == "ndtri" else points
    f = getattr(special, name)
    single, double = f(points).numpy(), f(points.double()).numpy()
    np.testing.assert_allclose(single, double.astype(np.float32), 3e-7)


@pytest.mark.parametrize("zero", [2.404825557695773, 5.520078110286311, 30.634606468431976])
def test_digits_stay_near_the_zeros_of_j0(zero):
    x = wisp.tensor([zero + 2.0**-20], dtype=wisp.float64)
    slope = -special.bessel_j1(wisp.tensor([zero], dtype=wisp.float64))
    curved = 1 - 2.0**-21 / zero  # J0'' = -J0 - J0' / x
    np.testing.assert_allclose(special.bessel_j0(x).numpy(), (slope * 2.0**-20 * curved).numpy(), 1e-9)


def test_edges():
    x = wisp.tensor([0.0, INF, -INF, NAN, -1.0], dtype=wisp.float64)
    expected = {
        "i0e": [1, 0, 0, NAN, 0.46575960759364043], "i1e": [0, 0, -0.0, NAN, -0.2079104153497085],
        "i0": [1, INF, INF, NAN, 1.2660658777520082], "i1": [0, INF, -INF, NAN, -0.565159103992485],
        "bessel_j0": [1, NAN, NAN, NAN, 0.7651976865579666], "bessel_j1": [0, NAN, NAN, NAN, -0.44005058574493355],
        "bessel_y0": [-INF, NAN, NAN, NAN, NAN], "bessel_y1": [-INF, NAN, NAN, NAN, NAN],
        "modified_bessel_k0": [INF, 0, NAN, NAN, NAN], "modified_bessel_k1": [INF, 0, NAN, NAN, NAN],
        "scaled_modified_bessel_k0": [INF, 0, NAN, NAN, NAN], "airy_ai": [0.3550280538878172, NAN, NAN, NAN, 0.5355608832923522],
        "ndtri": [-INF, NAN, NAN, NAN, NAN],
    }  # fmt: skip
    for name, values in expected.items():
        np.testing.assert_allclose(getattr(special, name)(x).numpy(), values, 1e-15, err_msg=name)
    assert special.ndtri(wisp.tensor([1.0, 0.5], dtype=wisp.float64)).tolist() == [INF, 0.0]


def test_incomplete_gamma_functions():
    a, x = (wisp.tensor(v, dtype=wisp.float64) for v in (SHAPES, BOUNDS))
    np.testing.assert_allclose(wisp.igamma(a, x).numpy(), LOWER, 1e-13)
    np.testing.assert_allclose(wisp.igammac(a, x).numpy(), UPPER, 1e-13)
    kept = np.array(LOWER) > 1e-30
    np.testing.assert_allclose(wisp.igamma(a.float(), x.float()).numpy()[kept], np.array(LOWER)[kept], 2e-6)
    kept = np.array(UPPER) > 1e-30
    np.testing.assert_allclose(wisp.igammac(a.float(), x.float()).numpy()[kept], np.array(UPPER)[kept], 2e-6)


def test_incomplete_gamma_functions_of_a_large_shape_and_a_small_bound():
    a, x = wisp.tensor(
        [[25.5, 1e-10], [12.25, 1e-20], [40.0, 1e-6], [100.0, 0.125], [13.0, 0.001]], dtype=wisp.float64
    ).T
    lower = [1.2704438427101051e-281, 1.1074614278949101e-254, 1.2256162434046364e-288, 4.647813096608842e-249,
             1.6044138824289416e-49]  # fmt: skip
    np.testing.assert_allclose(wisp.igamma(a, x).numpy(), lower, 3e-13)
    assert wisp.igammac(a, x).tolist() == [1.0] * 5


@pytest.mark.parametrize("dtype", [wisp.float32, wisp.float64])
def test_derivatives_of_incomplete_gamma_functions_of_large_arguments(dtype):
    given = [[8192.0, 8300.0], [65536.0, 65000.0], [1048576.0, 1050000.0], [500.0, 480.0], [0.5, 0.25]]
    density = [0.0021479936606143106, 0.00017341474188843894, 0.0001480719934193486, 0.012319344669927745,
               0.8787825789354448]  # fmt: skip
    a, x = wisp.tensor(given, dtype=dtype).T
    x.requires_grad_()
    for function, sign in ((wisp.igamma, 1), (wisp.igammac, -1)):
        (slope,) = wisp.autograd.grad(function(a, x).sum(), x)
        np.testing.assert_allclose(slope.numpy(), np.array(density) * sign, 1e-7 if dtype == wisp.float32 else 2e-9)


def test_zeta():
    s, q = (wisp.tensor(v, dtype=wisp.float64) for v in (POWERS, STARTS))
    np.testing.assert_allclose(special.zeta(s, q).numpy(), ZETA, 2e-15)
    np.testing.assert_allclose(special.zeta(s.float(), q.float()).numpy(), ZETA, 2e-7)


@pytest.mark.parametrize("dtype", [wisp.float16, wisp.bfloat16, wisp.float32, wisp.float64])
def test_frexp_takes_every_number_apart(dtype):
    x = wisp.tensor([0.0, -0.0, 1.0, -3.0, 6e-8, 1e-40, 5e-324, 0.75, INF, -INF, NAN, 60000.0], dtype=wisp.float64).to(
        dtype
    )
    mantissa, exponent = wisp.frexp(x)
    expected = np.frexp(x.double().numpy())
    np.testing.assert_array_equal(mantissa.double().numpy(), expected[0])
    np.testing.assert_array_equal(exponent.numpy(), expected[1])
