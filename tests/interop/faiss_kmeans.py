"""tests/interop/faiss_kmeans.py FURROW: see faiss_kmeans.sh."""

import json
import subprocess
import sys

import faiss
import numpy as np

#: shape of the vectors, clusters that they are drawn from, centroids
CASES = [((20000, 32), 50, 256), ((8000, 16), 100, 500), ((30000, 8), 1, 64), ((3000, 16), 40, 40)]
TOLERANCE = 0.01

furrow = sys.argv[1]
failures = 0
for (n, d), drawn, k in CASES:
    rng = np.random.default_rng(n)
    middles = 3 * rng.normal(size=(drawn, d))
    x = (middles[rng.integers(0, drawn, n)] + rng.normal(size=(n, d))).astype(np.float32)
    for spherical in (False, True):
        if spherical:
            x /= np.linalg.norm(x, axis=1, keepdims=True)
        np.save("x.npy", x)
        command = [furrow, "index", "kmeans", "x.npy", "--k", str(k), "--out", "c.npy", "--force", "--json"]
        out = subprocess.run(command + ["--spherical"] * spherical, check=True, capture_output=True).stdout
        ours = json.loads(out)["objective"]
        peer = faiss.Kmeans(d, k, niter=25, spherical=spherical)
        peer.train(x)
        theirs = float(peer.index.search(x, 1)[0].astype(np.float64).sum())
        seen = faiss.IndexFlatIP(d) if spherical else faiss.IndexFlatL2(d)
        seen.add(np.load("c.npy"))
        measured = float(seen.search(x, 1)[0].astype(np.float64).sum())
        worse = theirs / ours - 1 if spherical else ours / theirs - 1
        # with a centroid for each cluster the start decides, and a random one misses some
        good = worse < (-TOLERANCE if drawn == k else TOLERANCE) and abs(measured / ours - 1) < 1e-4
        failures += not good
        kind = "spherical" if spherical else "L2"
        print(f"{'ok' if good else 'not ok'} {n} x {d}, k {k}, {kind}: {ours:.6g}, by Faiss's search {measured:.6g}, Faiss {theirs:.6g}")
sys.exit(failures > 0)
