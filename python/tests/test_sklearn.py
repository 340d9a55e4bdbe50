"""scikit-learn's own checks of estimators."""

import pytest

pytest.importorskip("sklearn")

from sklearn.utils.estimator_checks import parametrize_with_checks

from furrow.estimators import Classifier, Regressor


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
    ]
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)
