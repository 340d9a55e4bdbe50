"""Schemas and encoders of raw logs."""

import json
import os
import pickle
import subprocess
import sys
import threading
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import furrow
from furrow import _core
from furrow.schema import Encoder, Schema, encode, split

pandas = pytest.importorskip("pandas")


@pytest.fixture
def log():
    rng = np.random.default_rng(5)
    n = 400
    return pandas.DataFrame(
        {
            "user": [f"u{x}" for x in rng.integers(20, size=n)],
            "item": [f"größe {x}" for x in rng.integers(15, size=n)],
            "color": rng.choice(["red", "blue, dark", 'say "hi"'], n),
            "price": rng.integers(1, 50, n) / 4,
            "rating": rng.integers(1, 6, n),
            "time": 1_700_000_000 + 60 * np.arange(n),
        }
    )


@pytest.fixture
def command():
    path = os.environ.get("FURROW_COMMAND", os.path.join(os.path.dirname(__file__), "../../build/furrow"))
    if not os.path.exists(path):
        pytest.skip("the command furrow is not built")
    return path


# ---- Schema


def test_proposal_says_what_columns_are(log):
    schema = Schema.propose(log)
    assert {c.name: c.as_ for c in schema.columns} == {
        "user": "category",
        "item": "category",
        "color": "category",
        "price": "number",
        "rating": "label",
        "time": "time",
    }
    assert schema.roles == {"user": "user", "item": "item", "time": "time", "label": "rating"}
    assert "distinct values" in schema.columns[0].why
    assert repr(schema).splitlines()[1].split()[:3] == ["user", "category", "user"]
    assert "category" in schema._repr_html_()


def test_columns_by_name(log):
    odd = log.rename(columns={"user": "who", "item": "what", "rating": "grade", "time": "when"})
    schema = Schema.propose(odd, user="who", item="what", label="grade", time="when", history=3)
    assert schema.roles == {"user": "who", "item": "what", "time": "when", "label": "grade"}
    assert schema.to_dict()["history"] == 3
    with pytest.raises(ValueError, match="there is no column whom; .*did you mean who"):
        Schema.propose(odd, user="whom")
    with pytest.raises(TypeError, match="name of a column"):
        Schema.propose(odd, user=5)


def test_text_dict_file_and_pickle_are_the_same_schema(log, tmp_path):
    schema = Schema.propose(log)
    assert Schema.parse(schema.text()) == schema
    assert Schema.parse(schema.text(comments=True)).columns == schema.columns
    assert Schema.parse(schema.to_dict()) == schema
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert hash(Schema.parse(schema.text())) == hash(schema)
    path = tmp_path / "schema.json"
    schema.save(path)
    assert Schema.load(path) == schema and Schema.load(str(path)).columns == schema.columns
    with pytest.raises(FileExistsError):
        schema.save(path)
    changed = schema.to_dict()
    changed["columns"]["price"]["as"] = "ignore"
    del changed["columns"]["price"]["scale"]
    other = Schema.parse(changed)
    other.save(path, overwrite=True)
    assert Schema.load(path) == other != schema
    assert os.listdir(tmp_path) == ["schema.json"]


def test_a_schema_that_is_wrong():
    with pytest.raises(furrow.FormatError):
        Schema.parse("{")
    with pytest.raises(furrow.FormatError, match="columns"):
        Schema.parse({"columns": {"a": {"as": "nothing"}}})
    with pytest.raises(FileNotFoundError):
        Schema.load("no-such-schema.json")
    assert Schema.parse({"columns": {"a": {"as": "label"}}}) != {"columns": {}}


def test_trees_take_few_integers_for_amounts():
    calls = np.arange(600) % 6
    frame = pandas.DataFrame({"calls": calls, "shop_id": calls % 4, "kind": np.where(calls % 2, "a", "b")})
    of = {column.name: column.as_ for column in Schema.propose(frame).columns}
    assert of == {"calls": "category", "shop_id": "category", "kind": "category"}
    amounts = {column.name: column.as_ for column in Schema.propose(frame, amounts=True).columns}
    assert amounts == {**of, "calls": "number"}
    for model, kind in (("gbdt", "number"), ("lr", "category")):
        schema = furrow.Classifier(model).fit(frame, (calls > 3) ^ (np.arange(600) % 7 == 0)).schema_
        assert {column.name: column.as_ for column in schema.columns}["calls"] == kind


def test_strict_refuses_a_guess(log):
    guess = log.assign(rating=np.where(log["rating"] > 3, "foo", "bar"))
    assert set(Schema.propose(guess).class_names) == {"foo", "bar"}
    with pytest.raises(ValueError):
        Schema.propose(guess, strict=True)
    with pytest.raises(ValueError):
        Encoder.build(guess)
    assert Encoder.build(guess, strict=False).schema.class_names == Schema.propose(guess).class_names
    assert "foo" in repr(Schema.propose(guess))


def test_bad_rows_are_told_of(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("user,item,rating\n" + "a,x,1\nb,y,2\n" * 30 + 'c,"z,3\n')
    with pytest.raises(furrow.ParseError):
        Schema.propose(path)
    with pytest.warns(UserWarning, match="1 of 61 rows were left out"):
        Schema.propose(path, on_bad="skip")
    with pytest.raises(ValueError, match="on_bad"):
        Schema.propose(path, on_bad="ignore")


# ---- Encoder


def test_frames_files_and_arrow_give_the_same_bytes(log, tmp_path):
    encoder = Encoder.build(log)
    log.to_csv(tmp_path / "log.csv", index=False)
    log.to_json(tmp_path / "log.jsonl", orient="records", lines=True, force_ascii=False)
    log.to_csv(tmp_path / "log.tsv", index=False, sep="\t")
    for name in ("log.csv", "log.jsonl", "log.tsv"):
        assert Encoder.build(tmp_path / name).to_files() == encoder.to_files(), name
    assert Encoder.build(log.astype({"user": "category", "color": "category"})) == encoder
    assert Encoder.build(log, threads=1).to_files() == encoder.to_files()
    assert Encoder.build({name: log[name] for name in log}) == encoder
    assert Encoder.build(log[:50]) != encoder


def test_equals_the_command(log, tmp_path, command):
    log.to_csv(tmp_path / "log.csv", index=False)
    run = ["rows", "encode", "log.csv", "--schema", "auto", "--out", "rows.libffm", "--dictionary", "encoder", "-q"]
    subprocess.run([command, *run], cwd=tmp_path, check=True)
    assert Encoder.load(tmp_path / "encoder").to_files() == Encoder.build(log).to_files()
    rows = encode(log)
    lines = [line.split() for line in (tmp_path / "rows.libffm").read_text().splitlines()]
    assert [float(line[0]) for line in lines] == rows.labels.tolist()
    read = [tuple(part.split(":")) for line in lines for part in line[1:]]
    assert [int(index) for _, index, _ in read] == rows.indices.tolist()
    assert [int(field) for field, _, _ in read] == rows.fields.tolist()
    assert np.allclose([float(value) for _, _, value in read], rows.values, rtol=1e-6)


def test_every_feature_has_a_name(log):
    encoder = Encoder.build(log)
    fields = {field.name: field for field in encoder.fields}
    assert fields["user"].side == "user" and fields["item"].side == "item" and fields["color"].side == "context"
    assert encoder.n_features == sum(field.count for field in encoder.fields) == len(encoder.features())
    index = encoder.find("item", "größe 7")
    feature = encoder.feature(index)
    assert (feature.field, feature.name) == ("item", "größe 7")
    assert feature.count == (log["item"] == "größe 7").sum()
    assert encoder.knows("user", "u1") and not encoder.knows("user", "u99")
    with pytest.raises(LookupError):
        encoder.find("user", "u99")
    with pytest.raises(ValueError, match="no field 'usr'"):
        encoder.find("usr", "u1")
    with pytest.raises(ValueError):
        encoder.find("price", "1")
    for first, end in ((-1, 2), (0, encoder.n_features + 1), (5, 2), (2**63, 2**63 + 1)):
        with pytest.raises(IndexError):
            encoder.features(first, end)
    with pytest.raises(IndexError):
        encoder.feature(encoder.n_features)
    with pytest.raises(IndexError):
        encoder.find(99, "u1")


def test_an_event_is_the_row_of_its_line(log):
    encoder = Encoder.build(log)
    rows = encode(log, encoder)
    for i in (0, 17, 399):
        event = encoder.encode_event(log.iloc[i].to_dict())
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        assert event.indices == rows.indices[part].tolist()
        assert event.fields == rows.fields[part].tolist()
        assert np.array_equal(np.float32(event.values), rows.values[part])
    assert encoder.encode_event(user="u1") == encoder.encode_event({"user": "u1"}, item=None)
    assert encoder.encode_event(user="nobody", price=float("nan")).indices == []
    with pytest.raises(ValueError, match="usr"):
        encoder.encode_event(usr="u1")
    with pytest.raises(furrow.ParseError, match="price"):
        encoder.encode_event(price="dear")
    with pytest.raises(TypeError, match="name of a column"):
        encoder.encode_event({5: "x"})
    with pytest.raises(ValueError, match="NUL"):
        encoder.encode_event(user="a\0b")


def test_columns_with_names_of_python(log):
    odd = log.rename(columns={"user": "class", "item": "from", "color": "self"})
    encoder = Encoder.build(odd, user="class", item="from", label="rating")
    assert encoder.encode_event({"class": "u1", "self": "red"}).fields == [0, 2]
    assert encoder.encode_event(**{"self": "red"}).fields == [2]


def test_save_load_and_pickle(log, tmp_path):
    encoder = Encoder.build(log)
    encoder.save(tmp_path / "encoder")
    assert Encoder.load(tmp_path / "encoder") == encoder
    with pytest.raises(furrow.ExistsError):
        encoder.save(tmp_path / "encoder")
    encoder.save(tmp_path / "encoder", overwrite=True)
    assert pickle.loads(pickle.dumps(encoder)) == encoder
    encoder.save("memory://test-encoder")
    try:
        assert Encoder.load("memory://test-encoder") == encoder
    finally:
        _core.remove_file("memory://test-encoder/schema.json")
        _core.remove_file("memory://test-encoder/dictionary.furrow")
    with pytest.raises(FileNotFoundError):
        Encoder.load(tmp_path / "nothing")
    assert "features of the fields user" in repr(encoder)


def test_pickle_in_another_process(log, tmp_path):
    (tmp_path / "encoder.pickle").write_bytes(pickle.dumps(Encoder.build(log)))
    code = "import pickle, sys; e = pickle.load(open(sys.argv[1], 'rb')); print(e.find('user', 'u3'))"
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "encoder.pickle"], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) == Encoder.build(log).find("user", "u3")


def test_names_that_are_not_utf8_come_back(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes(b"user,item,rating\n" + b"caf\xe9,x,1\nbar,y,2\n" * 30)
    encoder = Encoder.build(path)
    names = [feature.name for feature in encoder.features() if feature.field == "user"]
    (odd,) = [name for name in names if name.startswith("caf")]
    assert odd == "café"  # read as Windows-1252
    assert encoder.feature(encoder.find("user", odd)).name == odd
    assert encoder.encode_event(user=odd).indices == [encoder.find("user", odd)]


def test_missing_values(log):
    holes = log.copy()
    holes.loc[::7, "user"] = None
    holes.loc[::5, "price"] = np.nan
    encoder = Encoder.build(holes)
    assert {f.name: f.missing for f in encoder.fields}["user"] == holes["user"].isna().sum()
    nullable = holes.astype({"user": "string", "price": "Float64"})
    assert Encoder.build(nullable) == encoder


def test_ids_stay_ids_beside_missing_values():
    ids = pandas.DataFrame({"user": [3, 4, 3, 4] * 10, "item": [1, 2, 2, 1] * 10, "rating": [1, 2, 3, 4] * 10})
    whole = Encoder.build(ids)
    holes = pandas.concat([ids, pandas.DataFrame({"user": [None], "item": [1], "rating": [1]})])
    assert holes["user"].dtype == object or holes["user"].dtype == float
    assert Encoder.build(holes.astype({"user": float})).knows("user", 3)
    assert whole.find("user", 3) == whole.find("user", "3") == whole.find("user", 3.0)


def test_frames_that_are_not_logs(log):
    twice = log.copy()
    twice.columns = ["user", "user", *log.columns[2:]]
    for bad in (twice, log[:0], log[[]], pandas.DataFrame()):
        with pytest.raises(ValueError):
            Encoder.build(bad)
    for bad in (5, None, [1, 2], np.ones((3, 2))):
        with pytest.raises((TypeError, ValueError)):
            Encoder.build(bad)


def test_a_log_that_lacks_columns(log):
    encoder = Encoder.build(log)
    with pytest.raises(furrow.FormatError, match="item"):
        encode(log.drop(columns="item"), encoder).load()
    assert encode(log.drop(columns="rating"), encoder).labels is None
    with pytest.raises(ValueError, match="schema='auto' only"):
        Encoder.build(log, encoder.schema, user="user")
    with pytest.raises(TypeError):
        encode(log, encoder, user="user")
    with pytest.raises(TypeError):
        Encoder.build(log, 5)
    with pytest.raises(ValueError, match="standard input"):
        Encoder.build("-")


# ---- Tables


@pytest.fixture
def items():
    return pandas.DataFrame({"item": [f"größe {x}" for x in range(15)], "kind": [f"k{x % 3}" for x in range(15)]})


def test_frames_are_joined_as_files_are(log, items, tmp_path, monkeypatch):
    log.to_csv(tmp_path / "log.csv", index=False)
    items.to_csv(tmp_path / "items.csv", index=False)
    monkeypatch.chdir(tmp_path)
    by_file = Encoder.build("log.csv", tables={"item": "items.csv"})
    by_frame = Encoder.build(log, tables={"item": items})
    assert [field.name for field in by_frame.fields] == [field.name for field in by_file.fields]
    assert by_frame.features() == by_file.features()
    event = {"user": "u1", "item": "größe 4"}
    assert by_frame.encode_event(event) == by_file.encode_event(event)
    assert by_frame.find("kind", "k1") in by_frame.encode_event(event).indices
    renamed = items.rename(columns={"item": "id"})
    assert Encoder.build(log, tables={"item": (renamed, "id")}).features() == by_file.features()
    assert Encoder.build(log, tables={"item": items}).to_files() == by_frame.to_files()


def test_schemas_with_tables_of_frames(log, items):
    schema = Schema.propose(log, tables={"item": items})
    encoder = Encoder.build(log, schema)
    assert encoder.schema == schema
    copy = pickle.loads(pickle.dumps(schema))
    with pytest.raises(FileNotFoundError, match="frame-0-item"):
        Encoder.build(log, copy)
    assert Encoder.build(log, copy, tables={"item": items}) == encoder
    other = items.assign(kind="k9")
    assert Encoder.build(log, copy, tables={"item": other}).knows("kind", "k9")
    with pytest.raises(ValueError, match="'user'"):
        Encoder.build(log, copy, tables={"user": items})
    with pytest.raises(TypeError, match="mapping"):
        Encoder.build(log, tables=["items.csv=item"])
    with pytest.raises(ValueError):
        Encoder.build(log, tables={"nothing": items})


def test_the_tables_of_a_schema_file_lie_beside_it(log, items, tmp_path):
    items.to_csv(tmp_path / "items.csv", index=False)
    definition = Schema.propose(log, tables={"item": tmp_path / "items.csv"}).to_dict()
    definition["tables"] = {"items.csv": "item"}
    (tmp_path / "schema.json").write_text(json.dumps(definition))
    assert Encoder.build(log, tmp_path / "schema.json").knows("kind", "k1")
    assert Encoder.build(log, definition, tables={"item": items}).knows("kind", "k1")


# ---- Rows


def test_rows_of_a_log(log):
    rows = encode(log)
    matrix = rows.to_scipy()
    assert matrix.shape == rows.shape == (400, rows.encoder.n_features)
    assert rows.labels.tolist() == log["rating"].tolist()
    users = [f.first for f in rows.encoder.fields if f.name == "user"][0]
    column = matrix[:, rows.encoder.find("user", "u3")].toarray().ravel()
    assert users == 0 and (column == (log["user"] == "u3")).all()
    assert sum(len(block) for block in encode(log, rows.encoder)) == 400
    assert encode(log[:3], rows.encoder).to_numpy().shape == (3, rows.encoder.n_features)


# Control characters are taken for binary data, which is refused.
cells = st.text(st.characters(blacklist_categories=["Cs", "Cc"]) | st.sampled_from("\n\t,\"'"), min_size=1, max_size=8)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(cells, cells), min_size=3, max_size=20))
def test_any_text_is_a_name(pairs):
    log = pandas.DataFrame(pairs, columns=["a", "b"]).assign(y=[1.0, 2.0] + [3.0] * (len(pairs) - 2))
    columns = {"a": {"as": "category"}, "b": {"as": "category"}, "y": {"as": "label"}}
    rows = encode(log, {"columns": columns})
    features = rows.encoder.features()
    assert rows.labels.tolist() == log["y"].tolist()
    for i, (a, b) in enumerate(pairs):
        found = [features[j] for j in rows.indices[rows.indptr[i] : rows.indptr[i + 1]]]
        names = {feature.field: feature.name for feature in found}
        assert names == {"a": a, "b": b}
        assert rows.encoder.encode_event(a=a, b=b).indices == [rows.encoder.find("a", a), rows.encoder.find("b", b)]


# ---- Splitting


def test_split_by_time(log, tmp_path):
    train, test = split(log, time="time", user="user", last=0.25)
    assert len(train) + len(test) == len(log)
    assert sorted([*train.index, *test.index]) == list(log.index)
    for user, part in test.groupby("user"):
        assert part["time"].min() > train.loc[train["user"] == user, "time"].max()
        assert len(part) == int(0.25 * (log["user"] == user).sum() + 0.5)
    log.to_csv(tmp_path / "log.csv", index=False)
    out = (tmp_path / "train.csv", tmp_path / "test.csv")
    assert split(tmp_path / "log.csv", out, time="time", user="user", last=0.25) == out
    assert pandas.read_csv(out[1])["time"].tolist() == test["time"].tolist()
    with pytest.raises(furrow.ExistsError):
        split(tmp_path / "log.csv", out, time="time")


def test_split_by_chance_and_group(log):
    parts = split(log, shares=[0.6, 0.2, 0.2], seed=3)
    assert sorted(i for part in parts for i in part.index) == list(log.index)
    assert [list(p.index) for p in parts] == [list(p.index) for p in split(log, shares=[0.6, 0.2, 0.2], seed=3)]
    first, second = split(log, shares=[0.5, 0.5], group="user")
    assert not set(first["user"]) & set(second["user"])


def test_split_refuses(log, tmp_path):
    for wrong in ({}, {"time": "time", "shares": [0.5, 0.5]}, {"time": "when"}, {"time": "time", "group": "user"}):
        with pytest.raises(ValueError):
            split(log, **wrong)
    with pytest.raises(ValueError, match="out"):
        split("log.csv", time="time")
    with pytest.raises(ValueError, match="out"):
        split(log, ("a", "b"), time="time")
    with pytest.raises(TypeError):
        split(5, time="time")
    with pytest.raises(ValueError, match="3 paths"):
        split("log.csv", ("a", "b", "c"), time="time")


# ---- Long calls


def test_progress_can_stop(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("user,item,rating\n" + "".join(f"u{i % 977},b{i % 501},{i % 5}\n" for i in range(600_000)))
    told = []
    encoder = Encoder.build(path, threads=1, progress=lambda *news: told.append(news))
    assert encoder.n_features > 1400
    if told:
        assert {phase for phase, _, _ in told} == {"reading"}

    def stop(phase, done, total):
        raise KeyError("stop")

    if told:
        with pytest.raises(KeyError):
            Schema.propose(path, threads=1, progress=stop)


def test_threads_share_an_encoder(log):
    encoder = Encoder.build(log)
    wanted = encoder.encode_event(user="u1", item="größe 2")
    wrong = []

    def work():
        for _ in range(200):
            if encoder.encode_event(user="u1", item="größe 2") != wanted or len(encoder.fields) != 4:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_no_leak_over_many_calls(log):
    encoder = Encoder.build(log)

    def once():
        again = Encoder.build(log, threads=1)
        again.encode_event(user="u1")
        pickle.loads(pickle.dumps(again.schema))
        encode(log, again).load()
        with pytest.raises(LookupError):
            encoder.find("user", "nobody")

    for _ in range(20):
        once()
    tracemalloc.start()
    before, memory = tracemalloc.take_snapshot(), resident()
    for _ in range(60):
        once()
    grown = sum(stat.size_diff for stat in tracemalloc.take_snapshot().compare_to(before, "filename"))
    tracemalloc.stop()
    assert grown < 200_000
    assert resident() - memory < 20_000_000


def test_linear_models_have_curves_in_bins():
    x = [i * 7919 % 2000 / 500 - 2 for i in range(2000)]
    frame = {"shop": [f"s{i % 3}" for i in range(2000)], "x": x, "sold": [value * value > 1 for value in x]}
    for bins in (False, True):
        found = Schema.propose(frame, label="sold", bin_numbers=bins).to_dict()["columns"]["x"]
        assert (found.get("scale") == "bins") == bins
    y = frame.pop("sold")
    assert furrow.Classifier("lr", schema="auto").fit(frame, y).score(frame, y) > 0.9
