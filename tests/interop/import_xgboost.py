"""tests/interop/import_xgboost.py FURROW: models of xgboost, imported and used as they are.

Each model is saved as JSON and as UBJSON. Margins must have the same bits as in xgboost, probabilities and other predictions must
be equal to 1e-6, contributions to 1e-4. Rows come as csv with a header (empty cells are missing, 0 is 0) and as libsvm
(absent features are missing).
"""
import json
import subprocess
import sys

import numpy
import xgboost

furrow = sys.argv[1]
ROWS, COLUMNS = 60, 6


def run(*words, fails=False):
    done = subprocess.run([furrow, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if (done.returncode != 0) != fails:
        sys.exit(f"{' '.join(map(str, words))}: exit code {done.returncode}: {done.stderr}")
    return done.stderr if fails else done.stdout


def draw(rows, seed):
    """Numbers, zeros, missing values, and categories in the last column."""
    random = numpy.random.RandomState(seed)
    x = random.normal(size=(rows, COLUMNS)).astype(numpy.float32)
    x[:, 1] = numpy.where(random.uniform(size=rows) < 0.4, 0, x[:, 1])
    x[:, 2] = random.randint(-2, 3, rows)
    x[:, -1] = random.randint(0, 40, rows)
    x[random.uniform(size=x.shape) < 0.15] = numpy.nan
    z = numpy.nan_to_num(x[:, 0] * 2 + x[:, 1] - x[:, 2]) + numpy.where(numpy.isin(x[:, -1], [1, 5, 6, 9, 33]), 2, 0)
    return x, z


def write_csv(name, x, header):
    with open(name, "w") as out:
        out.write(",".join(header) + "\n")
        for row in x:
            out.write(",".join("" if numpy.isnan(v) else f"{v:.9g}" for v in row) + "\n")


def write_libsvm(name, x, label=None):
    with open(name, "w") as out:
        for i, row in enumerate(x):
            cells = (f"{k}:{v:.9g}" for k, v in enumerate(row) if not numpy.isnan(v))
            out.write(f"{0 if label is None else label[i]:.9g} " + " ".join(cells) + "\n")


def scores(model, data):
    """pred, proba and label of each row, as floats."""
    sparse = ["--format", "libsvm"] if data.endswith(".libsvm") else []
    run("predict", "-q", "--model", model, "--data", data, "--scores", "scores.npy", "--force", *sparse)
    return numpy.load("scores.npy")


def contributions(model, data):
    """bias and values of each row and class, and the margin."""
    sparse = ["--format", "libsvm"] if data.endswith(".libsvm") else []
    lines = run("predict", "-q", "--model", model, "--data", data, "--contributions", "--json", *sparse).splitlines()
    return [of for line in map(json.loads, lines) for of in line.get("classes", [line])]


def same_bits(ours, theirs, what):
    ours, theirs = numpy.asarray(ours, numpy.float32), numpy.asarray(theirs, numpy.float32)
    wrong = numpy.flatnonzero(ours.view(numpy.uint32) != theirs.view(numpy.uint32))
    if len(wrong):
        sys.exit(f"{what}: {len(wrong)} of {len(ours)} margins differ; row {wrong[0]}: {ours[wrong[0]]!r}, not {theirs[wrong[0]]!r}")


def close(ours, theirs, limit, what):
    off = numpy.max(numpy.abs(numpy.asarray(ours) - theirs) / numpy.maximum(1, numpy.abs(theirs)))
    if not off <= limit:
        sys.exit(f"{what}: off by {off}")


def exported(model):
    run("model", "export", "-q", model, "exported.json", "--to", "xgboost", "--force")
    return xgboost.Booster(model_file="exported.json")


def as_matrix(named, types):
    return xgboost.DMatrix(test, feature_names=named or unnamed, feature_types=types, enable_categorical=True)


x, z = draw(400, 1)
test, _ = draw(ROWS, 2)
classes = numpy.digitize(z, [-1, 0.5, 1.5]).astype(float)
labels = {"z": z, "two": (z > 0).astype(float), "share": 1 / (1 + numpy.exp(-z)), "count": numpy.floor(numpy.exp(z / 2)),
          "positive": numpy.exp(z / 2), "classes": classes}
plain = dict(tree_method="hist", max_depth=4, eta=0.3, seed=3)
# name: parameters, labels, rounds, whether the last column has categories
models = {
    "logistic": (dict(objective="binary:logistic", base_score=0.3), "two", 8, False),
    "logitraw": (dict(objective="binary:logitraw"), "two", 4, False),
    "hinge": (dict(objective="binary:hinge"), "two", 4, False),
    "squared": (dict(objective="reg:squarederror", base_score=1.7, tree_method="exact"), "z", 8, False),
    "share": (dict(objective="reg:logistic"), "share", 4, False),
    "poisson": (dict(objective="count:poisson"), "count", 6, False),
    "gamma": (dict(objective="reg:gamma"), "positive", 4, False),
    "tweedie": (dict(objective="reg:tweedie"), "positive", 4, False),
    "softprob": (dict(objective="multi:softprob", num_class=4, base_score=0.25), "classes", 5, False),
    "softmax": (dict(objective="multi:softmax", num_class=4, num_parallel_tree=2, subsample=0.7), "classes", 3, True),
    "rank": (dict(objective="rank:pairwise"), "classes", 4, False),
    "dart": (dict(objective="binary:logistic", booster="dart", rate_drop=0.4), "two", 10, False),
    "dart_classes": (dict(objective="multi:softprob", num_class=4, booster="dart", rate_drop=0.5), "classes", 5, True),
    "forest": (dict(objective="reg:squarederror", num_parallel_tree=9, subsample=0.6, colsample_bynode=0.5, eta=1), "z", 1, False),
    "categories": (dict(objective="binary:logistic", max_cat_to_onehot=2), "two", 8, True),
    "one_hot": (dict(objective="reg:squarederror", max_cat_to_onehot=100), "z", 8, True),
    "deep": (dict(objective="reg:squarederror", max_depth=0, grow_policy="lossguide", max_leaves=120, min_child_weight=0, gamma=0), "z", 4, False),
    "stumps": (dict(objective="reg:squarederror", max_depth=1), "z", 20, False),
}
names = ["age", "price net", "x=3", "größe", "f", "color"]
write_csv("test.csv", test, names)
unnamed = [f"f{i}" for i in range(COLUMNS)]
write_csv("plain.csv", test, unnamed)
write_libsvm("test.libsvm", test)
for place, (name, (more, label, rounds, categories)) in enumerate(models.items()):
    types = ["q"] * (COLUMNS - 1) + ["c" if categories else "q"]
    named = names if place % 2 else None
    data = "test.csv" if named else "plain.csv"
    made = dict(enable_categorical=True, feature_types=types, feature_names=named)
    train, rows = xgboost.DMatrix(x, labels[label], **made), xgboost.DMatrix(test, **made)
    if more["objective"].startswith("rank"):
        train.set_group([40] * 10)
    booster = xgboost.train({**plain, **more}, train, rounds)
    margin = booster.predict(rows, output_margin=True)
    booster.save_model(name + ".json")
    booster.save_model(name + ".ubj")
    predicted = booster.predict(rows)
    for ending in (".json", ".ubj"):
        if ending == ".json":
            run("model", "import", "-q", name + ending, name + ".model")
        scored = scores(name + (".model" if ending == ".json" else ending), data)
        several = margin.ndim > 1
        if more["objective"] in ("reg:logistic", "reg:gamma", "reg:tweedie", "count:poisson"):
            close(scored[:, 0], predicted, 1e-6, name)
        else:
            same_bits(scored[:, 0], margin.max(axis=1) if several else margin, name + ending)
        if more["objective"] == "binary:logistic":
            close(scored[:, 1], predicted, 1e-6, name + ": probabilities")
            assert set(scored[:, 2]) <= {0, 1}
        if more["objective"] == "binary:hinge":
            assert (scored[:, 2] == predicted).all(), name
        if several:
            best = margin.argmax(axis=1)
            assert (scored[:, 2] == best).all(), name
            if more["objective"] == "multi:softprob":
                close(scored[:, 1], predicted.max(axis=1), 1e-6, name + ": probabilities")
    if place % 4 == 0:
        same_bits(scores(name + ".json", "test.libsvm")[:, 0], scored[:, 0], name + ": libsvm, the file itself")
    explained = contributions(name + ".model", data)
    theirs = booster.predict(rows, pred_contribs=True) if "dart" not in name else None
    for i, of in enumerate(explained):
        several = margin.ndim > 1
        row, c = (i // margin.shape[1], i % margin.shape[1]) if several else (i, 0)
        same_bits([of["pred"]], [margin[row, c] if several else margin[row]], f"{name}: margin of row {row}, class {c}")
        if theirs is None:
            continue
        wanted = theirs[row, c] if several else theirs[row]
        got = numpy.zeros(COLUMNS + 1)
        got[-1] = of["bias"]
        for feature, value in of["contributions"].items():
            got[(named or unnamed).index(feature)] = value
        close(got, wanted, 1e-4, f"{name}: contributions of row {row}")

    if place % 3 == 0 or "dart" in name:
        close(exported(name + ".model").predict(as_matrix(named, types if categories else None), output_margin=True), margin, 1e-6,
              name + ": exported")

# ---- Trees that Furrow grew, as a model of xgboost
for objective, label in (("binary:logistic", "two"), ("reg:squarederror", "z"), ("multi:softmax", "classes"), ("count:poisson", "count")):
    write_libsvm("grown.libsvm", x, labels[label])
    run("train", "-q", "--model", "gbdt", "--train", "grown.libsvm", "--index-base", 0, "--range", COLUMNS, "--trees", 10, "--lr", 0.3, "--out",
        "grown", "--force", "--objective", objective, *(["--classes", 4] if label == "classes" else []))
    grown = exported("grown").predict(xgboost.DMatrix(test), output_margin=True)
    found = [of["pred"] for of in contributions("grown", "test.libsvm")]
    close(numpy.array(found), grown.reshape(-1), 1e-5, objective + ": trees that Furrow grew")

# ---- Early stopping: the best iteration counts, unless all rounds are wanted
held = xgboost.DMatrix(test, numpy.zeros(ROWS))
booster = xgboost.train({**plain, "objective": "reg:squarederror"}, xgboost.DMatrix(x, z), 30,
                        evals=[(held, "v")], early_stopping_rounds=3, verbose_eval=False)
booster.save_model("early.json")
best = booster.best_iteration + 1
run("model", "import", "-q", "early.json", "early.model")
run("model", "import", "-q", "early.json", "all.model", "--rounds", "all")
plain_rows = xgboost.DMatrix(test)
same_bits(scores("early.model", "plain.csv")[:, 0],
          booster.predict(plain_rows, output_margin=True, iteration_range=(0, best)), "early stopping")
same_bits(scores("all.model", "plain.csv")[:, 0], booster.predict(plain_rows, output_margin=True), "all rounds")

# ---- Layouts of other versions: lists of base scores, weights of dart in the model, categories with names, no categories

def changed(name, change):
    model = json.load(open(name + ".json"))
    change(model, model["learner"]["gradient_booster"])
    with open("changed.json", "w") as out:
        json.dump(model, out)


def as_version_3(model, booster):
    learner = model["learner"]
    inner = booster.get("gbtree", booster)["model"]
    classes = max(1, int(learner["learner_model_param"]["num_class"]))
    each = classes * int(inner["gbtree_model_param"]["num_parallel_tree"])
    learner["learner_model_param"]["base_score"] = "[" + ",".join([learner["learner_model_param"]["base_score"]] * classes) + "]"
    inner["iteration_indptr"] = list(range(0, len(inner["trees"]) + 1, each))
    inner["cats"] = {"enc": [], "feature_segments": [], "sorted_idx": []}
    if "weight_drop" in booster:
        inner["weight_drop"] = booster["weight_drop"]
    learner["gradient_booster"] = {"model": inner, "name": "gbtree"}
    for tree in inner["trees"]:
        tree["tree_param"]["size_leaf_vector"] = "1"
    model["version"] = [3, 3, 0]


def as_version_1_0(model, booster):
    for tree in booster["model"]["trees"]:
        tree["default_left"] = [bool(left) for left in tree["default_left"]]
        for name in [name for name in tree if name.startswith("categories")] + ["split_type"]:
            del tree[name]
    model["version"] = [1, 0, 0]


for name, change in (("dart_classes", as_version_3), ("logistic", as_version_3), ("early", as_version_3), ("logistic", as_version_1_0)):
    changed(name, change)
    same_bits(scores("changed.json", "test.libsvm")[:, 0], scores(name + ".json", "test.libsvm")[:, 0], f"{name} in another layout")
for word, change in (
        ("names", lambda model, booster: booster["model"].update(cats={"enc": [{"offsets": [0, 1], "values": [97]}]})),
        ("vectors", lambda model, booster: booster["model"]["trees"][0]["tree_param"].update(size_leaf_vector="2")),
        ("num_class", lambda model, booster: model["learner"]["learner_model_param"].update(num_class="3")),
        ("my:own", lambda model, booster: model["learner"]["objective"].update(name="my:own")),
        ("do not form a tree", lambda model, booster: booster["model"]["trees"][0]["left_children"].__setitem__(1, 0))):
    changed("logistic", change)
    message = run("model", "import", "changed.json", "changed.model", fails=True)
    assert word in message, message

# ---- 0 is a value in a table, and absent features of sparse rows are missing; in xgboost as well
zeros = numpy.zeros((1, COLUMNS), numpy.float32)
write_csv("zeros.csv", zeros, unnamed)
open("empty.libsvm", "w").write("0\n")
same_bits(scores("early.model", "zeros.csv")[:, 0], booster.predict(xgboost.DMatrix(zeros), iteration_range=(0, best)), "zeros")
same_bits(scores("early.model", "empty.libsvm")[:, 0],
          booster.predict(xgboost.DMatrix(zeros * numpy.nan), iteration_range=(0, best)), "a row without features")

# ---- What cannot be imported is refused, and eval takes what is imported
linear = xgboost.train({"booster": "gblinear"}, xgboost.DMatrix(numpy.nan_to_num(x), z), 1)
linear.save_model("linear.json")
assert "gblinear" in run("model", "import", "linear.json", "linear.model", fails=True)
write_libsvm("labels.libsvm", x, labels["two"])
figures = json.loads(run("eval", "-q", "--model", "logistic.model", "--data", "labels.libsvm", "--format", "libsvm", "--json"))
assert figures["accuracy"] > 0.8, figures
print(f"{len(models)} models of xgboost {xgboost.__version__}: margins have the same bits")
