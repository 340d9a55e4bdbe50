"""What crash_test.py changes at random, each with an oracle: a model in Python of what must be there.

A subject has a folder that lives as long as the test. `propose` draws a change: the words of a command, and the state
after it. `read` says what is there, in the same form, by running the real command; `seen` turns a state of the oracle
into that form. None is the state of nothing.
"""
import array
import os
import random
import shutil
import struct

from saves import Inputs, furrow, must, path_digest, write_lines
from served_log import Running, describe, draw_request, make_index, read_served

FORMATS = ["RowIdColIdValueTextRowFormat", "ColIdValueTextRowFormat", "ColIdValueBinaryRowFormat",
           "RowIdColIdValueBinaryRowFormat"]


class Subject:
    """A folder, the state that must be in it, and its inputs beside it."""

    by_file = False  # several files: if they cannot be put back after an error, some are missing

    def __init__(self, folder, draw):
        self.name = type(self).__name__.lower()
        self.root, self.inputs = os.path.join(folder, "root"), os.path.join(folder, "inputs")
        os.makedirs(self.root)
        os.makedirs(self.inputs)
        self.draw, self.state, self.number = draw, None, 0

    def at(self, *names):
        return os.path.join(self.root, *names)

    def input(self, ending):
        """The path of a new input."""
        self.number += 1
        return os.path.join(self.inputs, f"{self.number}.{ending}")

    def tidy(self):
        """Removes inputs that are not needed any more."""
        for name in os.listdir(self.inputs):
            if name[0].isdigit() and not name.startswith(f"{self.number}."):
                path = os.path.join(self.inputs, name)
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)

    def is_target(self, path):
        """Whether a file is what is saved, and not names or a card that wait for their index, or a checkpoint."""
        return os.path.dirname(path) == self.root and not path.endswith((".names.new", ".card.new"))

    def is_right(self, state, old, new):
        """Whether a state may follow a kill."""
        return state in (old, new)


class Wrong(Exception):
    """The real command fails on what is there."""


def output_of(*words):
    done = furrow(*words)
    if done.code != 0:
        raise Wrong(str(done))
    return done.out.decode()


# ---- Vectors ----


class Index(Subject):
    """Vectors under ids, with names or without. State: {id: (vector, name or None)}, as a frozen set of items."""

    DIMENSION = 4

    def __init__(self, folder, draw):
        super().__init__(folder, draw)
        self.training, self.zeros, self.empty = (
            os.path.join(self.inputs, name) for name in ("training.fvecs", "zeros.fvecs", "empty.index"))
        self.write_vectors(self.training, [self.draw_vector() for _ in range(40)])
        self.write_vectors(self.zeros, [(0.0,) * self.DIMENSION])
        self.spec = ["--nlist", 3, "--m", 0, "--train", self.training]
        must(furrow("index", "build", *self.spec, "--out", self.empty))

    def draw_vector(self):
        return tuple(self.draw.randint(-64, 64) / 8 for _ in range(self.DIMENSION))

    def write_vectors(self, path, vectors):
        with open(path, "wb") as file:
            for vector in vectors:
                file.write(struct.pack("<i", len(vector)))
                array.array("f", vector).tofile(file)

    def draw_items(self, count, taken, named):
        ids = self.draw.sample([i for i in range(500) if i not in taken], count)
        return {i: (self.draw_vector(), f"{i}/{self.draw.getrandbits(40)}" if named else None) for i in ids}

    def files(self, items):
        """Words for a file of vectors, one of ids, and one of names if they have them. Names number the ids from 0."""
        number = self.input("fvecs")
        self.write_vectors(number, [v for v, _ in items.values()])
        ids, names = number[:-5] + "ids.txt", number[:-5] + "names.txt"
        write_lines(ids, [str(i) for i in items])
        words = ["--base", number, "--ids", ids]
        if any(name for _, name in items.values()):
            write_lines(names, [name for _, name in items.values()])
            words += ["--names", names]
        return words

    def propose(self):
        known = dict(self.state or ())
        kinds = ["build", "build", "merge"] + (["add", "add", "remove", "remove"] if known else [])
        return getattr(self, self.draw.choice(kinds))(known)

    def build(self, known):
        items = self.draw_items(self.draw.randint(1, 60), (), self.draw.random() < 0.5)
        how = ["--direct-map", "hash"] if self.draw.random() < 0.3 else []
        words = ["index", "build", *self.spec, *how, *self.files(items), "--out", self.at("x.index"), "--force"]
        return words, frozenset(items.items())

    def add(self, known):
        named = any(name for _, name in known.values())
        items = self.draw_items(self.draw.randint(1, 30), known, named)
        return ["index", "add", self.at("x.index"), *self.files(items)], frozenset({**known, **items}.items())

    def remove(self, known):
        gone = self.draw.sample(sorted(known), self.draw.randint(1, len(known)))
        if len(gone) == len(known):
            gone = gone[1:] or [-1]
        left = {i: item for i, item in known.items() if i not in gone}
        return ["index", "remove", self.at("x.index"), "--ids", ",".join(map(str, gone))], frozenset(left.items())

    def merge(self, known):
        """Two indexes that are made now, without faults, become one in place of the old one."""
        named = self.draw.random() < 0.5
        first = self.draw_items(self.draw.randint(1, 30), (), named)
        second = self.draw_items(self.draw.randint(1, 30), first, named)
        paths = []
        for items in (first, second):
            words = self.files(items)
            paths.append(self.input("index"))
            must(furrow("index", "add", self.empty, *words, "--out", paths[-1]))
        words = ["index", "merge", *paths, "--out", self.at("x.index"), "--force"]
        return words, frozenset({**first, **second}.items())

    def read(self):
        """Ids, square distances from the origin (the vectors that are asked for have others) and names."""
        if not os.path.exists(self.at("x.index")):
            return None
        ids, distances = os.path.join(self.inputs, "ids.i64"), os.path.join(self.inputs, "distances.f32")
        output_of("index", "verify", "-q", self.at("x.index"))
        output_of("index", "search", self.at("x.index"), self.zeros, "-k", 600, "--nprobe", 100, "--out-ids", ids,
                  "--out-dist", distances, "--force")
        with open(ids, "rb") as file, open(distances, "rb") as other:
            found = zip(array.array("q", file.read()), array.array("f", other.read()))
        listed = furrow("index", "names", self.at("x.index"))
        if listed.code not in (0, 3):
            raise Wrong(str(listed))
        names = dict(line.split("\t") for line in listed.out.decode().splitlines()) if listed.code == 0 else {}
        return frozenset((i, distance, names.get(str(i))) for i, distance in found if i >= 0)

    @staticmethod
    def seen(state):
        """A state as `read` sees it."""
        return state and frozenset((i, sum(x * x for x in v), name) for i, (v, name) in state)


# ---- Matrices ----


class Matrix(Subject):
    """A matrix folder that is imported or converted. State: the cells that are not 0."""

    def draw_cells(self):
        return frozenset((self.draw.randrange(4), c, self.draw.randint(1, 800) / 8)
                         for c in self.draw.sample(range(60), self.draw.randint(1, 50)))

    def write_cells(self, cells):
        path = self.input("tsv")
        write_lines(path, [f"{r}\t{c}\t{x}" for r, c, x in sorted(cells)])
        return path

    def make_matrix(self, cells):
        source = self.write_cells(cells)
        path = self.input("matrix")
        must(furrow("model", "import", source, path, "--rows", 4, "--cols", 60, "-q"))
        return path

    def propose(self):
        cells, target = self.draw_cells(), self.at("m")
        form = ["--format", self.draw.choice(FORMATS), "--part-cols", self.draw.choice([7, 60])]
        if self.draw.random() < 0.5:
            words = ["model", "import", self.write_cells(cells), target, "--rows", 4, "--cols", 60]
        else:
            words = ["model", "convert", self.make_matrix(cells), target]
        return [*words, *form, "--force", "-q"], cells

    @staticmethod
    def parse(text):
        cells = (line.split("\t") for line in text.splitlines())
        return frozenset((int(r), int(c), float(x)) for r, c, x in cells if float(x) != 0)

    def read(self):
        if not os.path.isdir(self.at("m")):
            return None
        output_of("model", "verify", self.at("m"))
        return self.parse(output_of("model", "dump", self.at("m")))

    @staticmethod
    def seen(state):
        return state


class Export(Matrix):
    """A matrix as npy, npz, safetensors or tsv: importing the file gives the cells back. State: (ending, cells)."""

    def __init__(self, folder, draw):
        super().__init__(folder, draw)
        self.ending = draw.choice(["npz", "safetensors", "tsv", "npy"])
        self.by_file = self.ending == "npz"  # its ids are beside it

    def propose(self):
        cells = self.draw_cells()
        words = ["model", "export", self.make_matrix(cells), self.at("e." + self.ending), "--by", "row", "--force"]
        return words + (["--no-ids"] if self.ending == "npy" else []), cells

    def read(self):
        if not os.path.exists(self.at("e." + self.ending)):
            return None
        path = os.path.join(self.inputs, "read.matrix")
        output_of("model", "import", self.at("e." + self.ending), path, "--by", "row", "--force", "-q")
        return self.parse(output_of("model", "dump", path))


# ---- Rows ----


class Rows(Subject):
    """Rows that are converted to a file. State: the lines of `rows dump`, which the test makes itself."""

    def __init__(self, folder, draw):
        super().__init__(folder, draw)
        self.ending = draw.choice(["libsvm", "cache"])

    def draw_rows(self):
        """Lines of libsvm and of the dump."""
        lines, dumped = [], []
        for _ in range(self.draw.randint(1, 400)):
            cells = [(c, self.draw.randint(1, 80) / 8) for c in sorted(self.draw.sample(range(50), 5))]
            label = self.draw.randrange(2)
            lines.append(f"{label} " + " ".join(f"{c}:{x}" for c, x in cells))
            dumped.append(f"{label} - - | " + " ".join(f"-:{c}:{x:.9g}" for c, x in cells))
        path = self.input("libsvm")
        write_lines(path, lines)
        return path, tuple(dumped)

    def propose(self):
        path, dumped = self.draw_rows()
        threads = ["--threads", self.draw.choice([1, 2])]
        return ["rows", "convert", path, self.at("r." + self.ending), *threads, "--force"], dumped

    def read(self):
        if not os.path.exists(self.at("r." + self.ending)):
            return None
        return tuple(output_of("rows", "dump", self.at("r." + self.ending)).splitlines())

    @staticmethod
    def seen(state):
        return state


class Cache(Rows):
    """Rows through a cache that is made on the way: whatever a kill left, the rows are the same."""

    def propose(self):
        if self.state is None or self.draw.random() < 0.3:
            for name in os.listdir(self.root):
                os.unlink(self.at(name))
            self.source, self.state = self.draw_rows()
        return ["rows", "dump", "--api", "iter", f"{self.source}#{self.at('cache')}"], self.state

    def read(self):
        return tuple(output_of("rows", "dump", "--api", "iter", f"{self.source}#{self.at('cache')}").splitlines())


class Split(Rows):
    """Rows split into two files. State: the lines of both. A run without faults says which row goes where; none may be
    missing. After a kill the second file may be missing, but it is never next to the first file of another run."""

    by_file = True

    def propose(self):
        path, dumped = self.draw_rows()
        reference = self.input("split")
        words = ["rows", "split", path, "--fractions", "0.6,0.4", "--seed", self.draw.randrange(100), "--to", "libsvm"]
        os.makedirs(reference)
        must(furrow(*words, "--out", reference + "/"))
        state = tuple(self.read_part(reference, n) for n in ("train", "test"))
        if sorted((state[0] or ()) + (state[1] or ())) != sorted(dumped):
            raise Wrong("rows split loses rows")
        return [*words, "--out", self.at("s") + "/", "--force"], state

    @staticmethod
    def read_part(folder, name):
        path = os.path.join(folder, name + ".libsvm")
        return tuple(output_of("rows", "dump", path).splitlines()) if os.path.exists(path) else None

    def read(self):
        found = tuple(self.read_part(self.at("s"), n) for n in ("train", "test"))
        return found if any(part is not None for part in found) else None

    def is_right(self, state, old, new):
        return state in (old, new) or state in ((whole[0], None) for whole in (old, new) if whole)


# ---- Models ----


class Training(Subject):
    """Models that are trained. State: the bytes of the model, which a run without faults has made elsewhere."""

    MODELS = [["--model", "lr"], ["--model", "fm", "--epochs", 3], ["--model", "gbdt", "--trees", 3],
              ["--model", "dnn", "--epochs", 2, "--fc", "4"]]

    def is_target(self, path):
        return path == self.at("m")

    def rows(self):
        path = self.input("libsvm")
        Inputs.write_rows(self, path, self.draw.randint(60, 200), self.draw)
        return path

    def __getitem__(self, path):
        return path

    def propose(self):
        rows, reference = self.rows(), self.input("model")
        words = ["train", *self.draw.choice(self.MODELS), "--seed", self.draw.randrange(9), "-q", "--force", "--train",
                 rows]
        must(furrow(*words, "--out", reference))
        return [*words, "--out", self.at("m")], path_digest(reference)

    def read(self):
        if os.path.isdir(self.at("m")):
            output_of("model", "verify", self.at("m")) if os.path.exists(self.at("m", "input_weight")) else None
        return path_digest(self.at("m"))

    @staticmethod
    def seen(state):
        return state


class Resumed(Training):
    """Training that is stopped again and again and goes on from its checkpoint: the model is that of a run in one
    piece. A change stays proposed until it is done."""

    MODELS = [["--model", "fm", "--epochs", 5], ["--model", "gbdt", "--trees", 6]]
    pending = None

    def propose(self):
        if self.pending and self.state != self.pending[1]:
            return self.pending
        shutil.rmtree(self.at("k"), ignore_errors=True)
        words, state = super().propose()
        self.pending = [*words, "--checkpoint", self.at("k"), "--resume"], state
        return self.pending

    def tidy(self):
        if not self.pending or self.state == self.pending[1]:
            super().tidy()


# ---- The service ----


class Served(Subject):
    """A writable index. State: {id: (vector, name)}; what was answered must be there, what was not may be."""

    def __init__(self, folder, draw):
        super().__init__(folder, draw)
        self.state = make_index(self.root, draw)

    def session(self, plan_env, delay):
        """Changes until the server is gone, or for a while. Returns (answered changes, states that are right now)."""
        server = Running(self.root, "--checkpoint-after", self.draw.choice([3, 10, 1000]), env=plan_env)
        done, right = 0, [self.state]
        limit = self.draw.randint(1, 25)
        while server.connection and done < limit:
            verb, request, after = draw_request(self.draw, self.state, 45)
            answer = server.post(verb, request)
            if not answer or answer[0] != 200:
                right = [self.state, after]
                break
            self.state, done, right = after, done + 1, [after]
        code, text = server.end(delay)
        return done, right, code, text

    def settle(self, right):
        """Which of the states is there."""
        found = read_served(self.root)
        if isinstance(found, tuple):
            raise Wrong(found[1])
        for state in right:
            if describe(state) == found:
                self.state = state
                return
        raise Wrong(f"what was answered is not there: {sorted(describe(right[0]) ^ found)}")


SUBJECTS = [Index, Index, Matrix, Export, Rows, Cache, Split, Training, Resumed]
