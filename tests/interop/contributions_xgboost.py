"""tests/interop/contributions_xgboost.py FURROW: predict --contributions against xgboost's pred_contribs.

Furrow trains on rows with missing values; its trees are written as a model of xgboost, which then explains the same rows. Every
contribution, the bias and the score must be the same to 1e-4 (xgboost computes in floats).
"""
import json
import subprocess
import sys

import numpy
import xgboost

furrow = sys.argv[1]
COLUMNS = 12
LEARNING_RATE = 0.25


def run(*words):
    return subprocess.run([furrow, *map(str, words)], check=True, stdout=subprocess.PIPE).stdout


def draw(rows, seed, kind):
    """Features that matter in pairs and steps, some of whose cells are missing (NaN), and labels."""
    random = numpy.random.RandomState(seed)
    x = random.normal(size=(rows, COLUMNS)).astype(numpy.float32)
    z = x[:, 0] * (1 + x[:, 1]) - x[:, 2] + numpy.where(x[:, 4] > 0.5, 1, -0.5) * abs(x[:, 5]) + random.normal(0, 0.3, rows)
    x[:, ::2][random.uniform(size=(rows, COLUMNS // 2)) < 0.2] = numpy.nan
    z += numpy.where(numpy.isnan(x[:, 6]), 0.7, 0)
    return x, {"two": z > 0, "number": 5 + 2 * z, "classes": numpy.digitize(z, [-1, 0.3, 1.5])}[kind].astype(float)


def write(name, x, y):
    with open(name, "w") as out:
        for row, label in zip(x, y):
            cells = (f"{i + 1}:{v:.9g}" for i, v in enumerate(row) if not numpy.isnan(v))
            out.write(f"{label:.9g} " + " ".join(cells) + "\n")


# ---- Furrow's trees as a model of xgboost

def above(value):
    """The least float that is greater than value: our x <= value is x < above(value) in xgboost."""
    number = numpy.float32(value)
    return float(number if float(number) > value else numpy.nextafter(number, numpy.float32(numpy.inf)))


def tree_of(tree):
    nodes = tree["nodes"]
    place = {node["node"]: i for i, node in enumerate(nodes)}
    splits = ["feature" in node for node in nodes]
    parents = [2147483647] * len(nodes)
    for i, node in enumerate(nodes):
        for way in ("yes", "no") if splits[i] else ():
            parents[place[node[way]]] = i
    zeros = [0] * len(nodes)
    return {
        "base_weights": [0.0] * len(nodes), "categories": [], "categories_nodes": [], "categories_segments": [],
        "categories_sizes": [], "default_left": [int(s and n["absent"] == n["yes"]) for s, n in zip(splits, nodes)], "id": 0,
        "left_children": [place[n["yes"]] if s else -1 for s, n in zip(splits, nodes)],
        "right_children": [place[n["no"]] if s else -1 for s, n in zip(splits, nodes)],
        "loss_changes": [0.0] * len(nodes), "parents": parents,
        "split_conditions": [above(n["value"]) if s else LEARNING_RATE * n["predict"] for s, n in zip(splits, nodes)],
        "split_indices": [n["feature"] if s else 0 for s, n in zip(splits, nodes)], "split_type": zeros,
        "sum_hessian": [n["cover"] for n in nodes],
        "tree_param": {"num_deleted": "0", "num_feature": str(COLUMNS), "num_nodes": str(len(nodes)), "size_leaf_vector": "0"}}


def as_xgboost(folder, classes):
    trees = json.loads(run("model", "trees", folder, "--json"))["trees"]
    made = [dict(tree_of(tree), id=i) for i, tree in enumerate(trees)]
    objective = {"name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"}}
    if classes:
        objective = {"name": "multi:softprob", "softmax_multiclass_param": {"num_class": str(classes)}}
    model = {"gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(made)), "size_leaf_vector": "0"},
             "tree_info": [tree["class"] for tree in trees], "trees": made}
    learner = {"attributes": {}, "feature_names": [], "feature_types": [],
               "gradient_booster": {"model": model, "name": "gbtree"}, "objective": objective,
               "learner_model_param": {"base_score": "0E0", "boost_from_average": "0", "num_class": str(classes),
                                       "num_feature": str(COLUMNS), "num_target": "1"}}
    booster = xgboost.Booster()
    booster.load_model(bytearray(json.dumps({"learner": learner, "version": [1, 7, 0]}).encode()))
    return booster


# ---- The two

def contributions(folder, rows, classes):
    """(score, contributions and bias as the last column) of each row and class."""
    scores, values = [], []
    for line in run("predict", "--model", folder, "--data", rows, "--contributions", "--json").splitlines():
        row = json.loads(line)
        for of in row["classes"] if classes else [row]:
            scores.append(of["pred"])
            values.append([of["contributions"].get(str(i), 0.0) for i in range(COLUMNS)] + [of["bias"]])
    return numpy.array(scores), numpy.array(values)


def compare(name, kind, objective, classes, depth, trees):
    x, y = draw(3000, 1, kind)
    test, labels = draw(400, 2, kind)
    write("train", x, y)
    write("test", test, labels)
    run("train", "-q", "--force", "--model", "gbdt", "--train", "train", "--out", "model", "--objective", objective, "--range", COLUMNS,
        "--depth", depth, "--trees", trees, "--lr", LEARNING_RATE, "--splits", 200, *(["--classes", classes] if classes else []))
    scores, got = contributions("model", "test", classes)
    booster, data = as_xgboost("model", classes), xgboost.DMatrix(test)
    wanted = booster.predict(data, pred_contribs=True).reshape(-1, COLUMNS + 1)
    margins = booster.predict(data, output_margin=True).reshape(-1)
    off = abs(got - wanted).max(), abs(scores - margins).max(), abs(got.sum(1) - scores).max()
    right = got.shape == wanted.shape and off[0] < 1e-4 and off[1] < 1e-4 and off[2] < 1e-6 and abs(wanted).max() > 0.1
    print(f"{name}: {len(got)} rows, contributions differ by {off[0]:.2g} of {abs(wanted).max():.3g}, scores by {off[1]:.2g}, "
          f"sums from scores by {off[2]:.2g}{'' if right else ' WRONG'}", flush=True)
    return right


if __name__ == "__main__":
    results = [compare("two classes", "two", "binary:logistic", 0, 6, 40), compare("regression", "number", "reg:squarederror", 0, 4, 30),
               compare("classes", "classes", "multi:softmax", 4, 5, 12), compare("deep", "two", "binary:logistic", 0, 11, 5)]
    sys.exit(0 if all(results) else 1)
