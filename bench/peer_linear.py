"""bench/peer_linear.py sklearn|gblinear DATA.npz THREADS EPOCHS: logistic regression; one line of JSON.

sklearn: SGDClassifier, one pass over a sparse matrix in memory. gblinear: xgboost's linear booster, one round, which
looks at every feature once. The fastest pass counts.
"""
import json
import resource
import sys
import time

import numpy
import scipy.sparse

peer, path, threads, epochs = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:5])
data = numpy.load(path)
rows, labels = data["rows"], data["labels"]
count, fields = rows.shape
matrix = scipy.sparse.csr_matrix((numpy.ones(count * fields, numpy.float32), rows.reshape(-1),
                                  numpy.arange(0, count * fields + 1, fields)))


def processor_time():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if peer == "sklearn":
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import SGDClassifier

    warnings.simplefilter("ignore", ConvergenceWarning)

    def one_pass():
        SGDClassifier(loss="log_loss", alpha=1e-9, learning_rate="constant", eta0=0.02, max_iter=1, tol=None,
                      shuffle=False).fit(matrix, labels)
else:
    import xgboost

    train = xgboost.DMatrix(matrix, (labels > 0).astype(float), nthread=threads)

    def one_pass():
        xgboost.train({"booster": "gblinear", "objective": "binary:logistic", "nthread": threads, "verbosity": 0}, train,
                      num_boost_round=1)

wall, cpu = [], []
for _ in range(epochs):
    began, used = time.perf_counter(), processor_time()
    one_pass()
    wall.append(time.perf_counter() - began)
    cpu.append(processor_time() - used)
print(json.dumps({"rows": count, "seconds": min(wall), "cpu": min(cpu)}))
