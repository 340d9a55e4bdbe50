"""Recommenders: trained from logs in which each user likes one kind of items."""

import csv
import io
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import furrow
from furrow.recommender import Recommender
from furrow.schema import Schema, split

pandas = pytest.importorskip("pandas")

KINDS = 4


def kind(name):
    return int(name[1:]) % KINDS


def make_log(events=2500, users=48, items=60, seed=3):
    """u1 likes b1, b5, b9 …: ratings of 4 and 5; 1 to 3 for the rest."""
    rng = np.random.default_rng(seed)
    user, item = rng.integers(users, size=events), rng.integers(items, size=events)
    rating = np.where(user % KINDS == item % KINDS, rng.integers(4, 6, events), rng.integers(1, 4, events))
    log = pandas.DataFrame(
        {
            "user": [f"u{x}" for x in user],
            "item": [f"b{x}" for x in item],
            "rating": rating,
            "time": 1_700_000_000 + 60 * np.arange(events),
        }
    )
    return log.drop_duplicates(["user", "item"]).reset_index(drop=True)


@pytest.fixture(scope="module")
def log():
    return make_log()


@pytest.fixture(scope="module")
def fitted(log):
    return Recommender("fm", seed=1).fit(log)


@pytest.fixture(scope="module")
def folder(log, tmp_path_factory):
    """The log as csv, and the model that the command makes of it."""
    path = tmp_path_factory.mktemp("command")
    log.to_csv(path / "log.csv", index=False)
    return path


@pytest.fixture
def run(folder):
    command = os.environ.get("FURROW_COMMAND", os.path.join(os.path.dirname(__file__), "../../build/furrow"))
    if not os.path.exists(command):
        pytest.skip("the command furrow is not built")
    command = os.path.abspath(command)

    def call(*arguments):
        done = subprocess.run([command, *arguments], cwd=folder, capture_output=True, text=True, check=True)
        return done.stdout

    if not (folder / "model").exists():
        call("train", "--model", "fm", "--train", "log.csv", "--schema", "auto", "--seed", "1", "--out", "model", "-q")
    return call


# ---- Training


def test_users_get_what_they_like(log, fitted):
    best = fitted.recommend(k=3, exclude=log)
    assert set(best["user"]) == set(log["user"])
    liked = [kind(user) == kind(item) for user, item in zip(best["user"], best["item"])]
    assert np.mean(liked) > 0.95
    seen = set(zip(log["user"], log["item"]))
    assert not seen & set(zip(best["user"], best["item"]))
    assert (best.groupby("user")["rank"].apply(list).map(lambda ranks: ranks == list(range(1, len(ranks) + 1)))).all()
    assert (best.groupby("user")["score"].apply(lambda scores: scores.is_monotonic_decreasing)).all()


def test_the_model_is_the_commands(fitted, folder, run):
    for name, data in fitted._opened.folder.files.items():
        assert (folder / "model" / name).read_bytes() == data, name
    by_file = Recommender("fm", seed=1, threads=1).fit(folder / "log.csv")
    assert by_file._opened.folder.files == fitted._opened.folder.files


def test_jsonl_and_categories_give_the_same_model(log, fitted, tmp_path):
    log.to_json(tmp_path / "log.jsonl", orient="records", lines=True)
    assert Recommender("fm", seed=1).fit(tmp_path / "log.jsonl")._opened.folder.files == fitted._opened.folder.files
    categories = log.astype({"user": "category", "item": "category"})
    assert Recommender("fm", seed=1).fit(categories)._opened.folder.files == fitted._opened.folder.files
    assert Recommender("fm", seed=2).fit(log)._opened.folder.files != fitted._opened.folder.files


def test_what_the_columns_were_taken_for_is_visible(fitted):
    assert repr(fitted) == "<furrow.Recommender fm: user 'user' (48), item 'item' (60), label 'rating', time 'time'>"
    assert fitted.schema_.roles == {"user": "user", "item": "item", "label": "rating", "time": "time"}
    assert any("ratings" in note for note in fitted.notes_)
    assert fitted.history_[0]["train_loss"] > 0
    assert "rating" in fitted._repr_html_()
    assert "not fitted" in Recommender("fm")._repr_html_()


def test_columns_of_other_names(log, fitted):
    odd = log.rename(columns={"user": "class", "item": "from", "rating": "grade", "time": "import"})
    with pytest.raises(ValueError, match="no column that is known as the user or the item.*class, from"):
        Recommender("fm").fit(odd.drop(columns=["grade", "import"]))
    named = Recommender("fm", user="class", item="from", label="grade", time="import", seed=1).fit(odd)
    assert named.recommend("u1", 3)["item"].tolist() == fitted.recommend("u1", 3)["item"].tolist()
    with pytest.raises(ValueError, match="did you mean class"):
        Recommender("fm", user="clas", item="from").fit(odd)


def test_a_label_that_is_not_one_is_told_of(log):
    with pytest.warns(UserWarning, match="no label, so every event counts.*rating"):
        Recommender("fm", epochs=1).fit(log.assign(rating=np.nan))
    with pytest.raises(ValueError, match="all labels are 3"):
        Recommender("fm").fit(log.assign(rating=3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*orders items worse")  # it does, after one epoch
        Recommender("fm", epochs=1).fit(log[["user", "item"]])
        Recommender("fm", epochs=1, label="").fit(log)


def test_schema_of_the_callers(log, fitted):
    schema = Schema.propose(log)
    assert Recommender("fm", schema=schema, seed=1).fit(log).schema_ == schema
    assert Recommender("fm", schema=schema.to_dict(), seed=1).fit(log).predict([("u1", "b1")]) == fitted.predict(
        [("u1", "b1")]
    )
    with pytest.raises(ValueError, match="schema='auto' only"):
        Recommender("fm", schema=schema, user="user").fit(log)


@pytest.mark.parametrize(
    "wrong",
    [
        {"model": "nothing"},
        {"rnk": 3},
        {"rank": "many"},
        {"threads": -2},
        {"user": "nobody"},
        {"tables": {"item": "no-such-file.csv"}},
        {"user_history": 5000},
        {"seed": -1},
        {"schema": "no-such-schema.json"},
        {"seed": 1, "random_state": 2},
    ],
)
def test_wrong_parameters(log, wrong):
    with pytest.raises((ValueError, OverflowError, OSError)):
        Recommender(**({"model": "fm"} | wrong)).fit(log)


def test_logs_that_are_not(log):
    for wrong in (log[:0], log[[]], log[["user", "rating"]], 5, "no-such-file.csv", None, np.ones((3, 3))):
        with pytest.raises((ValueError, TypeError, OSError)):
            Recommender("fm").fit(wrong)
    twice = log.copy()
    twice.columns = ["user", "user", "rating", "time"]
    with pytest.raises(ValueError, match="same name"):
        Recommender("fm").fit(twice)


def test_before_fit():
    for use in (lambda r: r.recommend("u1"), lambda r: r.n_users, lambda r: r.save("x"), lambda r: r.model_):
        with pytest.raises(ValueError, match="not fitted"):
            use(Recommender("fm"))


def test_a_fit_that_fails_changes_nothing(log):
    recommender = Recommender("fm", epochs=2, seed=1).fit(log)
    before = recommender.recommend("u1", 3)
    with pytest.raises(ValueError):
        recommender.fit(log[["user", "rating"]])
    assert recommender.recommend("u1", 3).equals(before)


def test_validation_log_and_callback(log):
    train, test = split(log, time="time", user="user", last=0.2)
    told = []
    recommender = Recommender("fm", seed=1).fit(train, valid=test, callback=told.append)
    assert len(told) == len(recommender.history_) and "valid_rmse" in told[0]
    stopped = Recommender("fm", seed=1).fit(train, callback=lambda epoch: epoch["epoch"] < 2)
    assert len(stopped.history_) == 2

    def fail(epoch):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        Recommender("fm").fit(train, callback=fail)


def test_bad_rows_are_told_of(log, tmp_path):
    text = log.to_csv(index=False)
    (tmp_path / "bad.csv").write_text(text + "u1,b1,many,1700000000\n")
    with pytest.raises(furrow.ParseError):
        Recommender("fm").fit(tmp_path / "bad.csv")
    with pytest.warns(UserWarning, match="1 rows of the log were left out"):
        Recommender("fm", epochs=1).fit(tmp_path / "bad.csv", on_bad="skip")
    with pytest.raises(ValueError, match="on_bad"):
        Recommender("fm").fit(log, on_bad="drop")


# ---- Recommending


def table(text):
    rows = csv.DictReader(io.StringIO(text))
    return [(row.get("user", row.get("like")), int(row["rank"]), row["item"], float(row["score"])) for row in rows]


def same(frame, text):
    expected = table(text)
    assert [tuple(row)[:3] for row in frame.itertuples(index=False)] == [row[:3] for row in expected]
    assert np.allclose(frame["score"], [row[3] for row in expected], atol=1e-6)


def test_equals_the_command(log, fitted, folder, run):
    base = ["recommend", "--model", "model", "--csv", "-q"]
    same(fitted.recommend(k=4), run(*base, "-k", "4"))
    unseen = run(*base, "-k", "3", "--users", "u3,u7", "--exclude", "log.csv")
    same(fitted.recommend(["u3", "u7"], 3, exclude=log), unseen)
    (folder / "only.txt").write_text("b1\nb2\nb3\n")
    same(fitted.recommend("u3", allowed=["b1", "b2", "b3"]), run(*base, "--users", "u3", "--only", "only.txt"))
    same(fitted.similar("b5", 4), run(*base, "--like", "b5", "-k", "4"))
    (folder / "new.csv").write_text("user,item,rating\nnew,b1,5\nnew,b5,5\nnew,b2,1\n")
    same(fitted.recommend_new(folder / "new.csv", 3), run(*base, "--events", "new.csv", "-k", "3"))


def test_figures_equal_the_commands(log, fitted, folder, run):
    options = ["--rank", "-k", "5", "--relevant-from", "4", "--json", "-q"]
    expected = json.loads(run("eval", "--model", "model", "--data", "log.csv", *options))
    figures = fitted.evaluate(log, 5, exclude=False, relevant_from=4)
    for name in ("ndcg", "recall", "map", "mrr", "hit"):
        assert figures[name] == pytest.approx(expected[name], abs=1e-6), name
        assert figures[name + "_interval"] == pytest.approx(expected["intervals"][name], abs=1e-6)
    assert figures["users"] == expected["users"] and figures["coverage"] == pytest.approx(expected["coverage"])


def test_evaluate_finds_later_items(log):
    train, test = split(log, time="time", user="user", last=0.3)
    recommender = Recommender("fm", seed=1).fit(train)
    figures = recommender.evaluate(test, 10, exclude=train, relevant_from=4)
    shuffled = test.assign(user=test["user"].sample(frac=1, random_state=1).to_numpy())
    chance = recommender.evaluate(shuffled, 10, exclude=False, relevant_from=4)
    assert figures["hit"] > 0.9 and figures["ndcg"] > 1.5 * chance["ndcg"]
    with pytest.warns(UserWarning, match="already seen"):
        recommender.evaluate(test)
    strangers = pandas.concat([test, pandas.DataFrame({"user": ["u1", "x"], "item": ["new", "b1"], "rating": [5, 5]})])
    with pytest.warns(UserWarning) as told:
        recommender.evaluate(strangers.fillna(1_700_000_000), exclude=train)
    texts = " ".join(str(one.message) for one in told)
    assert "not known to the model" in texts and "1 events of users" in texts
    with pytest.raises(ValueError):
        recommender.evaluate(test, exclude=train, relevant_from=99)


def test_classes_count_from_the_positive_one(log):
    clicks = log.assign(click=np.where(log["rating"] >= 4, "yes", "no")).drop(columns=["rating", "time"])
    recommender = Recommender("fm", seed=1).fit(clicks)
    assert "positive: yes" in repr(recommender)
    assert recommender.evaluate(clicks, exclude=False)["relevant_from"] == 1
    assert recommender.evaluate(clicks[["user", "item"]], exclude=False)["relevant_from"] is None


def test_arrays(log, fitted):
    items, scores = fitted.recommend(["u1", "u2"], 3, as_frame=False)
    assert items.shape == scores.shape == (2, 3) and items.dtype == object
    frame = fitted.recommend(["u1", "u2"], 3)
    assert items.ravel().tolist() == frame["item"].tolist() and scores.ravel().tolist() == frame["score"].tolist()
    assert fitted.recommend("u1", 3, as_frame=False, with_scores=False).shape == (1, 3)
    assert list(fitted.recommend("u1", 3, with_scores=False).columns) == ["user", "rank", "item"]
    left = fitted.recommend("u1", 10**6, exclude=log)
    items, scores = fitted.recommend("u1", 10**6, exclude=log, as_frame=False)
    seen = (log["user"] == "u1").sum()
    assert len(left) == fitted.n_items - seen and items.shape == (1, fitted.n_items)
    assert [item is None for item in items[0]] == [False] * len(left) + [True] * seen
    assert np.isneginf(scores[0, len(left) :]).all()
    assert fitted.recommend([], 3).empty


def test_names(log, fitted):
    assert sorted(fitted.users) == sorted(set(log["user"])) and fitted.n_users == len(fitted.users)
    assert sorted(fitted.items) == sorted(set(log["item"])) and fitted.n_items == len(fitted.items)
    assert log["user"].value_counts()[fitted.users[0]] == log["user"].value_counts().max()
    with pytest.raises(furrow.NotFoundError, match="does not know the user.*u1x.*did you mean u1"):
        fitted.recommend(["u2", "u1x"])
    assert fitted.recommend(["u2", "u1x"], 1, unknown="skip")["user"].tolist() == ["u2"]
    with pytest.raises(LookupError, match="the item"):
        fitted.similar("b1x")
    with pytest.raises(LookupError, match="the item"):
        fitted.recommend("u1", allowed=["b1", "nothing"])
    assert fitted.recommend("u1", allowed=["b1", "nothing"], unknown="skip")["item"].tolist() == ["b1"]
    assert fitted.recommend(pandas.Series(["u5", "u4"], dtype="category"), 1)["user"].tolist() == ["u5", "u4"]


def test_allowed(fitted):
    mask = np.array([kind(item) == 2 for item in fitted.items])
    best = fitted.recommend("u1", 5, allowed=mask)
    assert {kind(item) for item in best["item"]} == {2}
    assert fitted.recommend("u1", 5, allowed=pandas.Series(mask)).equals(best)
    assert fitted.recommend("u1", 5, allowed={i for i in fitted.items if kind(i) == 2}).equals(best)
    with pytest.raises(ValueError, match="shape"):
        fitted.recommend("u1", allowed=mask[:5])
    with pytest.raises(TypeError, match="allowed: a masked array"):
        fitted.recommend("u1", allowed=np.ma.array(mask, mask=mask))
    with pytest.raises(ValueError, match="a name is missing"):
        fitted.recommend(np.ma.array(["u1", "u2"], mask=[False, True]))
    with pytest.raises(ValueError, match="none of these"):
        fitted.recommend("u1", allowed=[])


def test_numbers_are_names(log):
    ids = pandas.DataFrame({"user": log["user"].str[1:].astype(int), "item": log["item"].str[1:].astype(int)})
    ids["rating"] = log["rating"]
    recommender = Recommender("fm", seed=1).fit(ids)
    best = recommender.recommend([1, np.int64(2), "3", 4.0], 1)
    assert best["user"].tolist() == [1, 2, 3, 4]
    assert len(recommender.similar(5, 2)) == 2
    seen = set(ids.loc[ids["user"] == 1, "item"])
    assert not set(recommender.recommend(1, 60, exclude=ids)["item"]) & seen


def test_unicode_and_missing_names(log):
    names = log.assign(user="Jürgen 🚀 " + log["user"], item="«" + log["item"] + '», "x"')
    names.loc[::50, "user"] = None
    recommender = Recommender("fm", seed=1).fit(names)
    assert recommender.n_users == 48 and recommender.n_items == 60
    best = recommender.recommend("Jürgen 🚀 u1", 5, exclude=names)
    assert np.mean([kind("b" + item.split("b")[1].split("»")[0]) == 1 for item in best["item"]]) > 0.7


@pytest.mark.parametrize(
    "wrong",
    [
        {"users": 5.5},
        {"users": [None]},
        {"users": [float("nan")]},
        {"users": {"u1": 1}},
        {"users": object()},
        {"users": pandas.DataFrame({"user": ["u1"]})},
        {"k": 0},
        {"k": -1},
        {"k": 2.5},
        {"k": True},
        {"exclude": 5},
        {"exclude": "no-such-file.csv"},
        {"exclude": pandas.DataFrame({"user": ["u1"]})},
        {"unknown": "ignore"},
        {"candidates": -1},
        {"context": {"nothing": 1}},
        {"context": {"user": "u1"}},
        {"context": {5: 1}},
    ],
)
def test_wrong_arguments(fitted, wrong):
    with pytest.raises((ValueError, TypeError, OSError, OverflowError, LookupError)):
        fitted.recommend(**{"users": "u1", **wrong})


def test_context(log):
    rng = np.random.default_rng(1)
    devices = log.drop(columns="time").assign(device=rng.choice(["phone", "desk"], len(log)))
    recommender = Recommender("fm", seed=1).fit(devices)
    with pytest.warns(UserWarning, match="left out.*device"):
        plain = recommender.recommend("u1", 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        phone = recommender.recommend("u1", 3, context={"device": "phone"})
        assert recommender.recommend("u1", 3).equals(plain)
    assert not phone["score"].equals(plain["score"])
    pairs = phone.assign(device="phone")[["user", "item", "device"]]
    assert np.allclose(recommender.predict(pairs), phone["score"])
    with pytest.warns(UserWarning, match="does not know the value 'phon'"):
        recommender.recommend("u1", 3, context={"device": "phon"})


def test_exclude_that_excludes_nobody(log, fitted):
    with pytest.warns(UserWarning, match="knows none of the users"):
        fitted.recommend("u1", exclude=log.assign(user="x"))


def test_events_are_read_once(log, fitted):
    seen = fitted.events(log)
    assert seen.info["users"] == 48 and "48 users" in repr(seen)
    assert fitted.recommend("u1", 3, exclude=seen).equals(fitted.recommend("u1", 3, exclude=log))
    other = Recommender("fm", epochs=1).fit(log)
    with pytest.raises(ValueError, match="another recommender"):
        other.recommend("u1", exclude=seen)


def test_new_users(log, fitted):
    events = pandas.DataFrame({"user": ["x", "x", "x", "y"], "item": ["b2", "b6", "b1", "b7"], "rating": [5, 5, 1, 5]})
    best = fitted.recommend_new(events, 4)
    assert {kind(item) for item in best.loc[best["user"] == "x", "item"]} == {2}
    assert not set(events["item"][:3]) & set(best.loc[best["user"] == "x", "item"])
    names, items, scores = fitted.recommend_new(events, 4, as_frame=False)
    assert names.tolist() == ["x", "y"] and items.shape == scores.shape == (2, 4)
    with pytest.raises(ValueError, match="no user has an event"):
        fitted.recommend_new(events.assign(item="nothing"))
    with pytest.warns(UserWarning, match="1 events have items"):
        fitted.recommend_new(pandas.concat([events, events[:1].assign(item="nothing")]))


# ---- Scores, vectors, tables


def test_scores_of_pairs(log, fitted):
    best = fitted.recommend(["u1", "u2"], 3)
    assert np.allclose(fitted.predict(best[["user", "item"]]), best["score"])
    assert np.allclose(fitted.predict(list(zip(best["user"], best["item"]))), best["score"])
    assert np.allclose(fitted.predict({"user": best["user"], "item": best["item"].tolist()}), best["score"])
    assert np.allclose(fitted.predict(log), fitted.model_.scores(log)[0])
    with pytest.raises(furrow.NotFoundError):
        fitted.predict([("u1", "nothing")])
    assert np.isnan(fitted.predict([("u1", "nothing"), ("u1", "b1")], unknown="skip")).tolist() == [True, False]
    assert fitted.predict([]).shape == (0,)
    with pytest.raises(ValueError, match="'item'"):
        fitted.predict(log[["user"]])
    for wrong in ("log.csv", ["u1", "b1"], [("u1",)]):
        with pytest.raises(TypeError):
            fitted.predict(wrong)


def test_vectors_give_the_scores(log, fitted):
    items, (users, rest) = fitted.item_vectors(), fitted.user_vectors()
    best = fitted.recommend(k=1)
    scores = rest[:, None] + users @ items.T
    assert [fitted.items[i] for i in scores.argmax(axis=1)] == best["item"].tolist()
    assert np.allclose(scores.max(axis=1), best["score"], atol=1e-4)


def test_index_of_items(fitted):
    index = fitted.to_index()
    users, _ = fitted.user_vectors()
    _, found = index.search_names(users, 5)
    assert found.ravel().tolist() == fitted.recommend(k=5)["item"].tolist()


@pytest.mark.filterwarnings("ignore:.*worse than a constant")
def test_models_without_vectors():
    with pytest.raises(furrow.UnsupportedError):
        Recommender("ffm", epochs=1).fit(make_log(500)).item_vectors()
    with pytest.raises(furrow.UnsupportedError):
        Recommender("ffm", epochs=1).fit(make_log(500)).similar("b1")


def test_tables_and_history(log, tmp_path):
    items = pandas.DataFrame({"item": [f"b{x}" for x in range(60)], "kind": [f"k{x % KINDS}" for x in range(60)]})
    recommender = Recommender("fm", tables={"item": items}, seed=1).fit(log)
    assert recommender.encoder_.knows("kind", "k1") and "features kind" in repr(recommender)
    best = recommender.recommend("u1", 5, exclude=log)
    assert {kind(item) for item in best["item"]} == {1}
    assert np.allclose(recommender.predict(best[["user", "item"]]), best["score"])
    items.to_csv(tmp_path / "items.csv", index=False)
    by_file = Recommender("fm", tables={"item": tmp_path / "items.csv"}, seed=1).fit(log)
    assert by_file.recommend("u1", 5, exclude=log).equals(best)
    assert "tables=['item']" in repr(Recommender("fm", tables={"item": items}))
    history = Recommender("fm", user_history=5, seed=1).fit(log)
    assert history.schema_.to_dict()["history"] == 5 and len(history.recommend("u1", 3)) == 3
    with pytest.raises(ValueError, match="history"):
        history.predict([("u1", "b1")])


@pytest.mark.parametrize("model", ["lr", "deepfm", "ffm", "gbdt"])
def test_other_models(log, model):
    clicks = log.assign(click=(log["rating"] >= 4).astype(int)).drop(columns=["rating", "time"])
    few = {"trees": 5} if model == "gbdt" else {"epochs": 3}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few epochs leave a poor model, of which it warns
        recommender = Recommender(model, seed=1, **few).fit(clicks)
    assert len(recommender.recommend(k=3)) == 3 * recommender.n_users
    assert recommender.algorithm_ == model
    exact = recommender.prepare(method="exact")
    assert exact["method"] in ("exact", "vectors")
    assert len(recommender.recommend("u1", 3)) == 3


def test_methods(fitted):
    copy = pickle.loads(pickle.dumps(fitted))
    assert copy.method["method"] == "vectors"
    assert copy.prepare(method="auto")["method"] == "vectors"
    with pytest.raises(ValueError, match="method is one of"):
        copy.prepare(method="fast")
    with pytest.raises(ValueError):
        copy.prepare(recall=2)


# ---- Files, pickles, parameters


def test_save_and_load(fitted, folder, run, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = Recommender.load(tmp_path / "model")
    assert loaded.recommend(k=3).equals(fitted.recommend(k=3)) and loaded.model == "fm"
    assert loaded.notes_ == fitted.notes_ and repr(loaded) == repr(fitted)
    printed = run("recommend", "--model", str(tmp_path / "model"), "--users", "u1", "-k", "3", "--csv", "-q")
    same(fitted.recommend("u1", 3), printed)
    assert Recommender.load(folder / "model").recommend(k=3).equals(fitted.recommend(k=3))
    with pytest.raises(FileExistsError):
        fitted.save(tmp_path / "model")
    Recommender("fm", epochs=1).fit(make_log(500)).save(tmp_path / "model", overwrite=True)
    assert loaded.recommend(k=3).equals(fitted.recommend(k=3))
    assert not Recommender.load(tmp_path / "model").recommend(k=3).equals(fitted.recommend(k=3))
    assert os.listdir(tmp_path) == ["model"]
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.txt").write_text("years")
    with pytest.raises(FileExistsError, match="not a model"):
        fitted.save(tmp_path / "precious", overwrite=True)
    for wrong in (tmp_path / "precious", tmp_path / "nothing"):
        with pytest.raises(FileNotFoundError):
            Recommender.load(wrong)


def test_a_damaged_model(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    path = tmp_path / "model" / "dictionary.furrow"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(furrow.FormatError):
        Recommender.load(tmp_path / "model")
    path.unlink()
    with pytest.raises(FileNotFoundError):
        Recommender.load(tmp_path / "model")


def test_pickle_in_another_process(log, fitted, tmp_path):
    (tmp_path / "r.pickle").write_bytes(pickle.dumps(fitted))
    code = "import pickle, sys; r = pickle.load(open(sys.argv[1], 'rb')); print(r.recommend('u1', 3)['item'].tolist())"
    run = [sys.executable, "-c", code, tmp_path / "r.pickle"]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert eval(done.stdout) == fitted.recommend("u1", 3)["item"].tolist()
    empty = pickle.loads(pickle.dumps(Recommender("lr", rank=3)))
    assert empty.get_params()["rank"] == 3 and empty.model == "lr"


def test_scikit_learns_clone(fitted):
    sklearn = pytest.importorskip("sklearn.base")
    original = Recommender("fm", rank=4, tables={"item": pandas.DataFrame({"item": ["a"]})}, user="user")
    copy = sklearn.clone(original)
    assert copy.get_params().keys() == original.get_params().keys()
    assert copy.settings == {"rank": 4} and copy.user == "user"
    assert copy.set_params(rank=8, user="who").get_params()["rank"] == 8 and copy.user == "who"
    assert not hasattr(sklearn.clone(fitted), "schema_")


def test_the_model_outlives_its_recommender(log):
    model = Recommender("fm", epochs=1).fit(log).model_
    assert len(model.scores(log[:5])[0]) == 5


# ---- Threads, signals, memory


def test_threads_at_once(log, fitted):
    wanted = fitted.recommend(k=5, exclude=log)
    copy = pickle.loads(pickle.dumps(fitted))
    wrong = []

    def work(number):
        for i in range(15):
            if number == 0 and i % 5 == 0:
                copy.prepare()
            if not copy.recommend(k=5, exclude=log).equals(wanted):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_fit_beside_recommendations(log):
    other = log.assign(item="c" + log["item"].str[1:])[:600]
    recommender = Recommender("fm", epochs=1, seed=1).fit(log)
    ended, mixed = threading.Event(), []

    def work():
        while not ended.is_set():
            prefixes = {item[0] for item in recommender.recommend(k=5)["item"]}
            if len(prefixes) != 1:
                mixed.append(prefixes)

    thread = threading.Thread(target=work)
    thread.start()
    for i in range(8):
        recommender.fit(other if i % 2 else log)
    ended.set()
    thread.join()
    assert not mixed


def test_reading_events_can_be_stopped(fitted, tmp_path):
    lines = [f"u{i % 48},b{i % 60}\n" for i in range(1000)]
    (tmp_path / "long.csv").write_text("user,item\n" + "".join(lines) * 6000)
    told = []
    events = fitted.events(tmp_path / "long.csv", progress=lambda *news: told.append(news))
    assert events.info["rows"] == 6_000_000
    if len(told) < 3:
        pytest.skip("this machine reads the log before anybody asks for progress")
    assert told[0][0] == "reading"
    with pytest.raises(furrow.CancelledError):
        fitted.events(tmp_path / "long.csv", progress=lambda *news: False)


def test_progress_that_asks_the_recommender(log, fitted):
    answers = []
    fitted.recommend(k=5, progress=lambda *news: answers.append(fitted.n_items))
    assert set(answers) <= {fitted.n_items}


def test_interrupt_during_fit(tmp_path):
    path = tmp_path / "log.csv"
    make_log(60_000, 2000, 2000).to_csv(path, index=False)
    code = """
import sys
from furrow.recommender import Recommender
try:
    print("start", flush=True)
    Recommender("fm", epochs=100000, rank=64, keep="last", patience=0).fit(sys.argv[1])
    print("trained")
except KeyboardInterrupt:
    print("interrupted")
"""
    child = subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "start\n"
    time.sleep(1.5)
    assert child.poll() is None
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=120)
    assert out == "interrupted\n"


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_no_leak_over_many_calls(log, fitted):
    def once():
        fitted.recommend(k=5, exclude=log)
        fitted.similar("b1")
        fitted.item_vectors()
        pickle.loads(pickle.dumps(fitted)).recommend("u1", 2)
        with pytest.raises(LookupError):
            fitted.recommend("nobody")

    for _ in range(20):
        once()
    before = resident()
    for _ in range(80):
        once()
    assert resident() - before < 15_000_000


# ---- Frames of integers


@pytest.fixture(scope="module")
def numbered():
    rng = np.random.default_rng(8)
    pairs = {"user": rng.integers(0, 40, 900), "item": rng.integers(0, 25, 900).astype(np.int32)}
    log = pandas.DataFrame(pairs).drop_duplicates().reset_index(drop=True)
    return log.assign(rating=np.where(log["user"] % 5 == log["item"] % 5, 5.0, 1.0))


def test_integers_come_back_as_integers(numbered, tmp_path):
    recommender = Recommender("fm", seed=1).fit(numbered)
    best = recommender.recommend([3, 4], k=3)
    assert best.dtypes[["user", "item"]].tolist() == [np.int64, np.int32]
    assert len(best.merge(numbered, on=["user", "item"], how="left")) == 6
    assert sorted(recommender.users) == list(range(40)) and sorted(recommender.items) == list(range(25))
    alike = recommender.similar(7, k=2)
    assert alike["item"].dtype == np.int32 and alike["like"].tolist() == [7, 7]
    items, _ = recommender.recommend([3], k=2, as_frame=False)
    assert items.tolist() == [best["item"][:2].tolist()]
    new = recommender.recommend_new(numbered[:30].assign(user=500), k=2)
    assert new["user"].tolist() == [500, 500] and new["user"].dtype == np.int64
    again = pickle.loads(pickle.dumps(recommender))
    assert again.recommend([3, 4], k=3).equals(best)
    recommender.save(tmp_path / "model")
    loaded = Recommender.load(tmp_path / "model").recommend([3, 4], k=3)
    assert loaded["item"].tolist() == best["item"].astype(str).tolist()
    assert recommender.to_index().search_names(recommender.item_vectors()[:1], 1) is not None


def test_nullable_integers_come_back_as_integers(numbered):
    recommender = Recommender("lr", epochs=1).fit(numbered.astype({"user": "UInt32", "item": str}))
    best = recommender.recommend([3], k=1)
    assert best["user"].dtype == np.uint32 and best["item"].dtype in (object, "str")


def test_unknown_names_are_left_out_if_asked(numbered):
    recommender = Recommender("fm", epochs=1).fit(numbered)
    for call in (lambda **how: recommender.recommend([3, 999], k=1, **how),
                 lambda **how: recommender.predict([(999, 1)], **how)):  # fmt: skip
        with pytest.raises(furrow.NotFoundError, match="unknown='skip'") as failure:
            call()
        assert "unknown='skip'" in failure.value.hint
        call(unknown="skip")


def test_one_pair_as_a_dict(numbered):
    recommender = Recommender("fm", epochs=1).fit(numbered)
    assert recommender.predict({"user": 3, "item": 4}) == recommender.predict([(3, 4)])
    assert recommender.model_.scores({"user": 3, "item": 4})[0] == recommender.predict([(3, 4)])


def test_errors_name_the_row_of_the_frame(numbered):
    holes = numbered.assign(rating=numbered["rating"].where(numbered.index != 7))
    with pytest.raises(furrow.ParseError, match="^row 7 of the frame .*: column rating: the label is missing"):
        Recommender("fm").fit(holes)
    lines = holes.assign(note="two\nlines")
    with pytest.raises(furrow.ParseError, match="column rating: the label is missing") as failure:
        Recommender("fm").fit(lines)
    assert "row" not in str(failure.value).partition("column rating")[0].replace("furrow", "")
    recommender = Recommender("fm", epochs=1).fit(numbered)
    with pytest.raises(furrow.FormatError, match="^the frame: "):
        recommender.model_.predict(numbered[["user"]])
