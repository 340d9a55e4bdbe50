"""tests/interop/objectives_sklearn.py FURROW: gbdt with the losses of medians, quantiles and counts, and with directions,
against scikit-learn's HistGradientBoostingRegressor with the same settings.

Rows are drawn from fixed seeds. Over several draws the mean difference of the loss of unseen rows must be at most two
standard errors, or 1 %, against Furrow; figures that `furrow eval` prints must be the same as of scikit-learn's functions.
"""
import json
import subprocess
import sys

import numpy
from sklearn import metrics
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import PoissonRegressor

furrow = sys.argv[1]
bad = []
DRAWS, ROWS = 3, 800
SAME = ["--trees", "60", "--lr", "0.1", "--leaves", "31", "--depth", "8", "--min-rows", "20", "--row-ratio", "1", "--feature-ratio", "1",
        "--reg-lambda", "0"]


def draw(seed, kind):
    random = numpy.random.RandomState(seed)
    x = random.uniform(size=(ROWS, 6))
    z = numpy.sin(5 * x[:, 0]) + 2 * x[:, 1] - x[:, 2] * x[:, 3]
    if kind == "counts":
        return x, random.poisson(numpy.exp(0.7 * z)).astype(float)
    return x, 3 * z + random.standard_t(3, ROWS) * (0.5 + x[:, 4])


def write(name, x, y):
    with open(name, "w") as out:
        for row, label in zip(x, y):
            out.write(f"{label:.9g} " + " ".join(f"{i + 1}:{value:.9g}" for i, value in enumerate(row)) + "\n")


def ours(options, test_x, test_y):
    subprocess.run([furrow, "train", "--model", "gbdt", "--train", "train", "--out", "model", "--quiet", "--force", "--threads", "1",
                    *SAME, *options], check=True)
    lines = subprocess.run([furrow, "predict", "--model", "model", "--data", "test"], check=True, stdout=subprocess.PIPE, text=True).stdout
    text = subprocess.run([furrow, "eval", "--model", "model", "--data", "test", "--json"], check=True, stdout=subprocess.PIPE)
    return numpy.array([float(line.split(",")[1]) for line in lines.split()]), json.loads(text.stdout)


def expect(name, good, message):
    print(f"{name}: {message}{'' if good else ' WRONG'}", flush=True)
    if not good:
        bad.append(name)


CASES = {
    "median": ("numbers", ["--objective", "absolute_error"], {"loss": "absolute_error"}, metrics.mean_absolute_error, "mae",
               lambda y: numpy.median(y)),
    "quantile": ("numbers", ["--objective", "quantile", "--quantile", "0.9"], {"loss": "quantile", "quantile": 0.9},
                 lambda y, p: metrics.mean_pinball_loss(y, p, alpha=0.9), "pinball", lambda y: numpy.quantile(y, 0.9)),
    "counts": ("counts", ["--objective", "poisson"], {"loss": "poisson"}, metrics.mean_poisson_deviance, "deviance",
               lambda y: numpy.mean(y)),
    "directions": ("numbers", ["--monotone", "1=+,2=-,3=-"], {"monotonic_cst": [0, 1, -1, -1, 0, 0]},
                   lambda y, p: metrics.mean_squared_error(y, p) / 2, "loss", None),
}
for name, (kind, options, settings, loss, figure, constant) in CASES.items():
    differences, peers = [], []
    for seed in range(DRAWS):
        x, y = draw(seed, kind)
        test_x, test_y = draw(100 + seed, kind)
        write("train", x, y)
        write("test", test_x, test_y)
        predicted, figures = ours(options, test_x, test_y)
        if seed == 0:
            want = loss(test_y, predicted)
            expect(name + " figure", abs(figures[figure] - want) < 1e-4 * want, f"{figures[figure]:.6f}, scikit-learn {want:.6f}")
            if constant:
                best = loss(test_y, numpy.full(ROWS, constant(test_y)))
                expect(name + " constant", abs(figures["constant_loss"] - best) < 1e-4 * best,
                       f"{figures['constant_loss']:.6f}, scikit-learn {best:.6f}")
        peer = HistGradientBoostingRegressor(max_iter=60, max_depth=8, early_stopping=False, **settings).fit(x, y)
        peers.append(loss(test_y, peer.predict(test_x)))
        differences.append(loss(test_y, predicted) - peers[-1])
    mean, error = numpy.mean(differences), numpy.std(differences, ddof=1) / DRAWS ** 0.5
    expect(name, mean < max(2 * error, 0.01 * numpy.mean(peers)),
           f"{numpy.mean(peers) + mean:.5f}, scikit-learn {numpy.mean(peers):.5f}, difference {mean:.5f}, its standard error {error:.5f}")
# The exact minimum of linear counts, with the same strength of L2: of the sum here, of the mean there.
x, y = draw(0, "counts")
test_x, test_y = draw(100, "counts")
write("train", x, y)
write("test", test_x, test_y)
for l2 in (1, 100):
    peer = metrics.mean_poisson_deviance(test_y, PoissonRegressor(alpha=l2 / ROWS, max_iter=1000, tol=1e-8).fit(x, y).predict(test_x))
    subprocess.run([furrow, "train", "--model", "linear", "--loss", "poisson", "--train", "train", "--out", "model", "--quiet", "--force",
                    "--l2", str(l2), "--scale", "none"], check=True)
    text = subprocess.run([furrow, "eval", "--model", "model", "--data", "test", "--json"], check=True, stdout=subprocess.PIPE)
    found = json.loads(text.stdout)["deviance"]
    expect(f"linear counts, L2 {l2}", abs(found - peer) < 1e-4 * peer, f"{found:.6f}, scikit-learn {peer:.6f}")
sys.exit(1 if bad else 0)
