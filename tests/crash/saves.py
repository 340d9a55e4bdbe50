"""Every kind of save of the command, for power_test.py: how its old state is made, the command that replaces it, and
how the real command reads what is there afterwards.

A save works in a folder of its own, `root`. Its inputs lie elsewhere (Inputs) and do not change. `read` gives the
state as a value that can be compared: bytes of the files and what the command prints about them. If the command fails
on files that are there, that is the state ("failed", …), which is neither the old nor the new one.
"""
import array
import hashlib
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(os.environ.get("FURROW_BUILD") or os.path.join(os.path.dirname(__file__), "..", "..", "build"))
COMMAND = os.path.join(BUILD, "furrow")
SERVER = os.path.join(BUILD, "furrow-serve")
LAYER = os.path.join(BUILD, "tests", "libdisk_layer.so")
FAULT_LAYER = os.path.join(BUILD, "tests", "libfault_layer.so")
LOG_COLUMNS = ["--schema", "auto", "--label", "click", "--user", "user", "--item", "item"]
LIMIT = 120  # seconds for one command: far more than any takes


class Done:
    """What became of a command; it is killed if it does not end."""

    def __init__(self, words, env=None):
        words = [str(w) for w in words]
        done = subprocess.run(words, capture_output=True, env={**os.environ, **(env or {})}, timeout=LIMIT,
                              stdin=subprocess.DEVNULL)
        self.words, self.code, self.out, self.err = words, done.returncode, done.stdout, done.stderr

    def __str__(self):
        return f"{' '.join(self.words)}: {self.code}\n{self.err.decode(errors='replace')}"


def furrow(*words, env=None):
    return Done([COMMAND, *words], env)


def must(done):
    if done.code != 0:
        raise AssertionError(str(done))
    return done.out


def layer_env(root, trace=None, plan=None):
    """The environment of a program whose calls below `root` are recorded, or made to fail."""
    env = {"LD_PRELOAD": LAYER, "DISK_ROOT": os.path.realpath(root)}
    if trace:
        env["DISK_TRACE"] = trace
    if plan:
        env["DISK_PLAN"] = plan
    return env


def digest(data):
    return hashlib.blake2b(data, digest_size=12).hexdigest()


def is_temporary(name):
    return name.startswith(".") and ".furrow-" in name


# The last member of a furrow.json, which is added to a complete model: a model without it is complete, too.
RANKING = re.compile(rb',\n  "ranking" : \{[^}]*\}\n\}\n$')


def path_digest(path):
    """The bytes of a file, or of all files of a folder; None: nothing is there. Temporary files are not part of it."""
    if os.path.isfile(path):
        with open(path, "rb") as file:
            data = file.read()
        return digest(RANKING.sub(b"\n}\n", data) if os.path.basename(path) == "furrow.json" else data)
    if not os.path.isdir(path):
        return None
    names = sorted(n for n in os.listdir(path) if not is_temporary(n))
    return tuple((n, path_digest(os.path.join(path, n))) for n in names)


# ---- Inputs ----


def write_vectors(path, count, dimension, draw):
    with open(path, "wb") as file:
        for _ in range(count):
            array.array("i", [dimension]).tofile(file)
            array.array("f", [draw.gauss(0, 1) for _ in range(dimension)]).tofile(file)


def write_lines(path, lines):
    with open(path, "w") as file:
        file.writelines(line + "\n" for line in lines)


class Inputs:
    """Data for all saves, two of a kind: what is there before, and what replaces it."""

    def __init__(self, folder, seed=1, rows=240, vectors=300, dimension=8):
        self.folder, self.dimension = folder, dimension
        os.makedirs(folder, exist_ok=True)
        draw = random.Random(seed)
        for n in (1, 2):
            self.write_rows(f"rows{n}.libsvm", rows + n * 10, draw)
            self.write_log(f"log{n}.csv", rows + n * 10, draw)
            write_vectors(self[f"v{n}.fvecs"], vectors + n * 10, dimension, draw)
            write_lines(self[f"names{n}.txt"], [f"item {n} {i}" for i in range(vectors + n * 10)])
            write_lines(self[f"items{n}.csv"], ["name,price,tags"] + [f"item {n} {i},{i}.5,a{i % 7}|b{i % 3}" for i in range(
                vectors + n * 10)])
            write_lines(self[f"ids{n}.txt"], [str(1000 * n + i) for i in range(vectors + n * 10)])
        self.make_indexes()
        self.make_models()

    def __getitem__(self, name):
        return os.path.join(self.folder, name)

    def write_rows(self, name, rows, draw):
        lines = []
        for _ in range(rows):
            cells = sorted(draw.sample(range(30), 6))
            lines.append(f"{int(cells[0] % 2)} " + " ".join(f"{c}:{draw.uniform(-1, 1):.4f}" for c in cells))
        write_lines(self[name], lines)

    def write_log(self, name, rows, draw):
        lines = ["user,item,price,time,click"]
        for i in range(rows):
            user, item = draw.randrange(12), draw.randrange(9)
            lines.append(f"u{user},i{item},{draw.uniform(1, 9):.2f},{1600000000 + i * 60},{(user + item) % 2}")
        write_lines(self[name], lines)

    def make_indexes(self):
        """Two indexes of one training, with different ids; one with names for each input."""
        build = ["index", "build", "--nlist", 4, "--m", 4, "--nbits", 4, "--train", self["v1.fvecs"]]
        must(furrow(*build, "--out", self["empty.index"]))
        for n in (1, 2):
            must(furrow("index", "add", self["empty.index"], "--base", self[f"v{n}.fvecs"], "--ids",
                        self[f"ids{n}.txt"], "--out", self[f"part{n}.index"]))
            must(furrow(*build, "--base", self[f"v{n}.fvecs"], "--names", self[f"names{n}.txt"], "--out",
                        self[f"named{n}.index"]))
            must(furrow(*build, "--base", self[f"v{n}.fvecs"], "--names", self[f"names{n}.txt"], "--attributes",
                        self[f"items{n}.csv"], "--out", self[f"described{n}.index"]))

    def make_models(self):
        for n in (1, 2):
            must(furrow("train", "--model", "lr", "--train", self[f"rows{n}.libsvm"], "--out", self[f"lr{n}"], "-q"))
            must(furrow("train", "--model", "fm", "--train", self[f"log{n}.csv"], *LOG_COLUMNS, "--epochs", 2, "--out",
                        self[f"fm{n}"], "-q"))


# ---- Saves ----


class Save:
    """A command that saves `targets`, paths below the root, from nothing or over what `before` made."""

    def __init__(self, name, command, targets, readers, before=None):
        self.name, self.command, self.targets, self.readers, self.before = name, command, targets, readers, before

    def prepare(self, root, inputs):
        for words in self.before(root, inputs) if self.before else []:
            must(furrow(*words))

    def run(self, root, inputs, env):
        must(furrow(*self.command(root, inputs), env=env))

    def read(self, root, inputs):
        """The state: what is there, byte for byte, and what the command says about it."""
        there = tuple(path_digest(os.path.join(root, t)) for t in self.targets)
        if all(t is None for t in there):
            return "nothing"
        said = []
        for target, words in zip(self.targets, self.readers):
            path = os.path.join(root, target)
            if words and os.path.exists(path):
                done = furrow(*words(path, inputs))
                if done.code != 0:
                    return "failed", str(done)
                said.append(digest(done.out))
        return there, tuple(said)

    def right_states(self, old, new, answers, finished):
        """The states that may be there: after success the new one alone."""
        return {new} if finished else self.between(old, new)

    def between(self, old, new):
        return {old, new}

    def after_failure(self, old, new, kind):
        """The states after a call that failed: "once", or "sticky" with all later ones."""
        return self.between(old, new) if kind == "sticky" else {old}


class Pair(Save):
    """Vectors and a file that says which they are, rows to train and to test with: the second may have to be written
    again after a cut, but two that do not belong together never stand side by side. After an error the old ones are
    put back."""

    def between(self, old, new):
        said = 1 if self.readers[0] else 0
        alone = {((state[0][0], None), state[1][:said]) for state in (old, new) if state != "nothing"}
        return {old, new} | alone


class Encoded(Pair):
    """A dictionary and rows, which may be in two folders: a dictionary that is in place stays there."""

    def after_failure(self, old, new, kind):
        return self.between(old, new)


class Names(Save):
    """An index with names: names that wait under another name (INDEX.names.new) count as much as those in place."""

    def read(self, root, inputs):
        index = os.path.join(root, self.targets[0])
        if not os.path.exists(index):
            return "nothing"
        verified, listed = furrow("index", "verify", "-q", index), furrow("index", "names", index)
        if verified.code != 0:
            return "failed", str(verified)
        if listed.code not in (0, 3):
            return "failed", str(listed)
        return path_digest(index), digest(listed.out) if listed.code == 0 else None


class Described(Save):
    """An index with names and attributes, each of which may wait under another name."""

    def read(self, root, inputs):
        index = os.path.join(root, self.targets[0])
        if not os.path.exists(index):
            return "nothing"
        said = [furrow("index", "verify", "-q", index), furrow("index", "names", index), furrow("index", "attributes", index)]
        for done, codes in zip(said, ((0,), (0, 3), (0, 3))):
            if done.code not in codes:
                return "failed", str(done)
        return path_digest(index), *(digest(done.out) if done.code == 0 else None for done in said[1:])


class Lists(Save):
    """An index with its lists in a data file: the index and the contents of its lists. A data file that no index names
    does not count."""

    def read(self, root, inputs):
        index = os.path.join(root, self.targets[0])
        if not os.path.exists(index):
            return "nothing"
        verified, whole = furrow("index", "verify", "-q", index), furrow("index", "convert", index, "-", "--inline-lists")
        if verified.code != 0 or whole.code != 0:
            return "failed", str(verified) + str(whole)
        return path_digest(index), digest(whole.out)


class Cache(Save):
    """A row cache: whatever is there, the rows are the same."""

    def read(self, root, inputs):
        there = path_digest(os.path.join(root, self.targets[0]))
        done = furrow(*self.command(root, inputs))
        return ("failed", str(done)) if done.code != 0 else (there, digest(done.out))


class Resume(Save):
    """Training with checkpoints: going on from any of them gives the model of an uninterrupted run. The last one is
    there when training has ended."""

    def read(self, root, inputs, command=furrow):
        there = path_digest(os.path.join(root, "k"))
        done = command(*self.command(root, inputs), "--resume")
        if done.code != 0:
            return "failed", str(done)
        return there, path_digest(os.path.join(root, "m"))

    def between(self, old, new):
        return AnyCheckpoint(new[1])


class Learned(Save):
    """A model that learns from a log: going on from any cut gives the versions and the journal of an uninterrupted run,
    byte for byte. Nothing is lost, nothing learned twice."""

    most = 300

    def read(self, root, inputs):
        done = furrow(*self.command(root, inputs))
        return ("failed", str(done)) if done.code != 0 else path_digest(os.path.join(root, self.targets[0]))

    def between(self, old, new):
        return {new}


class AnyCheckpoint:
    def __init__(self, model):
        self.model = model

    def __contains__(self, state):
        return state[0] != "failed" and state[1] == self.model


def file_reader(*words):
    return lambda path, inputs: [*words, path]


DUMP_ROWS, VERIFY_MODEL, VERIFY_INDEX = file_reader("rows", "dump"), file_reader("model", "verify"), file_reader(
    "index", "verify")
INFO = file_reader("info")


def joined(root, *names):
    return os.path.join(root, *names)


def replaced(make):
    """`before` of a save that a command makes from the first input, and `command` for the second."""
    return lambda root, inputs: [make(root, inputs, 1)], lambda root, inputs: [*make(root, inputs, 2), "--force"]


def both(name, make, targets, readers, kind=Save):
    """Two saves: where nothing is, and over an old one."""
    before, over = replaced(make)
    return [kind(name + "_new", lambda root, inputs: make(root, inputs, 2), targets, readers),
            kind(name + "_replaced", over, targets, readers, before)]


def model_saves():
    saves = []
    for label, form in (("text", "RowIdColIdValueTextRowFormat"), ("binary", "ColIdValueBinaryRowFormat")):
        saves += both(f"model_{label}", lambda root, inputs, n, form=form: [
            "model", "convert", inputs[f"lr{n}"], joined(root, "m"), "--format", form], ["m"], [VERIFY_MODEL])
    saves += both("train_log", lambda root, inputs, n: [
        "train", "--model", "lr", "--train", inputs[f"log{n}.csv"], *LOG_COLUMNS, "-q", "--out", joined(root, "m")],
        ["m"], [VERIFY_MODEL])
    saves += both("train_gbdt", lambda root, inputs, n: [
        "train", "--model", "gbdt", "--trees", 3, "--train", inputs[f"rows{n}.libsvm"], "-q", "--out",
        joined(root, "m")], ["m"], [INFO])
    saves += both("import", lambda root, inputs, n: [
        "model", "import", inputs[f"v{n}.fvecs"], joined(root, "m")], ["m"], [VERIFY_MODEL])
    return saves


def export_saves():
    saves = []
    for ending in ("npy", "npz", "safetensors", "tsv"):
        saves += both("export_" + ending, lambda root, inputs, n, ending=ending: [
            "model", "export", inputs[f"lr{n}"], "--matrix", "input_weight", joined(root, "e." + ending), "--by", "row",
            *(["--no-ids"] if ending == "npy" else [])],
            ["e.npz", "e.npz.ids.npy"] if ending == "npz" else ["e." + ending], [None, None],
            Pair if ending == "npz" else Save)
    saves += both("export_pair", lambda root, inputs, n: [
        "model", "export", inputs[f"lr{n}"], "--matrix", "input_weight", joined(root, "e.fvecs"), "--by", "column"],
        ["e.fvecs", "e.fvecs.ids.npy"], [None, None], Pair)
    saves += both("export_names", lambda root, inputs, n: [
        "model", "export", inputs[f"fm{n}"], joined(root, "e.fvecs"), "--vectors", "item"],
        ["e.fvecs", "e.fvecs.names.txt"], [None, None], Pair)
    return saves


def index_saves():
    def at(root):
        return joined(root, "x.index")

    def build(root, inputs, n):
        spec = ["--nlist", 4, "--m", 4, "--nbits", 4]
        return ["index", "build", "--base", inputs[f"v{n}.fvecs"], *spec, "--out", at(root)]

    def copy_of(name):
        return lambda root, inputs: [["index", "convert", inputs[name], at(root)]]

    def edit(kind, name, before, *words):
        """An edit of a copy of an index; words in angle brackets are inputs."""
        return kind(name, lambda root, inputs: ["index", words[0], at(root), *(
            inputs[w[1:-1]] if w[0] == "<" else w for w in words[1:])], ["x.index"], [VERIFY_INDEX], copy_of(before))

    def apart(root, name):
        return ["--lists-file", joined(root, name)]

    plain, named = "part1.index", "named1.index"
    return [
        Lists("index_build_lists", lambda root, inputs: [
            *build(root, inputs, 2), *apart(root, "y.lists"), "--force"], ["x.index"], [None], lambda root, inputs: [
                [*build(root, inputs, 1), *apart(root, "x.lists")]]),
        Lists("index_build_parts", lambda root, inputs: [
            *build(root, inputs, 2), *apart(root, "y.lists"), "--memory", 8000, "--force"], ["x.index"], [None],
            lambda root, inputs: [[*build(root, inputs, 1), *apart(root, "x.lists")]]),
        Lists("index_add_lists", lambda root, inputs: [
            "index", "add", at(root), "--base", inputs["v2.fvecs"], "--ids", inputs["ids2.txt"],
            *apart(root, "y.lists")], ["x.index"], [None], lambda root, inputs: [
                ["index", "convert", inputs[plain], at(root), *apart(root, "x.lists")]]),
        *both("index_build", build, ["x.index"], [VERIFY_INDEX]),
        *both("index_build_named", lambda root, inputs, n: [
            *build(root, inputs, n), "--names", inputs[f"names{n}.txt"]], ["x.index"], [None], Names),
        *both("index_shards", lambda root, inputs, n: [*build(root, inputs, n), "--shards"], ["x.index"],
              [VERIFY_INDEX]),
        edit(Save, "index_add", plain, "add", "--base", "<v2.fvecs>", "--ids", "<ids2.txt>"),
        edit(Names, "index_add_named", named, "add", "--base", "<v2.fvecs>", "--names", "<names2.txt>"),
        *both("index_build_described", lambda root, inputs, n: [
            *build(root, inputs, n), "--names", inputs[f"names{n}.txt"], "--attributes", inputs[f"items{n}.csv"]],
            ["x.index"], [None], Described),
        edit(Described, "index_add_described", "described1.index", "add", "--base", "<v2.fvecs>", "--names",
             "<names2.txt>", "--attributes", "<items2.csv>"),
        edit(Described, "index_remove_described", "described1.index", "remove", "--ids", "0:20"),
        edit(Described, "index_attributes_set", named, "attributes", "--set", "<items1.csv>"),
        edit(Described, "index_attributes_drop", "described1.index", "attributes", "--drop"),
        Described("index_over_described", lambda root, inputs: [
            "index", "convert", inputs["part1.index"], at(root), "--force"], ["x.index"], [None],
            copy_of("described1.index")),
        edit(Save, "index_remove", plain, "remove", "--ids", "1000:1020"),
        edit(Names, "index_remove_named", named, "remove", "--ids", "0:20"),
        edit(Names, "index_names_set", plain, "names", "--set", "<names1.txt>"),
        edit(Names, "index_names_drop", named, "names", "--drop"),
        Save("index_merge", lambda root, inputs: [
            "index", "merge", inputs["part1.index"], inputs["part2.index"], "--out", at(root), "--force"], ["x.index"],
            [VERIFY_INDEX], copy_of(plain)),
        Names("index_merge_over_named", lambda root, inputs: [
            "index", "merge", inputs["part1.index"], inputs["part2.index"], "--out", at(root), "--force"], ["x.index"],
            [None], copy_of(named)),
        Names("index_over_named", lambda root, inputs: [
            "index", "convert", inputs["part1.index"], at(root), "--force"], ["x.index"], [None], copy_of(named)),
    ]


def rows_saves():
    saves = []
    for ending in ("libsvm", "cache", "csv"):
        saves += both("convert_" + ending, lambda root, inputs, n, ending=ending: [
            "rows", "convert", inputs[f"rows{n}.libsvm"], joined(root, "r." + ending)], ["r." + ending],
            [file_reader("rows", "dump") if ending != "csv" else None])
    saves += both("schema", lambda root, inputs, n: [
        "rows", "schema", inputs[f"log{n}.csv"], "--label", "click", "--out", joined(root, "s.json")], ["s.json"],
        [lambda path, inputs: ["rows", "encode", inputs["log1.csv"], "--schema", path, "--out", "-"]])
    saves += both("encode", lambda root, inputs, n: [
        "rows", "encode", inputs[f"log{n}.csv"], "--schema", "auto", "--label", "click", "--dictionary",
        joined(root, "d"), "--out", joined(root, "r.ffm")], ["d", "r.ffm"], [None, DUMP_ROWS], Encoded)
    saves += both("split", lambda root, inputs, n: [
        "rows", "split", inputs[f"rows{n}.libsvm"], "--out", joined(root, "s") + "/", "--fractions", "0.7,0.3"],
        ["s/train.libsvm", "s/test.libsvm"], [DUMP_ROWS, DUMP_ROWS], Pair)
    saves += both("split_log", lambda root, inputs, n: [
        "rows", "split", inputs[f"log{n}.csv"], "--out", joined(root, "s") + "/", "--user", "user", "--time", "time",
        "--last", "0.2"], ["s/train.csv", "s/test.csv"], [None, None], Pair)
    saves.append(Cache("row_cache", lambda root, inputs: [
        "rows", "dump", "--api", "iter", f"{inputs['rows2.libsvm']}#{joined(root, 'c')}"], ["c"], [None]))
    return saves


def checkpoint_saves():
    def make(*model):
        return lambda root, inputs: [
            "train", *model, "--train", inputs["rows2.libsvm"], "--checkpoint", joined(root, "k"), "--out",
            joined(root, "m"), "--force", "-q"]

    return [Resume("checkpoint_fm", make("--model", "fm", "--epochs", 4), ["k"], [None]),
            Resume("checkpoint_gbdt", make("--model", "gbdt", "--trees", 4), ["k"], [None])]


def learning_saves():
    """Not for fault_test.py: to read the state is to learn on."""
    def command(root, inputs):
        return ["learn", "--model", joined(root, "shop"), "--follow", inputs["log2.csv"], "--every", 100, "--once", "-q"]

    def before(root, inputs):
        os.mkdir(joined(root, "shop"))
        return [["train", "--model", "lr", "--train", inputs["log1.csv"], *LOG_COLUMNS, "--out", joined(root, "shop/1"), "-q"]]

    return [Learned("learn", command, ["shop"], [None], before)]


def all_saves():
    return model_saves() + export_saves() + index_saves() + rows_saves() + checkpoint_saves()


def make_work_folder():
    """A folder in memory if there is one: the disk is a model here, and real syncs only cost time. Ends the test where
    it has not been built."""
    for path in (COMMAND, LAYER, FAULT_LAYER):
        if not os.path.exists(path):
            sys.exit(f"{path} is missing: make crash-programs builds it (FURROW_BUILD is the folder of the programs)")
    memory = "/dev/shm"
    return tempfile.mkdtemp(prefix="furrow-crash-", dir=memory if os.access(memory, os.W_OK | os.X_OK) else None)


# ---- Several processes ----

RUN_RANKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mpi", "run_ranks.sh")
RANKS_ENV = {"MPI": "openmpi", "FURROW_MPI": os.path.join(BUILD, "libfurrow_mpi.so")}


class Ranks:
    """A save by two processes under mpirun. What it wrote is read by one process, but a checkpoint of two is resumed
    by two."""

    most = 60  # trees that are read: mpirun takes its time

    def __init__(self, save):
        self.save, self.name = save, save.name + "_ranks"
        self.prepare, self.right_states = save.prepare, save.right_states

    def furrow(self, *words, env=None):
        return Done(["bash", RUN_RANKS, 2, COMMAND, *words], {**RANKS_ENV, **(env or {})})

    def run(self, root, inputs, env):
        must(self.furrow(*self.save.command(root, inputs), env=env))

    def read(self, root, inputs):
        if isinstance(self.save, Resume):
            return self.save.read(root, inputs, self.furrow)
        return self.save.read(root, inputs)


def rank_saves():
    """Those that several processes make in a way of their own; none where MPI is missing."""
    if not shutil.which("mpirun.openmpi") or not os.path.exists(RANKS_ENV["FURROW_MPI"]):
        return []
    words = ("index_build", "index_shards", "convert_libsvm", "convert_cache", "split", "encode", "train_log",
             "checkpoint")
    return [Ranks(save) for save in all_saves() if save.name.startswith(words)]


def fresh(folder):
    """An empty folder of that name."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder
