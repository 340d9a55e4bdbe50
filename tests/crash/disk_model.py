"""A model of a disk that loses power: which trees of files POSIX allows after a cut at any point of a run.

disk_layer.c records the calls of a run that change files below a folder. The model replays them and keeps two
versions of everything: the one that programs see (the cache of the kernel) and the one that is certain to be on the
disk.

  Bytes of a file     are certain after fsync or fdatasync of the file. What was written since then may be on the disk
                      in full, not at all, up to some byte, or in any subset of its sectors (512 bytes or 4 KiB), in
                      any order. The length may be the old or the new one; what a longer file did not get yet is
                      zeros.
  Names in a folder   are certain after fsync of the folder. Each change since then (a new name, a removed one, a
                      rename) may have happened or not, whatever happened to the others: any subset of them. A rename
                      is one change: both of its names or neither; so is an exchange. fsync of a file does not make
                      its name certain, nor does fsync of a folder make the name of that folder certain in the folder
                      above it.
  Nothing else        orders anything: no journal, no "data before rename", no order of two calls without an fsync
                      between them. Real file systems promise more; a program that is safe here is safe on each of
                      them.

Owners, permissions and times are not modelled. A write that the program has begun is made in full, in part or not at
all: that is the cut behind the write with a part of it on the disk.

    disk = Disk(root)                        # the tree as it is, all of it certain
    … run the program with DISK_TRACE …
    for event in read_trace(path):
        disk.apply(event)
        for tree in disk.states(draw, 8):    # what can be on the disk if the power goes now
            write_tree(tree, folder)

A sabotaged disk does not sync files ("files") or folders ("folders") although it says so: a test that passes on it
tests nothing.
"""
import os
import struct

HEAD = struct.Struct("<IIQQIIQ")
EXCHANGE = 2  # RENAME_EXCHANGE
FOLDER = None  # what a tree has for a folder


class Event:
    def __init__(self, operation, flags, inode, offset, path, second, data):
        self.operation, self.flags, self.inode, self.offset = operation, flags, inode, offset
        self.path, self.second, self.data = path, second, data

    def __repr__(self):
        names = " -> ".join(os.path.basename(p) for p in (self.path, self.second) if p)
        return f"{self.operation} {names or self.inode} {self.offset}+{len(self.data)}"


def read_trace(path):
    """The events of a trace; one that a kill cut short is left out."""
    with open(path, "rb") as file:
        data = file.read()
    at, events = 0, []
    while at + HEAD.size <= len(data):
        operation, flags, inode, offset, n, m, size = HEAD.unpack_from(data, at)
        at += HEAD.size
        if at + n + m + size > len(data):
            break
        path, second = data[at:at + n].decode(), data[at + n:at + n + m].decode()
        events.append(Event(chr(operation), flags, inode, offset, path, second, data[at + n + m:at + n + m + size]))
        at += n + m + size
    return events


class File:
    """A file: what programs see, what is certain, and the writes since then: (offset, bytes), or (length, None)."""

    def __init__(self, data=b""):
        self.data, self.certain, self.pending = bytearray(data), bytes(data), []

    def write(self, offset, data):
        self.pending.append((offset, data))
        put(self.data, offset, data)

    def truncate(self, length):
        self.pending.append((length, None))
        put(self.data, length, None)

    def sync(self):
        self.certain, self.pending = bytes(self.data), []

    def variant(self, kind, draw):
        """What may be on the disk, one of KINDS."""
        if not self.pending or kind == "old":
            return self.certain
        if kind == "new":
            return bytes(self.data)
        if kind == "zeros":  # the new length, none of the new bytes
            return self.certain[:len(self.data)].ljust(len(self.data), b"\0")
        return self.torn(draw) if kind == "torn" else self.sectors(draw)

    def torn(self, draw):
        """All writes up to one, and that one up to some byte."""
        data = bytearray(self.certain)
        last = draw.randrange(len(self.pending))
        for offset, part in self.pending[:last]:
            put(data, offset, part)
        offset, part = self.pending[last]
        if part is not None:
            put(data, offset, part[:draw.randint(0, len(part))])
        return bytes(data)

    def sectors(self, draw):
        """Some sectors of the new bytes, some of the old; the new length or the old one."""
        size = draw.choice([512, 4096])
        old, new = self.certain, bytes(self.data)
        length = draw.choice([len(old), len(new)])
        parts = []
        for at in range(0, length, size):
            source = draw.choice([old, new])
            parts.append(source[at:at + size].ljust(min(size, length - at), b"\0")[:length - at])
        return b"".join(parts)


KINDS = ["old", "new", "zeros", "torn", "sectors"]


def put(data, offset, part):
    """Writes bytes at an offset, or cuts or extends to a length."""
    end = offset if part is None else offset + len(part)
    if len(data) < end:
        data.extend(bytes(end - len(data)))
    if part is None:
        del data[offset:]
    else:
        data[offset:end] = part


class Folder:
    """A folder: name -> File or Folder, as programs see it, and as it certainly is."""

    def __init__(self):
        self.names, self.certain = {}, {}
        self.age = {}  # name -> number of the change that made it certain: older ones do not undo it


class Disk:
    def __init__(self, root, sabotage=()):
        self.root, self.inodes, self.changes, self.number, self.sabotage = root, {}, [], 0, sabotage
        self.top = self.scan(root)

    def scan(self, path):
        made = Folder()
        self.inodes[os.stat(path).st_ino] = made
        for entry in os.scandir(path):
            if entry.is_dir(follow_symlinks=False):
                made.names[entry.name] = self.scan(entry.path)
            else:
                with open(entry.path, "rb") as file:
                    made.names[entry.name] = self.inodes[entry.inode()] = File(file.read())
        made.certain = dict(made.names)
        return made

    # ---- What programs do ----

    def place(self, path):
        """The folder of a path and the name in it."""
        parts = os.path.relpath(path, self.root).split(os.sep)
        folder = self.top
        for part in parts[:-1]:
            folder = folder.names[part]
        return folder, parts[-1]

    def change(self, *effects):
        """One change of names: [(folder, name, what it is now or None)], all of them or none."""
        self.number += 1
        for folder, name, made in effects:
            if made is None:
                folder.names.pop(name, None)
            else:
                folder.names[name] = made
        self.changes.append((self.number, effects))

    def create(self, event, made):
        self.inodes[event.inode] = made
        if event.path:
            self.change((*self.place(event.path), made))

    def rename(self, event):
        old, new = self.place(event.path), self.place(event.second)
        moved, there = old[0].names[old[1]], new[0].names.get(new[1])
        if moved is not there:  # two names of one file: rename does nothing
            self.change((*old, there if event.flags & EXCHANGE else None), (*new, moved))

    def link(self, event):
        old, new = self.place(event.path), self.place(event.second)
        self.change((*new, old[0].names[old[1]]))

    def sync(self, made):
        if isinstance(made, File):
            if "files" not in self.sabotage:
                made.sync()
            return
        if "folders" in self.sabotage:
            return
        for number, effects in [c for c in self.changes if any(e[0] is made for e in c[1])]:
            for folder, name, value in effects:
                folder.age[name] = number
                if value is None:
                    folder.certain.pop(name, None)
                else:
                    folder.certain[name] = value
        self.changes = [c for c in self.changes if all(e[0] is not made for e in c[1])]

    def apply(self, event):
        kind = event.operation
        if kind == "C":
            self.create(event, File())
        elif kind == "M":
            self.create(event, Folder())
        elif kind == "R":
            self.rename(event)
        elif kind == "L":
            self.link(event)
        elif kind in "UX":
            self.change((*self.place(event.path), None))
        elif kind in "WTS" and event.inode in self.inodes:
            made = self.inodes[event.inode]
            if kind == "W":
                made.write(event.offset, event.data)
            elif kind == "T":
                made.truncate(event.offset)
            else:
                self.sync(made)

    # ---- What can be on the disk ----

    def tree(self, chosen, kind, draw):
        """The tree with some of the changes of names; files are of one kind, or of a random one each if that is
        None."""
        names = {}
        for number, effects in chosen:
            for folder, name, value in effects:
                if folder.age.get(name, 0) < number:
                    names.setdefault(id(folder), {})[name] = value
        tree, variants = {}, {}
        self.collect(self.top, "", names, tree, lambda file: variants.setdefault(
            id(file), file.variant(kind or draw.choice(KINDS), draw)))
        return tree

    def collect(self, folder, prefix, names, tree, content):
        entries = {**folder.certain, **names.get(id(folder), {})}
        for name in sorted(entries):
            made, path = entries[name], prefix + name
            if isinstance(made, Folder):
                tree[path] = FOLDER
                self.collect(made, path + "/", names, tree, content)
            elif made is not None:
                tree[path] = content(made)

    def visible(self):
        """The tree as programs see it."""
        return self.tree(self.changes, "new", None)

    def states(self, draw, samples):
        """Trees that can be on the disk now: the corners of what is allowed, each change alone, each missing alone, and
        random ones."""
        changes = self.changes
        for kind in KINDS:
            yield self.tree([], kind, draw)
            yield self.tree(changes, kind, draw)
        for i in range(len(changes)):
            for kind in ("old", "zeros", "new"):
                yield self.tree(changes[i:i + 1], kind, draw)
                yield self.tree(changes[:i] + changes[i + 1:], kind, draw)
        for _ in range(samples):
            share = draw.choice([0.2, 0.5, 0.8])
            yield self.tree([c for c in changes if draw.random() < share], None, draw)


def read_tree(root):
    """A tree that is there, as a dict of paths: bytes, or FOLDER."""
    tree = {}
    for folder, folders, files in os.walk(root):
        for name in folders:
            tree[os.path.relpath(os.path.join(folder, name), root)] = FOLDER
        for name in files:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                tree[os.path.relpath(path, root)] = file.read()
    return tree


def write_tree(tree, root):
    for path in sorted(tree):
        full = os.path.join(root, path)
        if tree[path] is FOLDER:
            os.makedirs(full, exist_ok=True)
        else:
            with open(full, "wb") as file:
                file.write(tree[path])
