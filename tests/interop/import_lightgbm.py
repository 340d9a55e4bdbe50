"""tests/interop/import_lightgbm.py FURROW: models in LightGBM's text, scored by Furrow and by the evaluator below.

The models are made here, with every kind of missing value, sets of categories, several classes and averaged output. The
evaluator follows LightGBM's rules in doubles. Scores must have its nine digits, all that predict prints.
"""
import json
import math
import random
import struct
import subprocess
import sys

furrow = sys.argv[1]
COLUMNS, ROWS = 5, 120
CATEGORY = 4  # this column has categories
ZERO = struct.unpack("f", struct.pack("f", 1e-35))[0]


def single(number):
    return struct.unpack("f", struct.pack("f", number))[0]


def run(*words, fails=False):
    done = subprocess.run([furrow, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if (done.returncode != 0) != fails:
        sys.exit(f"{' '.join(map(str, words))}: exit code {done.returncode}: {done.stderr}")
    return done.stderr if fails else done.stdout


# ---- Models

def draw_tree(draw, leaves):
    """Inner nodes from 0; ~i is leaf i. A random leaf is split until there are enough."""
    tree = {name: [] for name in "feature threshold decision left right".split()}
    tree.update(leaf=[draw.uniform(-1, 1) for _ in range(leaves)], sets=[])
    places = [None]  # where each leaf hangs: (inner node, side)
    for node in range(leaves - 1):
        split = draw.randrange(len(places))
        if places[split]:
            parent, side = places[split]
            tree[side][parent] = node
        categorical = draw.random() < 0.3
        missing = draw.choice([0, 1, 2])
        tree["feature"].append(CATEGORY if categorical else draw.randrange(COLUMNS - 1))
        tree["decision"].append((1 if categorical else 2 * draw.randrange(2)) + 4 * missing)
        if categorical:
            tree["threshold"].append(len(tree["sets"]))
            words = [draw.getrandbits(32) for _ in range(draw.choice([1, 2]))]
            tree["sets"].append(words)
        else:
            tree["threshold"].append(draw.choice([0.0, -0.5, 1e-40, 1.0000000180025095e-35, draw.uniform(-2, 2)]))
        tree["left"].append(~split)
        tree["right"].append(~len(places))
        places[split] = (node, "left")
        places.append((node, "right"))
    return tree


def text_of(model):
    lines = ["tree", "version=v4", f"num_class={model['classes']}", f"num_tree_per_iteration={model['classes']}",
             "label_index=0", f"max_feature_idx={COLUMNS - 1}", f"objective={model['objective']}"]
    if model["average"]:
        lines.append("average_output")
    lines += ["feature_names=" + " ".join(model["names"]), "feature_infos=" + " ".join(["[-2:2]"] * COLUMNS), "tree_sizes=1", ""]
    for number, tree in enumerate(model["trees"]):
        leaves = len(tree["leaf"])
        join = lambda values: " ".join(f"{v:.17g}" for v in values)
        lines += [f"Tree={number}", f"num_leaves={leaves}", f"num_cat={len(tree['sets'])}"]
        if leaves > 1:
            lines += ["split_feature=" + join(tree["feature"]), "split_gain=" + join([1] * (leaves - 1)),
                      "threshold=" + join(tree["threshold"]), "decision_type=" + join(tree["decision"]),
                      "left_child=" + join(tree["left"]), "right_child=" + join(tree["right"])]
        lines += ["leaf_value=" + join(tree["leaf"])]
        if leaves > 1:
            lines += ["leaf_count=" + join([10] * leaves), "internal_count=" + join([20] * (leaves - 1))]
        if tree["sets"]:
            ends = [sum(map(len, tree["sets"][:i])) for i in range(len(tree["sets"]) + 1)]
            lines += ["cat_boundaries=" + join(ends), "cat_threshold=" + " ".join(str(w) for s in tree["sets"] for w in s)]
        lines += ["is_linear=0", "shrinkage=0.1", "", ""]
    return "\n".join(lines + ["end of trees", "", "feature_importances:", "", "parameters:", "[boosting: gbdt]", "", "end of parameters", ""])


# ---- The evaluator

def goes_left(tree, node, x):
    decision, threshold = tree["decision"][node], tree["threshold"][node]
    if decision & 1:
        if math.isnan(x) or int(x) < 0:
            return False
        words, category = tree["sets"][threshold], int(x)
        return category // 32 < len(words) and bool(words[category // 32] >> category % 32 & 1)
    missing = decision >> 2
    if math.isnan(x) and missing != 2:
        x = 0.0
    if (missing == 1 and -ZERO <= x <= ZERO) or (missing == 2 and math.isnan(x)):
        return bool(decision & 2)
    return x <= threshold


def score(model, row):
    sums = [0.0] * model["classes"]
    for number, tree in enumerate(model["trees"]):
        node = 0 if tree["feature"] else -1
        while node >= 0:
            node = tree["left" if goes_left(tree, node, row[tree["feature"][node]]) else "right"][node]
        sums[number % model["classes"]] += tree["leaf"][~node]
    if model["average"]:
        sums = [s / (len(model["trees"]) / model["classes"]) for s in sums]
    return [s * model["sigmoid"] for s in sums] if model["sigmoid"] != 1 else sums


# ---- Rows

def draw_rows(draw):
    rows = []
    for _ in range(ROWS):
        row = [draw.choice([0.0, math.nan, 1e-36, -1.0, draw.uniform(-2, 2)]) for _ in range(COLUMNS - 1)]
        rows.append([single(v) for v in row] + [draw.choice([math.nan, -3.0, -0.5, 70.0, 2.5, float(draw.randrange(64))])])
    return rows


def write(name, rows, header):
    with open(name, "w") as out:
        out.write(",".join(header) + "\n")
        for row in rows:
            out.write(",".join("nan" if math.isnan(v) else f"{v:.9g}" for v in row) + "\n")


def margins(model, data):
    sparse = ["--format", "libsvm"] if data.endswith(".libsvm") else []
    lines = run("predict", "-q", "--model", model, "--data", data, "--contributions", "--json", *sparse).splitlines()
    each = [of for line in map(json.loads, lines) for of in line.get("classes", [line])]
    return [(of["pred"], of["bias"] + sum(of["contributions"].values())) for of in each]


draw = random.Random(7)
rows = draw_rows(draw)
kinds = {"binary": ("binary sigmoid:1", 1, 1, False), "steep": ("binary sigmoid:2.5", 1, 2.5, False),
         "regression": ("regression", 1, 1, False), "classes": ("multiclass num_class:3", 3, 1, False),
         "average": ("regression", 1, 1, True), "average_classes": ("multiclass num_class:3", 3, 1, True)}
for name, (objective, classes, sigmoid, average) in kinds.items():
    model = {"classes": classes, "objective": objective, "average": average, "sigmoid": sigmoid,
             "names": [f"Column_{i}" for i in range(COLUMNS)],
             "trees": [draw_tree(draw, draw.choice([1, 2, 7, 31, 60])) for _ in range(4 * classes)]}
    open(name + ".txt", "w").write(text_of(model))
    write(name + ".csv", rows, model["names"])
    run("model", "import", "-q", name + ".txt", name + ".model")
    found = margins(name + ".model", name + ".csv")
    assert found == margins(name + ".txt", name + ".csv")
    wanted = [s for row in rows for s in score(model, row)]
    assert len(found) == len(wanted)
    for i, ((pred, total), own) in enumerate(zip(found, wanted)):
        if f"{pred:.9g}" != f"{own:.9g}":
            sys.exit(f"{name}: row {i // classes} scores {pred!r}, not {own!r}")
        assert abs(total - own) < 1e-6, (name, i, total, own)
    # absent features of sparse rows are 0, as in LightGBM
    with open("sparse.libsvm", "w") as out:
        for row in rows:
            out.write("0 " + " ".join(f"{k}:{v:.9g}" for k, v in enumerate(row) if not math.isnan(v)) + "\n")
    sparse = [s for row in rows for s in score(model, [0.0 if math.isnan(v) else v for v in row])]
    assert [f"{pred:.9g}" for pred, _ in margins(name + ".model", "sparse.libsvm")] == [f"{own:.9g}" for own in sparse], name

# ---- What is refused, by name
whole = open("regression.txt").read()
for change, word in ((("is_linear=0", "is_linear=1"), "linear leaves"), (("objective=regression", "objective=multiclassova"), "multiclassova"),
                     (("end of trees", "end"), "not whole"), (("num_leaves=", "num_leaves=1"), "numbers, not")):
    open("changed.txt", "w").write(whole.replace(*change, 1))
    message = run("model", "import", "changed.txt", "changed.model", fails=True)
    assert word in message, message
print(f"{len(kinds)} models in LightGBM's text: scores have the evaluator's digits")
