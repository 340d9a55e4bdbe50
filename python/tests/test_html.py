"""Cards for notebooks."""

import xml.etree.ElementTree as xml

import numpy as np
import pytest

from furrow._html import card, size_of, table, text_of, training_chart, training_facts
from furrow.estimators import Classifier, Ranker, Regressor
from furrow.index import Index
from furrow.model import load_model
from furrow.recommender import Recommender
from furrow.rows import read_rows
from furrow.schema import Schema

HISTORY = [
    {"epoch": 1, "best": True, "train_loss": 0.7, "valid_loss": 0.8, "train_rows": 1000},
    {"epoch": 2, "best": True, "train_loss": 0.5, "valid_loss": float("nan"), "train_rows": 1000},
    {"epoch": 3, "best": False, "train_loss": 0.4, "valid_loss": 0.6, "train_rows": 1000},
]


def facts_of(shown):
    """{name: value} of the table of a card, which must be well-formed"""
    cells = [(row.find("th"), row.find("td")) for row in xml.fromstring(shown._repr_html_()).iter("tr")]
    return {name.text: value.text for name, value in cells if name is not None and value is not None}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 4)).astype(np.float32)
    return X, X[:, 0] * X[:, 1] > 0


def test_text_is_escaped():
    text = card("<b>", [("a&b", "<script>"), ("nothing", None)], table(["<i>"], [["<u>"]]))
    assert "<script>" not in text and "&lt;script&gt;" in text and "nothing" not in text
    assert "<i>" not in text and "<u>" not in text
    xml.fromstring(text)


def test_numbers_for_people():
    assert [text_of(x) for x in (True, 1234567, 0.123456, "x")] == ["yes", "1,234,567", "0.1235", "x"]
    assert [size_of(x) for x in (0, 999, 1500, 2**20)] == ["0 bytes", "999 bytes", "1.5 kB", "1.05 MB"]
    assert size_of(10**15) == "1000 TB"


def test_chart_draws_both_sides_and_says_so():
    root = xml.fromstring(training_chart(HISTORY))
    lines = [element.get("points").split() for element in root.iter("polyline")]
    assert [len(points) for points in lines] == [3, 2]  # the NaN is left out
    heights = [float(point.split(",")[1]) for point in lines[0]]
    assert heights == sorted(heights)  # the loss falls: down the picture
    assert "over 3 epochs" in root.get("aria-label") and "valid 0.6" in root.get("aria-label")


def test_no_chart_without_two_points():
    assert training_chart([]) == training_chart(HISTORY[:1]) == training_chart(HISTORY, "auc") == ""


def test_figures_are_those_of_the_best_epoch():
    assert dict(training_facts(HISTORY)) == {"epochs": "3, the best is 2", "rows": "1,000 train", "loss": "0.5 train"}
    assert training_facts([]) == []


@pytest.mark.parametrize("made", [Classifier("fm", rank=4), Regressor(), Ranker(), Recommender()])
def test_not_fitted(made):
    assert facts_of(made)["state"] == "not fitted"
    assert "<svg" not in made._repr_html_()


def test_trees_show_what_they_were_trained_for(rows):
    X, y = rows
    settings = {"objective": "quantile", "quantile": 0.8, "monotone": [1, 0, 0, -1], "trees": 5}
    facts = facts_of(Regressor("gbdt", **settings).fit(X, X[:, 0] + y).model_)
    assert (facts["objective"], facts["quantile"], facts["monotone"]) == ("reg:quantileerror", "0.8", "0=+,3=-")
    assert facts["pinball loss"] == facts["loss"] and "MAE" in facts
    counts = facts_of(Regressor("linear", loss="poisson").fit(X, np.floor(np.exp(X[:, 0]))).model_)
    assert counts["Poisson deviance"] == counts["loss"] and "objective" not in counts


def test_fitted_estimator_shows_its_training(rows):
    X, y = rows
    fitted = Classifier("gbdt", trees=5).fit(X, np.where(y, "<yes>", "no"))
    facts = facts_of(fitted)
    assert (facts["model"], facts["settings"], facts["classes"]) == ("gbdt", "trees=5", "<yes>, no")
    assert (facts["features"], facts["epochs"]) == ("4", "5")
    assert facts["loss"] == f"{fitted.history_[-1]['train_loss']:.4g} train"
    assert "<svg" in fitted._repr_html_()


def test_trees_show_the_gain_of_columns(tmp_path):
    log = {"<shop>": [f"s{i % 5}" for i in range(200)], "price": [i * i % 7 for i in range(200)]}
    y = [i % 5 > 2 for i in range(200)]
    fitted = Classifier("gbdt", trees=5, schema="auto", validation_fraction=0.2).fit(log, y)
    fitted.save(tmp_path / "m")
    shares = fitted.model_.column_importances()
    for shown in (fitted, fitted.model_, load_model(tmp_path / "m")):
        root = xml.fromstring(shown._repr_html_())
        cells = [[cell.text for cell in row.iter("td")] for row in root.iter("tr")]
        assert [cell for cell in cells if cell and cell[0] in shares] == [[n, f"{s:.3f}"] for n, s in shares.items()]
    assert shares["<shop>"] > 0.9 and "valid" in facts_of(fitted)["loss"]
    assert "share of gain" not in Classifier("lr").fit(np.eye(4), [0, 1, 0, 1])._repr_html_()


def test_linear_models_show_their_largest_weights(tmp_path):
    log = {"<shop>": [f"s{i % 3}" for i in range(300)], "price": [i * 7 % 50 for i in range(300)]}
    fitted = Classifier("lr", schema="auto").fit(log, [i % 3 == 1 for i in range(300)])
    fitted.save(tmp_path / "m")
    for shown in (fitted, fitted.model_, load_model(tmp_path / "m")):
        root = xml.fromstring(shown._repr_html_())
        cells = [[cell.text for cell in row.iter("td")] for row in root.iter("tr")]
        names = [cell[0] for cell in cells if len(cell) == 2]
        assert names[0] == "<shop>=s1" and {"<shop>=s0", "<shop>=s1", "<shop>=s2", "price"} == set(names)


def test_notebooks_get_the_card_and_not_a_diagram(rows):
    fitted = Regressor().fit(rows[0], rows[0][:, 0])
    bundle = fitted._repr_mimebundle_(include=None, exclude=None)
    assert bundle == {"text/plain": repr(fitted), "text/html": fitted._repr_html_()}


def test_pipelines_keep_their_diagram(rows):
    pipeline = pytest.importorskip("sklearn.pipeline")
    text = pipeline.make_pipeline(Classifier("lr")).fit(*rows)._repr_mimebundle_()["text/html"]
    assert "sk-" in text and "Classifier" in text


def test_steps_without_a_fit_are_shown(rows):
    X, y = rows
    assert facts_of(Classifier("lr").partial_fit(X, y, classes=[False, True]))["model"] == "lr"


def test_model(rows, tmp_path):
    X, y = rows
    fitted = Classifier("lr").fit(X, y.astype(int) + 1)
    fitted.save(tmp_path / "m")
    for model in (fitted.model_, load_model(tmp_path / "m")):
        facts = facts_of(model)
        assert (facts["algorithm"], facts["rows"]) == ("lr", "400 train")
        assert facts["loss"] == f"{fitted.history_[-1]['train_loss']:.4g} train"


def test_index(rows):
    facts = facts_of(Index.build(rows[0], nlist=2, m=2, nbits=4, nprobe=2))
    assert (facts["dimensions"], facts["vectors"], facts["metric"]) == ("4", "400", "l2")
    assert facts["lists"] == "2, of which a search probes 2" and facts["code"] == "1 bytes, 2 x 4 bits"
    assert facts["memory"] == "3.6 kB of codes and ids"
    assert facts_of(Index(8, "IVF4,Flat"))["state"] == "not trained"


def test_rows_are_not_read_to_be_shown(tmp_path):
    path = tmp_path / "a&b.libsvm"
    path.write_text("1 3:0.5 7:2\n0 1:1\n")
    rows = read_rows(path)
    assert facts_of(rows)["state"] == "not in memory" and not rows.loaded
    facts = facts_of(rows.load())
    assert (facts["source"], facts["rows"], facts["values"]) == (str(path), "2", "3")


def test_schema_is_a_table():
    definition = {"columns": {"<user>": {"as": "category", "role": "user"}, "stars": {"as": "label"}}}
    root = xml.fromstring(Schema.parse(definition)._repr_html_())
    cells = [[cell.text or "" for cell in row.iter("td")] for row in root.iter("tr") if row.find("td") is not None]
    assert cells == [["<user>", "category", "user", ""], ["stars", "label", "", ""]]


def test_recommender():
    pandas = pytest.importorskip("pandas")
    pairs = [(f"u{i % 7}", f"<i{i * i % 11}>") for i in range(60)]
    fitted = Recommender("fm", seed=1, epochs=3).fit(pandas.DataFrame(pairs, columns=["user", "item"]))
    facts = facts_of(fitted)
    assert (facts["users"], facts["columns"]) == ("7", "user 'user', item 'item'")
    assert facts["items"] == str(fitted.n_items)
