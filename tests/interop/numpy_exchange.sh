#!/bin/bash
# tests/interop/numpy_exchange.sh FURROW: arrays between Furrow and NumPy, sparse matrices between Furrow and SciPy, both ways and
# bit for bit. Exit code 77: SciPy is not installed.
module=scipy
. "$(dirname "$0")/setup/python_setup.sh"

# They write.
$python - <<'END' || exit 1
import numpy as np, scipy.sparse as sp, struct
random = np.random.RandomState(11)
def reals(n, t):
    x = (random.standard_normal(n) * 10.0 ** random.randint(-30, 30, n)).astype(t)
    x[:5] = [0.0, -0.0, np.inf, -np.inf, np.nan]
    return x
for t in ("f4", "f8"):
    np.save("dense_%s.npy" % t, reals(60, t).reshape(12, 5))
for t in ("i4", "i8", "u1", "i2"):
    np.save("dense_%s.npy" % t, random.randint(-100, 100, 60).astype(t).reshape(12, 5))
np.save("dense_big.npy", reals(60, ">f4").reshape(12, 5))
with open("version2.npy", "wb") as f:
    np.lib.format.write_array(f, reals(60, "f4").reshape(12, 5), version=(2, 0))
np.save("named.npy", reals(60, "f4").reshape(12, 5))
np.save("named.npy.ids.npy", np.arange(12, dtype="i8")[::-1] * 1000003)
for t in ("f4", "f8", "i4", "i8"):
    m = sp.random(9, 4000, density=0.01, format="csr", random_state=random)
    m.data = reals(m.nnz, t) if t[0] == "f" else random.randint(-9999, 9999, m.nnz).astype(t)
    sp.save_npz("sparse_%s.npz" % t, m, compressed=t[1] == "4")
a = reals(60, "f4").reshape(12, 5)
with open("vectors.fbin", "wb") as f:
    f.write(struct.pack("<II", 12, 5) + a.tobytes())
with open("vectors.fvecs", "wb") as f:
    for row in a: f.write(struct.pack("<i", 5) + row.tobytes())
END

# Furrow reads and writes again. Column formats have no holes, so sparse matrices go to a row format.
mkdir row column
for file in dense_*.npy version2.npy named.npy sparse_*.npz vectors.fbin vectors.fvecs; do
  for by in row column; do
    [ "$file $by" = "named.npy row" ] && continue # its ids are not row numbers
    format=RowIdColIdValueBinaryRowFormat
    [ "$by ${file##*.}" = "column npy" ] && format=BinaryColumnFormat
    "$furrow" model import -q "$file" "$by/$file.m" --by $by --format $format >/dev/null || exit 1
    "$furrow" model dump "$by/$file.m" >"$by/$file.dump" || exit 1
    for to in npy npz fvecs fbin safetensors tsv libsvm; do
      "$furrow" model export -q "$by/$file.m" "$by/$file.$to" --by $by --to $to >/dev/null || exit 1
    done
    cmp "$by/$file.dump" "$by/$file.tsv" || exit 1
  done
done

# They read.
$python - <<'END'
import glob, json, numpy as np, os, scipy.sparse as sp, struct

def same(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()

def tensors(path):
    """An independent reader of safetensors."""
    raw = open(path, "rb").read()
    n, = struct.unpack("<Q", raw[:8])
    head, at, out = json.loads(raw[8:8 + n]), 0, {}
    notes = head.pop("__metadata__")
    types = {"F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8"}
    for name, t in sorted(head.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = t["data_offsets"]
        assert begin == at, "a hole or an overlap"
        at = end
        out[name] = np.frombuffer(raw[8 + n + begin:8 + n + end], types[t["dtype"]]).reshape(t["shape"])
    assert 8 + n + at == len(raw), "the file is longer or shorter"
    assert (8 + n) % 8 == 0
    return out, notes

def fvecs(path):
    raw = open(path, "rb").read()
    d, = struct.unpack("<i", raw[:4])
    all = np.frombuffer(raw, "<i4").reshape(-1, d + 1)
    assert (all[:, 0] == d).all()
    return all[:, 1:].copy().view("<f4")

def fbin(path):
    raw = open(path, "rb").read()
    n, d = struct.unpack("<II", raw[:8])
    return np.frombuffer(raw[8:], "<f4").reshape(n, d)

def original(file):
    """Vectors and ids as the writer meant them, in the type that Furrow has for them."""
    if file.endswith(".npz"):
        return sp.load_npz(file), None
    if file.endswith(".fvecs"):
        return fvecs(file), None
    if file.endswith(".fbin"):
        return fbin(file), None
    a = np.load(file)
    a = a.astype(a.dtype.newbyteorder("<"))
    if a.dtype.itemsize < 4: a = a.astype("i4")
    ids = np.load(file + ".ids.npy") if os.path.exists(file + ".ids.npy") else None
    return (a, None) if ids is None else (a[np.argsort(ids)], np.sort(ids))

count = 0
for base in sorted(glob.glob("row/*.dump") + glob.glob("column/*.dump")):
    base = base[:-len(".dump")]
    file = os.path.basename(base)
    wanted, ids = original(file)
    sparse = sp.issparse(wanted)
    dense = wanted
    if sparse: # toarray() would lose -0.0
        coo = wanted.tocoo()
        dense = np.zeros(wanted.shape, wanted.dtype)
        dense[coo.row, coo.col] = coo.data
    rows = [l.split("\t") for l in open(base + ".dump")]
    by_row = base.startswith("row/")
    if ids is None: ids = np.arange(len(dense), dtype="i8")
    # vectors by columns that have no element are not there
    if sparse and not by_row:
        ids = np.flatnonzero(np.diff(wanted.indptr)).astype("i8")
        wanted = wanted[ids]
        dense = dense[ids]
    # the dump
    place = {int(k): i for i, k in enumerate(ids)}
    assert len(rows) == (wanted.nnz if sparse else dense.size), base
    for r, c, v in rows:
        i, j = (place[int(r)], int(c)) if by_row else (place[int(c)], int(r))
        x = dense.dtype.type(v if dense.dtype.kind == "f" else int(v))
        assert x.tobytes() == dense[i, j].tobytes() or (np.isnan(x) and np.isnan(dense[i, j])), (base, r, c, v)
    # arrays
    got = np.load(base + ".npy")
    assert same(got, np.ascontiguousarray(dense)), base
    for other in (".npy", ".npz", ".fvecs", ".fbin"):
        assert same(np.load(base + other + ".ids.npy"), ids), base + other
    floats = got.astype("<f4")
    assert same(fvecs(base + ".fvecs"), floats) and same(fbin(base + ".fbin"), floats), base
    # sparse matrices
    m = sp.load_npz(base + ".npz")
    m.check_format(full_check=True)
    assert m.dtype == dense.dtype and m.indices.dtype == np.int32 and m.has_canonical_format
    assert m.nnz == len(rows) and m.shape[0] == len(ids)
    for i in range(m.shape[0]):
        for j, x in zip(m.indices[m.indptr[i]:m.indptr[i + 1]], m.data[m.indptr[i]:m.indptr[i + 1]]):
            assert x.tobytes() == dense[i, j].tobytes(), base
    # tensors
    t, notes = tensors(base + ".safetensors")
    name = file + ".m"
    assert notes[name + ".vectors"] == ("rows" if by_row else "columns")
    if name in t:
        assert same(t[name], got), base
    else:
        assert same(t[name + ".data"], m.data) and (t[name + ".indices"] == m.indices).all(), base
        assert (t[name + ".indptr"] == m.indptr).all()
    assert (t.get(name + ".ids", np.arange(len(ids))) == ids).all()
    count += 1
print(count, "matrices are the same")
assert count == 29
END
