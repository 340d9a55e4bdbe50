"""Recommender(): what is chosen for a log on each user's last events."""

import json
import os
import pickle
import subprocess
import warnings

import numpy as np
import pytest

import furrow
from furrow import Recommender

pandas = pytest.importorskip("pandas")

HALF = 40


def make_log(users=200, events=14, seed=5):
    """Even users take items below HALF, odd ones the others, each item once; popular ones more often."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, HALF + 1)
    rows = []
    for user in range(users):
        near = rng.permutation(HALF)[:1]  # items around one are taken together
        likely = weights * np.where(np.abs(np.arange(HALF) - near) < 8, 8, 1)
        taken = rng.choice(HALF, size=events, replace=False, p=likely / likely.sum())
        start = 1_700_000_000 + int(rng.integers(1_000_000))
        rows += [(f"u{user}", f"i{item + user % 2 * HALF}", start + 60 * n) for n, item in enumerate(taken)]
    return pandas.DataFrame(rows, columns=["user", "item", "time"])


def side(item):
    return int(item[1:]) // HALF


@pytest.fixture(scope="module")
def log():
    return make_log()


@pytest.fixture(scope="module")
def fitted(log):
    return Recommender().fit(log)


# ---- Fitting


def test_opposite_tastes_get_different_items(log, fitted):
    best = fitted.recommend(k=5)
    assert set(best["user"]) == set(log["user"])
    own = [side(item) == int(user[1:]) % 2 for user, item in zip(best["user"], best["item"])]
    assert np.mean(own) > 0.95
    assert not set(zip(log["user"], log["item"])) & set(zip(best["user"], best["item"]))


def test_better_than_popular(log, fitted):
    figures = fitted.figures_
    assert figures["of_log"] and figures["k"] == 10 and figures["users"] == 200
    assert figures["chosen"] in figures["candidates"]
    assert figures["ndcg"] == max(candidate["ndcg"] for candidate in figures["candidates"].values())
    assert figures["gain"] > 3 * figures["gain_error"] > 0
    assert figures["ndcg"] == figures["candidates"][figures["chosen"]]["ndcg"]
    assert figures["popular_ndcg"] == figures["candidates"]["popular"]["ndcg"]
    assert "over the most popular items" in fitted.notes_[0] and fitted.notes_[0].startswith(figures["chosen"])
    # on events that nothing was chosen by
    last = log.groupby("user").tail(3)
    early = log.drop(last.index)
    judged = Recommender().fit(early).evaluate(last)
    assert judged["popular_gain"] > 3 * judged["popular_gain_error"] > 0
    assert judged["ndcg"] - judged["popular_ndcg"] == pytest.approx(judged["popular_gain"])


def test_files_frames_and_dicts_give_the_commands_model(log, fitted, tmp_path, command):
    log.to_csv(tmp_path / "log.csv", index=False)
    subprocess.run(
        [command, "train", "--model", "recommender", "--train", "log.csv", "--out", "model", "-q"],
        cwd=tmp_path,
        check=True,
    )
    for name, data in fitted._opened.folder.files.items():
        assert (tmp_path / "model" / name).read_bytes() == data, name
    for same in (tmp_path / "log.csv", {name: list(log[name]) for name in log}):
        assert Recommender("recommender", threads=1).fit(same)._opened.folder.files == fitted._opened.folder.files
    lines = subprocess.run(
        [command, "recommend", "--model", "model", "-k", "2", "-q"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    names = [line.split("\t")[2] for line in lines.stdout.splitlines()]
    assert names == fitted.recommend(k=2)["item"].tolist()


def test_integers_stay_integers(log):
    numbers = log.assign(user=log["user"].str[1:].astype(int), item=log["item"].str[1:].astype(int))
    best = Recommender().fit(numbers).recommend(3, k=2)
    assert best["user"].tolist() == [3, 3] and best["item"].dtype == np.int64


def test_items_that_only_a_table_has(log):
    items = pandas.DataFrame({"item": [f"i{n}" for n in range(2 * HALF)] + ["new0", "new1"]})
    items["kind"] = [f"k{n // 8}" for n in range(2 * HALF)] + ["k0", "k9"]
    recommender = Recommender(tables={"item": items}).fit(log)
    assert {"new0", "new1"} < set(recommender.items)
    with pytest.warns(UserWarning, match="no row for 40 of the log's items"):
        Recommender(tables={"item": items[HALF:]}).fit(log)


def test_users_that_only_a_table_has(log, tmp_path):
    users = pandas.DataFrame({"user": [f"u{n}" for n in range(200)] + ["new0", "new1"]})
    users["country"] = [f"c{n % 2}" for n in range(202)]
    recommender = Recommender(tables={"user": users}).fit(log)
    assert recommender.figures_["user_features"] and any("same features" in note for note in recommender.notes_)
    recommender.save(tmp_path / "model")
    for either in (recommender, Recommender.load(tmp_path / "model")):
        items, _ = either.recommend(["new0", "new1"], k=5, as_frame=False)
        assert [[side(item) for item in row] for row in items] == [[0] * 5, [1] * 5]
    with pytest.warns(UserWarning, match="no row for 120 of the log's users"):
        Recommender(tables={"user": users[80:160]}).fit(log)
    with pytest.raises(furrow.Error, match="none of the values that the log has in user"):
        Recommender(tables={"user": users.assign(user=[f"v{n}" for n in range(202)])}).fit(log)


def test_repeats_are_recommended():
    rng = np.random.default_rng(2)
    rows = [(f"u{user}", f"i{(user * 7 + int(rng.integers(3))) % 50}", 60 * n) for n in range(12) for user in range(150)]
    log = pandas.DataFrame(rows, columns=["user", "item", "time"])
    recommender = Recommender().fit(log)
    assert recommender.figures_["repeats"] > 0.5 and any("repeat" in note for note in recommender.notes_)
    taken = set(zip(log["user"], log["item"]))
    best = recommender.recommend(k=1)
    assert np.mean([pair in taken for pair in zip(best["user"], best["item"])]) > 0.8
    assert not taken & set(zip(*recommender.recommend(k=1, exclude=log)[["user", "item"]].to_numpy().T))


def test_users_with_one_event():
    log = pandas.DataFrame({"user": [f"u{n}" for n in range(30)], "item": [f"i{n % 4}" for n in range(30)]})
    with pytest.warns(UserWarning, match="nothing was compared"):
        recommender = Recommender().fit(log)
    assert recommender.figures_["users"] == 0 and len(recommender.recommend("u0", k=2)) == 2


# ---- What does not apply


@pytest.mark.parametrize("wrong", [{"epochs": 3}, {"factors": 8}, {"user_history": 5}, {"loss": "bpr"}])
def test_settings_of_other_models_are_refused(log, wrong):
    with pytest.raises(ValueError, match=r"Recommender\('fm'"):
        Recommender(**wrong).fit(log)


def test_arguments_of_other_models_are_refused(log):
    with pytest.raises(ValueError, match="valid"):
        Recommender().fit(log, valid=log)
    with pytest.raises(ValueError, match="callback"):
        Recommender().fit(log, callback=print)


def test_it_does_not_score(fitted, tmp_path):
    for use in (lambda: fitted.model_, lambda: fitted.predict([("u0", "i1")]), fitted.item_vectors, fitted.to_index):
        with pytest.raises(furrow.UnsupportedError):
            use()
    fitted.save(tmp_path / "model")
    with pytest.raises(furrow.UnsupportedError, match="recommender"):
        furrow.load_model(tmp_path / "model")
    with pytest.raises(furrow.Error, match="context"):
        fitted.recommend("u0", context={"hour": 3})
    with pytest.raises(furrow.UnsupportedError):
        fitted.prepare(method="index")
    assert fitted.prepare()["method"] == "exact"


# ---- Using it


def test_seen_items(log, fitted):
    taken = set(log["item"][log["user"] == "u0"])
    assert not taken & set(fitted.recommend("u0", k=80)["item"])
    assert taken <= set(fitted.recommend("u0", k=80, include_seen=True)["item"])
    more = pandas.DataFrame({"user": ["u0"], "item": fitted.recommend("u0", k=1)["item"], "time": [1]})
    assert more["item"][0] not in set(fitted.recommend("u0", k=80, exclude=more)["item"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.evaluate(log.groupby("user").tail(1).assign(item="i1"))


def test_similar_items_and_reasons(log, fitted):
    similar = fitted.similar("i3", k=5)
    assert all(side(item) == 0 for item in similar["item"]) and "i3" not in set(similar["item"])
    best = fitted.recommend("u0", k=1)["item"][0]
    reasons = fitted.explain("u0", best)
    assert 0 < len(reasons) <= 3 and set(reasons["item"]) <= set(log["item"][log["user"] == "u0"])
    assert (reasons["part"] > 0).all() and reasons["part"].is_monotonic_decreasing
    names, parts = fitted.explain("u0", best, 1, as_frame=False)
    assert names.tolist() == reasons["item"][:1].tolist() and parts.shape == (1,)
    with pytest.raises(furrow.NotFoundError):
        fitted.explain("nobody", best)
    with pytest.raises(ValueError, match="one item"):
        fitted.explain("u0", ["i1", "i2"])
    with pytest.raises(furrow.UnsupportedError):
        Recommender("fm", epochs=1).fit(log).explain("u0", best)


def test_new_users(fitted):
    events = pandas.DataFrame({"user": ["a", "a", "b", "b"], "item": ["i2", "i5", "i42", "i45"], "time": [1, 2, 1, 2]})
    best = fitted.recommend_new(events, k=4)
    for user, of in (("a", 0), ("b", 1)):
        items = best["item"][best["user"] == user]
        assert len(items) == 4 and all(side(item) == of for item in items)
    assert not set(events["item"]) & set(best["item"])


def test_saving_loading_pickling(log, fitted, tmp_path):
    fitted.save(tmp_path / "model")
    assert not os.path.exists(tmp_path / "model" / "graph.json")
    loaded = Recommender.load(tmp_path / "model")
    assert loaded.model == loaded.algorithm_ == "recommender" and loaded.figures_ == fitted.figures_
    loaded.save(tmp_path / "model", overwrite=True)
    for other in (loaded, pickle.loads(pickle.dumps(fitted))):
        assert other.recommend(k=3).equals(fitted.recommend(k=3)) and other.notes_ == fitted.notes_
    assert repr(fitted) == "<furrow.Recommender recommender: user 'user' (200), item 'item' (80), no label, time 'time'>"
    assert fitted.figures_["chosen"] in fitted._repr_html_() and "recommender" in Recommender()._repr_html_()
    described = json.loads((tmp_path / "model" / "furrow.json").read_text())
    assert described["figures"]["ranking"]["chosen"] == fitted.figures_["chosen"]


def test_a_model_that_ranks_worse_than_popular_warns(tmp_path):
    """Ratings are not what ranks: the items of high ratings are rare."""
    rng = np.random.default_rng(1)
    likely = 1 / np.arange(10, 310)
    taken = [rng.choice(300, size=20, replace=False, p=likely / likely.sum()) for _ in range(150)]
    item = np.concatenate(taken)
    log = pandas.DataFrame({"user": np.repeat(np.arange(150), 20), "item": item, "rating": np.where(item < 200, 1 + item % 3, 5)})
    with pytest.warns(UserWarning, match=r"worse than their popularity.*Recommender\(\) does better"):
        recommender = Recommender("fm", seed=1).fit(log)
    assert recommender.figures_["gain"] < 0 and not recommender.figures_["of_log"]
    recommender.save(tmp_path / "model")
    with pytest.warns(UserWarning, match="worse than their popularity"):
        Recommender.load(tmp_path / "model")
