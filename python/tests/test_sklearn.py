"""scikit-learn's own checks of estimators, and its tools around them."""

import inspect
import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from furrow.estimators import Classifier, Ranker, Regressor


# A model depends on the order and number of its rows: some are drawn by the seed, for validation or for trees, and
# the default L2 follows their number. From 1.6 on scikit-learn is told here; before that, the tags do.
UNEQUAL = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
EXPECTED = (
    {"expected_failed_checks": lambda estimator: dict.fromkeys(UNEQUAL, "depends on the number of rows")}
    if "expected_failed_checks" in inspect.signature(parametrize_with_checks).parameters
    else {}
)


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        Classifier(),
        Classifier("softmax"),
        Classifier("svm", epochs=20),
        Classifier("fm", rank=2, epochs=30),
        Classifier("dnn", hidden_layer_sizes=(8,), epochs=30),
        Classifier("gbdt", n_estimators=20),
        Regressor(),
        Regressor("robust"),
        Regressor("fm", rank=2),
        Regressor("gbdt", n_estimators=50),
    ],
    **EXPECTED,
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def make_rows(rows=400):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 5))
    return X, np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=rows) > 0, "yes", "no")


def test_kinds():
    assert is_classifier(Classifier()) and is_regressor(Regressor())
    assert not is_classifier(Ranker()) and not is_regressor(Ranker())
    with pytest.raises(NotFittedError):
        Classifier().predict([[1]])


def test_clone_keeps_settings():
    model = Classifier("gbdt", n_estimators=5, min_rows=3, leaves=4).fit(*make_rows())
    other = clone(model)
    assert other.get_params() == model.get_params() and not hasattr(other, "classes_")


def test_pipelines_and_searches():
    X, y = make_rows()
    pipeline = make_pipeline(StandardScaler(), Classifier("lr"))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.6
    search = GridSearchCV(
        Classifier("gbdt", n_estimators=10, seed=1), {"max_depth": [1, 4], "min_rows": [2, 10]}, cv=3, scoring="roc_auc"
    )
    search.fit(X, y)
    assert search.best_params_["max_depth"] == 4 and search.best_score_ > 0.8
    assert set(cross_val_predict(Classifier("gbdt", n_estimators=5), X, y, cv=3)) == {"yes", "no"}
    with pytest.raises(ValueError, match="there is no setting min_row"):
        GridSearchCV(Classifier(), {"min_row": [1]}, cv=3, error_score="raise").fit(X, y)


def test_searches_in_several_processes():
    X, y = make_rows(150)
    search = GridSearchCV(Classifier("lr", threads=1), {"l2": [0.1, 10]}, cv=2, n_jobs=2).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_meta_estimators():
    X, y = make_rows()
    gbdt = Classifier("gbdt", n_estimators=20, seed=1)
    calibrated = CalibratedClassifierCV(gbdt, cv=3).fit(X, y)
    assert calibrated.score(X, y) > 0.8 and calibrated.predict_proba(X).shape == (len(X), 2)
    voting = VotingClassifier([("a", Classifier()), ("b", gbdt)], voting="soft").fit(X, y)
    assert voting.score(X, y) > 0.8
    selected = SelectFromModel(gbdt, threshold="mean").fit(X, y).get_support()
    assert selected[0] and not selected[4]
    importance = permutation_importance(gbdt.fit(X, y), X, y, n_repeats=2, random_state=0)
    assert importance.importances_mean.argmax() == 0
    three = np.digitize(X[:, 0], [-0.5, 0.5])
    many = OneVsRestClassifier(Classifier("fm", rank=2, epochs=5)).fit(X, three)
    assert many.score(X, three) > 0.7


def test_sparse_columns_of_a_transformer():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"city": rng.choice(list("abcdefgh"), 300), "age": rng.random(300)})
    y = frame["city"].isin(["a", "b"]).astype(int)
    columns = ColumnTransformer([("city", OneHotEncoder(), ["city"]), ("age", "passthrough", ["age"])], sparse_threshold=1)
    assert make_pipeline(columns, Classifier("fm", rank=2)).fit(frame, y).score(frame, y) == 1


def test_warnings_of_convergence_are_those_of_scikit_learn():
    X, y = make_rows()
    with pytest.warns(ConvergenceWarning):
        Classifier(epochs=1, l2=1e-12).fit(X * 10.0 ** np.arange(5), X[:, 0] + X[:, 4] > 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Classifier().fit(X, y)
