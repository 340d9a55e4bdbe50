#!/bin/bash
# tests/interop/sklearn_svmlight.sh FURROW: libsvm text between Furrow and scikit-learn, both ways. Exit code 77: scikit-learn is not
# installed.
module=sklearn
. "$(dirname "$0")/setup/python_setup.sh"

# scikit-learn writes, Furrow reads; then Furrow writes and scikit-learn reads. Values are floats, so nothing may change.
$python - <<'END' || exit 1
import numpy, scipy.sparse, sklearn.datasets
random = numpy.random.RandomState(7)
x = scipy.sparse.random(500, 1000, density=0.02, format="csr", random_state=random, dtype=numpy.float64)
x.data = (random.standard_normal(len(x.data)) * 10.0 ** random.randint(-30, 30, len(x.data))).astype(numpy.float32).astype(numpy.float64)
y = random.randint(0, 2, 500)
q = numpy.sort(random.randint(1, 50, 500))
sklearn.datasets.dump_svmlight_file(x, y, "theirs.libsvm", zero_based=False, query_id=q, comment="made by scikit-learn")
scipy.sparse.save_npz("x.npz", x)
numpy.savez("yq.npz", y=y, q=q)
END
"$furrow" rows convert 'theirs.libsvm?indexing_mode=1' ours.libsvm --format libsvm --index-base 0 >/dev/null || exit 1
"$furrow" rows dump --format libsvm 'theirs.libsvm?indexing_mode=1' >theirs.dump || exit 1
"$furrow" rows dump --format libsvm ours.libsvm | cmp - theirs.dump || exit 1

$python - <<'END'
import numpy, scipy.sparse, sklearn.datasets
x, yq = scipy.sparse.load_npz("x.npz"), numpy.load("yq.npz")
a, labels, queries = sklearn.datasets.load_svmlight_file("ours.libsvm", n_features=1000, zero_based=True, query_id=True)
assert numpy.array_equal(labels, yq["y"]) and numpy.array_equal(queries, yq["q"])
assert (a.astype(numpy.float32) != x.astype(numpy.float32)).nnz == 0, "values changed"
rows = [line.split(" | ") for line in open("theirs.dump").read().splitlines()]
assert len(rows) == 500
for i, (head, features) in enumerate((r[0], r[1] if len(r) > 1 else "") for r in rows):
    label, weight, qid = head.rstrip(" |").split()
    assert (int(label), weight, int(qid)) == (yq["y"][i], "-", yq["q"][i]), (i, head)
    ours = [(int(f.split(":")[1]), numpy.float32(f.split(":")[2])) for f in features.split()]
    row = x[i]
    assert ours == sorted(zip(row.indices.tolist(), row.data.astype(numpy.float32))), i
END
