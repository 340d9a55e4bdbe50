#!/usr/bin/env python3
"""bench/log/peer_tables.py JOB FILE: what pandas and scikit-learn do with a raw log; one line of JSON.

  read        pandas.read_csv
  dictionary  and OrdinalEncoder of the columns of texts, numbers standardised
  hash        and FeatureHasher of column=value, numbers as they are
"""
import json
import os
import resource
import sys
import time

try:
    import pandas
    from sklearn.feature_extraction import FeatureHasher
    from sklearn.preprocessing import OrdinalEncoder, StandardScaler
except ImportError as error:
    sys.exit(f"left out: {error}")


def main():
    job, path = sys.argv[1:]
    wall, cpu = time.perf_counter(), time.process_time()
    if path.endswith(".json"):
        table = pandas.read_json(path, lines=True)
    else:
        table = pandas.read_csv(path)
    texts = [name for name in table.columns if table[name].dtype == object]
    numbers = [name for name in table.columns if name not in texts and name != "click"]
    if job == "dictionary":
        OrdinalEncoder(dtype="uint32").fit_transform(table[texts])
        StandardScaler().fit_transform(table[numbers].to_numpy(dtype="float32"))
    if job == "hash":
        rows = ([f"{name}={value}" for name, value in zip(texts, row)] for row in zip(*(table[t] for t in texts)))
        FeatureHasher(2 ** 22, input_type="string", alternate_sign=False).transform(rows)
    size = os.path.getsize(path)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    print(json.dumps({"program": "pandas", "job": job, "seconds": wall, "cpu_seconds": cpu, "rows": len(table),
                      "mb_per_s": size / wall / 1e6, "mb_per_cpu_s": size / cpu / 1e6, "peak_rss_mb": peak}))


if __name__ == "__main__":
    main()
