#!/usr/bin/env python3
"""bench/log/bench_rankings.py: how good and how fast are recommendations, compared with simple recommenders?

The test is the last fifth of each user's events by time (one at least; ties in the order of the file). Each method names
ten items for each user, among all items except the user's training items (in logs that repeat: all items).
NDCG@10 is computed here, for all methods alike; every item of a user's test events is relevant, known or not. The table has
means over users, and for Furrow minus each peer the mean of the differences and its standard error.

Furrow gets the training events as a csv file and the table of items if there is one (furrow train --model recommender,
then furrow recommend --users all). The peers (rank_peers.py) are computed in the same run; their settings are chosen on the last
fifth of each user's training events. Logs are generated (gen_rankings.py), or read with --movielens and --log.

Other scenarios: new-users trains without some users and then recommends by their first four events and by all but the last
fifth of their events, which is the test; speed trains on a million events.
"""
import argparse
import csv
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # many small products: with two threads they take ten times as long
try:
    import numpy as np
    import scipy.sparse as sparse
except ImportError:
    if sys.executable == "/usr/bin/python3" or not os.access("/usr/bin/python3", os.X_OK):
        sys.exit("bench_rankings.py needs numpy and scipy")
    os.execv("/usr/bin/python3", ["/usr/bin/python3"] + sys.argv)  # Debian's packages are of that one

import gen_rankings
import rank_peers
from rank_peers import Events, last_fifth, ndcg_of, relevant_items

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = {peer.name: peer for peer in (rank_peers.Popular(), rank_peers.OwnHistory(), rank_peers.Cosine(), rank_peers.Ease(),
                                      rank_peers.RecentEase(), rank_peers.Als(), rank_peers.Bpr())}
SCENARIOS = ("lists", "new-users", "speed")
NEW_USERS = ("factors", "long-tail", "factors-2", "long-tail-2")  # generated logs whose users keep their tastes
SETTINGS = {}  # what was chosen in this run, by peer and training events
MOST_ITEMS = 12000  # peers with a matrix of items by items are left out beyond it


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "..", "build"), help="build folder (build)")
    parser.add_argument("--set", default="tuning", choices=("tuning", "held-out", "all", "none"), dest="chosen",
                        help="generated logs: those that defaults may be chosen by, the others, all or none (tuning)")
    parser.add_argument("--logs", help="only these generated logs, separated by commas; NAME@N: of another seed")
    parser.add_argument("--fresh", type=int, default=0, metavar="N", help="all generated logs from the N-th other seed")
    parser.add_argument("--movielens", metavar="FOLDER", help="also MovieLens: a folder with ratings.csv and movies.csv")
    parser.add_argument("--log", metavar="FILE.csv[=USER,ITEM[,TIME]]", action="append", default=[],
                        help="also this log, whose columns have these names (user,item,time); without a time, its lines "
                             "are in order; may be given several times")
    parser.add_argument("--log-repeats", action="store_true", help="own items are candidates in the logs of --log")
    parser.add_argument("--scenario", default="lists,new-users", help="lists, new-users, speed (lists,new-users)")
    parser.add_argument("--peers", default=",".join(PEERS), help=f"({','.join(PEERS)}) or none")
    parser.add_argument("--train", default="train --model recommender",
                        help="the command that trains (train --model recommender); --train, --table, --seed and --out are added")
    parser.add_argument("--recommend", default="recommend",
                        help="the command that recommends (recommend); {train} is the log of training")
    parser.add_argument("--without-table", action="store_true", help="do not give the table of items to Furrow")
    parser.add_argument("--no-furrow", action="store_true", help="the peers alone")
    parser.add_argument("--seeds", type=int, default=1, help="Furrow trains with so many seeds; means are shown (1)")
    parser.add_argument("-k", type=int, default=10, help="items for each user (10)")
    parser.add_argument("--quick", action="store_true", help="two small logs, four peers")
    parser.add_argument("--scratch", metavar="FOLDER",
                        help="keep logs, models and the peers' figures there, and use the peers' figures that are there")
    parser.add_argument("--out", metavar="FILE", help="write the results as JSON")
    options = parser.parse_args()
    if options.quick:
        options.logs, options.scenario, options.peers = "few-items,repeats", "lists", "popular,own history,cosine,EASE"
    options.peers = [] if options.peers == "none" else options.peers.split(",")
    options.scenario = options.scenario.split(",")
    for given, known in ((options.peers, PEERS), (options.scenario, SCENARIOS)):
        for name in given:
            if name not in known:
                parser.error(f"'{name}' is not one of {', '.join(known)}")
    return options


# ---- Logs ----


class Log:
    """A csv file: its lines, and users, items and times of the events, in the order of the file"""

    def __init__(self, name, path, columns, table=None, repeats=False, new_users=False):
        """table: a csv file with a column of the name that the log's items have; new_users: it has that scenario"""
        self.name, self.columns, self.table, self.repeats, self.new_users = name, columns, table, repeats, new_users
        with open(path, newline="", encoding="utf-8") as text:
            rows = list(csv.reader(text))
        self.header, self.rows = rows[0], rows[1:]
        place = [self.header.index(c) for c in columns]
        self.user, self.item = ([row[p] for row in self.rows] for p in place[:2])
        self.time = np.array([float(row[place[2]]) for row in self.rows]) if place[2:] else np.arange(len(self.rows))

    def write(self, path, chosen):
        with open(path, "w", newline="", encoding="utf-8") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(self.header)
            writer.writerows(self.rows[i] for i in chosen)


def open_logs(options):
    logs = []
    if options.movielens:
        logs.append(Log("movielens", os.path.join(options.movielens, "ratings.csv"),
                        ("userId", "movieId", "timestamp"), os.path.join(options.movielens, "movies.csv"), new_users=True))
    for text in options.log:
        path, _, names = text.partition("=")
        columns = tuple(names.split(",")) if names else ("user", "item", "time")
        logs.append(Log(os.path.basename(path).removesuffix(".csv"), path, columns, None, options.log_repeats, True))
    sets = {"tuning": ["tuning"], "held-out": ["held-out"], "all": ["tuning", "held-out"], "none": []}[options.chosen]
    names = options.logs.split(",") if options.logs else [n for s in sets for n in gen_rankings.SETS[s]]
    if options.fresh:
        names = [f"{name}@{options.fresh}" for name in names]
    return logs + [generated_log(options, name) for name in names]


def generated_log(options, name):
    path, table = (os.path.join(options.work, name + ending) for ending in (".csv", "-items.csv"))
    log = gen_rankings.generate(name)
    log.save(path, table)
    return Log(name, path, ("user", "item", "time"), table if log.table else None, log.repeats,
               name.partition("@")[0] in NEW_USERS)


class Task:
    """Training events and what users take afterwards. Items of the training have the first numbers, then come those that
    only the test or the table has."""

    def __init__(self, log, train_rows, test_rows, history_rows=None):
        self.log, self.train_rows, self.users, self.items = log, train_rows, {}, {}
        users = [log.user[i] for i in (train_rows if history_rows is None else history_rows)]
        for name in users + [log.user[i] for i in test_rows]:
            self.users.setdefault(name, len(self.users))
        for i in train_rows:
            self.items.setdefault(log.item[i], len(self.items))
        known = len(self.items)
        for name in [log.item[i] for i in test_rows] + [row[0] for row in self.table_rows()]:
            self.items.setdefault(name, len(self.items))
        if history_rows is None:
            self.train = self.history = self.events(train_rows, self.users, known)
        else:  # users that the training does not have
            self.train = self.events(train_rows, None, known)
            self.history = self.events([i for i in history_rows if self.items.get(log.item[i], known) < known], self.users, known)
        self.test = self.events(test_rows, self.users, len(self.items))
        self.relevant = relevant_items(self.history, self.test, log.repeats)
        if history_rows is not None and not log.repeats:  # own items that no one else took
            for i in history_rows:
                self.relevant[self.users[log.user[i]]].discard(self.items.get(log.item[i]))
        self.judged = np.array([u for u in range(len(self.users)) if self.relevant[u]])

    def events(self, rows, users, items):
        """users None: numbers of their own"""
        rows = np.asarray(rows, int)
        rows = rows[np.argsort(self.log.time[rows], kind="stable")]
        users = {} if users is None else users
        user = np.array([users.setdefault(self.log.user[i], len(users)) for i in rows], int)
        order = np.argsort(user, kind="stable")
        item = np.array([self.items[self.log.item[i]] for i in rows], int)
        return Events(user[order], item[order], len(users), items)

    def table_rows(self):
        """(item, its other cells with their columns)"""
        if not self.log.table:
            return []
        with open(self.log.table, newline="", encoding="utf-8") as text:
            rows = csv.reader(text)
            header = next(rows)
            at = header.index(self.log.columns[1])
            return [(row[at], [(c, cell) for c, cell in zip(header, row) if c != header[at]]) for row in rows]

    def features(self):
        """Items by words of the table, by tf-idf, of length 1"""
        words, places = {}, []
        for name, cells in self.table_rows():
            for column, cell in cells:
                for word in cell.lower().replace("|", " ").split():
                    places.append((self.items[name], words.setdefault((column, word), len(words))))
        rows, columns = np.array(places).T
        x = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(self.items), len(words)))
        x = x.multiply(np.log(len(self.items) / np.maximum(np.bincount(columns), 1)))
        return sparse.diags(1 / np.maximum(np.sqrt(x.multiply(x).sum(axis=1)).A1, 1e-9)) @ x.tocsr()


def last_rows(log):
    """Rows of the training and of the test"""
    by_user = {}
    for i in np.argsort(log.time, kind="stable"):
        by_user.setdefault(log.user[i], []).append(i)
    train, test = [], []
    for rows in by_user.values():
        at = len(rows) - int(last_fifth(np.array(len(rows))))
        train += rows[:at]
        test += rows[at:]
    return sorted(train), sorted(test)


# ---- Methods ----


def processor_seconds(before=0.0):
    used = os.times()
    return used.user + used.system - before


def judge(task, lists, k):
    """NDCG of each judged user; lists: user's number -> items' numbers"""
    return [float(ndcg_of(lists.get(u, ()), task.relevant[u], k)) for u in task.judged]


def peers_of(options, task):
    names = [n for n in options.peers if n != "own history" or task.log.repeats]
    if task.train.items > MOST_ITEMS:
        names = [n for n in names if n in ("popular", "own history")]
    peers = [PEERS[n] for n in names]
    return peers + ([rank_peers.Content(task.features())] if task.log.table and len(peers) > 1 else [])


def digest(*parts):
    text = repr([part.tolist() if isinstance(part, np.ndarray) else part for part in parts])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def peer_results(options, task):
    """Results of the peers, from the scratch folder if they are there"""
    for peer in peers_of(options, task):
        trained = digest(peer.name, options.k, task.train.user, task.train.item)
        key = digest(trained, task.history.item, task.test.item)
        kept = os.path.join(options.work, f"peer-{task.log.name}-{key}.json")
        if os.path.exists(kept):
            with open(kept, encoding="utf-8") as text:
                yield json.load(text)
            continue
        before = processor_seconds()
        if trained not in SETTINGS:
            SETTINGS[trained] = rank_peers.choose(peer, task.train, options.k, task.log.repeats)
        setting = SETTINGS[trained]
        model = peer.build(task.train, setting)
        lists = {}
        for _, block, found in rank_peers.lists_of(model, task.history, task.judged, options.k, task.log.repeats):
            lists.update((u, [i for i in row if i >= 0]) for u, row in zip(block, found))
        result = {"method": peer.name, "per_user": judge(task, lists, options.k), "setting": str(setting),
                  "items": len({i for row in lists.values() for i in row}), "cpu_s": processor_seconds(before)}
        with open(kept + ".part", "w", encoding="utf-8") as out:
            json.dump(result, out)
        os.rename(kept + ".part", kept)
        yield result


class FurrowError(Exception):
    pass


def furrow(options, arguments, show):
    """What the command prints, its processor seconds and its peak of memory in MB"""
    if show:
        print("furrow " + shlex.join(a.removeprefix(options.work + "/") for a in arguments), flush=True)
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as problems:
        child = subprocess.Popen([os.path.join(options.build, "furrow")] + arguments, stdout=out, stderr=problems)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        for text in (out, problems):
            text.seek(0)
        if child.returncode != 0:
            raise FurrowError(f"furrow {shlex.join(arguments)}: {problems.read().strip()}")
        return out.read(), {"cpu_s": usage.ru_utime + usage.ru_stime, "mb": usage.ru_maxrss / 1024,
                            "notes": problems.read().strip()}


def furrow_model(options, task, name, seed, show):
    train, model = (os.path.join(options.work, f"{name}{ending}") for ending in ("-train.csv", f"-{seed}.model"))
    task.log.write(train, task.train_rows)
    table = ["--table", f"{task.log.table}={task.log.columns[1]}"] if task.log.table and not options.without_table else []
    printed, used = furrow(options, shlex.split(options.train.format(train=train)) +
                           ["--train", train] + table + ["--seed", str(seed), "--out", model, "--force"], show)
    return train, model, dict(used, printed=printed.strip())


def furrow_lists(options, task, train, model, more, show):
    text, used = furrow(options, shlex.split(options.recommend.format(train=train)) +
                        ["--model", model, *more, "-k", str(options.k), "--csv"], show)
    lists = {}
    rows = csv.reader(text.splitlines())
    header = next(rows)
    user_at, item_at = (header.index(c) if c in header else header.index(g)
                        for c, g in zip(task.log.columns, ("user", "item")))
    for row in rows:
        user = task.users.get(row[user_at])
        if user is not None:
            lists.setdefault(user, []).append(task.items.get(row[item_at], -1))
    return lists, used


def furrow_results(options, task):
    """The mean over seeds, user by user"""
    seeds = []
    for seed in range(1, options.seeds + 1):
        train, model, trained = furrow_model(options, task, task.log.name, seed, seed == 1)
        lists, used = furrow_lists(options, task, train, model, ["--users", "all"], seed == 1)
        seeds.append({"per_user": judge(task, lists, options.k), "items": len({i for x in lists.values() for i in x}),
                      "cpu_s": trained["cpu_s"], "recommend_cpu_s": used["cpu_s"], "mb": max(trained["mb"], used["mb"]),
                      "printed": trained["printed"], "notes": trained["notes"]})
    return dict(seeds[0], method="furrow", per_user=list(np.mean([s["per_user"] for s in seeds], axis=0)),
                ndcg_of_seeds=[float(np.mean(s["per_user"])) for s in seeds], setting="",
                cpu_s=float(np.mean([s["cpu_s"] for s in seeds])))


# ---- Scenarios ----


def compare(results):
    """Adds the mean, and to each peer Furrow's difference with its standard error"""
    ours = next((r for r in results if r["method"] == "furrow"), None)
    for r in results:
        r["ndcg"] = float(np.mean(r["per_user"]))
        r["se"] = standard_error(r["per_user"])
        if ours and r is not ours:
            difference = np.array(ours["per_user"]) - np.array(r["per_user"])
            r["furrow_minus"], r["furrow_minus_se"] = float(difference.mean()), standard_error(difference)


def standard_error(values):
    return float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else 0.0


def show(title, results, users):
    print(f"\n{title}; {users} users are judged\n\n| method | NDCG | Furrow minus it | items | processor s | setting |")
    print("|---|---:|---:|---:|---:|---|")
    for r in results:
        difference = f"{r['furrow_minus']:+.4f} ± {r['furrow_minus_se']:.4f}" if "furrow_minus" in r else ""
        print(f"| {r['method']} | {r['ndcg']:.4f} | {difference} | {r['items']} | {r['cpu_s']:.1f} | {r['setting']} |")
    print(flush=True)


def run_task(options, task, title, ours):
    """ours(): Furrow's result"""
    results, error = [], None
    if not options.no_furrow:
        try:
            results.append(ours())
        except FurrowError as problem:
            error = str(problem)
            print(error, file=sys.stderr)
    results += peer_results(options, task)
    compare(results)
    show(title, results, len(task.judged))
    return {"log": task.log.name, "title": title, "users": len(task.judged), "error": error, "results": results}


def lists_scenario(options, log):
    train, test = last_rows(log)
    task = Task(log, train, test)
    title = f"{log.name}: {len(log.rows)} events, {len(task.users)} users, {task.train.items} items in training" + \
        (", own items are candidates" if log.repeats else "")
    entry = run_task(options, task, title, lambda: furrow_results(options, task))
    return dict(entry, scenario="lists", given="")


def new_users_scenario(options, log):
    """Of 120 users (a fifth of them at most), who have eight events at least, the training has nothing"""
    counts = dict(zip(*np.unique(log.user, return_counts=True)))
    names = sorted(name for name in counts if counts[name] >= 8)
    rng = np.random.default_rng(5)
    new = set(rng.choice(names, min(120, len(counts) // 5, len(names)), replace=False))
    train = [i for i in range(len(log.rows)) if log.user[i] not in new]
    rows_of = {}
    for i in np.argsort(log.time, kind="stable"):
        if log.user[i] in new:
            rows_of.setdefault(log.user[i], []).append(i)
    trained = []
    for what in ("first four events", "all but the last fifth of the events"):
        four = what == "first four events"
        cut = {u: len(rows) - int(last_fifth(np.array(len(rows)))) for u, rows in rows_of.items()}
        history = sorted(i for u, rows in rows_of.items() for i in rows[:min(4, cut[u]) if four else cut[u]])
        task = Task(log, train, sorted(i for u, rows in rows_of.items() for i in rows[cut[u]:]), history)
        events = os.path.join(options.work, f"{log.name}-new.csv")
        log.write(events, history)

        def ours():
            if not trained:
                trained.append(furrow_model(options, task, log.name + "-new", 1, True))
            train_path, model, used = trained[0]
            lists, recommended = furrow_lists(options, task, train_path, model, ["--events", events], True)
            return {"method": "furrow", "per_user": judge(task, lists, options.k), "setting": "",
                    "items": len({i for x in lists.values() for i in x}), "cpu_s": used["cpu_s"],
                    "recommend_cpu_s": recommended["cpu_s"], "mb": used["mb"]}

        some = argparse.Namespace(**vars(options))
        some.peers = [n for n in options.peers if n in ("popular", "own history", "cosine", "EASE", "recent EASE")]
        title = f"{log.name}: {len(new)} new users, {what}"
        yield dict(run_task(some, task, title, ours), scenario="new-users", given=", new users, " + what)


def speed_scenario(options):
    """Processor time of the two commands; the NDCG and popular say that the model is not empty"""
    log = generated_log(options, "million")
    train, test = last_rows(log)
    task = Task(log, train, test)
    some = argparse.Namespace(**vars(options))
    some.peers, some.seeds = ["popular"], 1
    title = f"million: {len(log.rows)} events, {len(task.users)} users, {task.train.items} items in training"
    entry = run_task(some, task, title, lambda: furrow_results(some, task))
    for r in entry["results"]:
        if r["method"] == "furrow":
            print(f"training {r['cpu_s']:.1f} s of processor time, {options.k} items for all users "
                  f"{r['recommend_cpu_s']:.1f} s, at most {r['mb']:.0f} MB of memory\n")
    return dict(entry, scenario="speed", given="")


# ---- Goals ----


def goals(entries):
    """What a reader asks first: is any log below the best peer, or below popular? New users: is it below EASE?"""
    differences, errors, lines = [], [], []
    for entry in entries:
        peers = {r["method"]: r for r in entry["results"] if "furrow_minus" in r}
        if not peers or entry["scenario"] == "speed":
            continue
        ours = next(r for r in entry["results"] if r["method"] == "furrow")
        best = max(peers.values(), key=lambda r: r["ndcg"])
        bound = 2
        if entry["scenario"] == "new-users":
            best, bound = peers.get("EASE", best), 1
        else:
            differences.append(best["furrow_minus"])
            errors.append(best["furrow_minus_se"])
        verdict = ""
        if best["furrow_minus"] < -bound * best["furrow_minus_se"]:
            verdict = f"below {best['method']} by more than {bound} standard error(s)"
        if "popular" in peers and peers["popular"]["furrow_minus"] < 0:
            verdict = "below popular"
        if "first four events" in entry["given"] and len(ours["per_user"]) >= 120 and ours["items"] < 150:
            verdict += " fewer than 150 different items"
        lines.append(f"| {entry['log']}{entry['given']} | {ours['ndcg']:.4f} | {best['method']} "
                     f"{best['ndcg']:.4f} | {best['furrow_minus']:+.4f} ± {best['furrow_minus_se']:.4f} | {verdict} |")
    if lines:
        print("| log | Furrow | best peer (new users: EASE) | difference | |\n|---|---:|---|---:|---|\n" + "\n".join(lines))
    if differences:
        print(f"\nmean difference from the best peer {np.mean(differences):+.4f} ± "
              f"{np.sum(np.square(errors)) ** 0.5 / len(errors):.4f}\n")


def main():
    options = read_arguments()
    options.work = os.path.abspath(options.scratch) if options.scratch else tempfile.mkdtemp(prefix="furrow-rankings-")
    os.makedirs(options.work, exist_ok=True)
    entries, began = [], time.time()
    try:
        for log in open_logs(options) if {"lists", "new-users"} & set(options.scenario) else []:
            if "lists" in options.scenario:
                entries.append(lists_scenario(options, log))
            if "new-users" in options.scenario and log.new_users:
                entries += new_users_scenario(options, log)
        if "speed" in options.scenario:
            entries.append(speed_scenario(options))
    finally:
        if not options.scratch:
            shutil.rmtree(options.work)
    goals(entries)
    print(f"{time.time() - began:.0f} s")
    if options.out:
        for entry in entries:
            for r in entry["results"]:
                del r["per_user"]
        with open(options.out, "w", encoding="utf-8") as out:
            json.dump({"k": options.k, "seeds": options.seeds, "train": options.train, "entries": entries}, out, indent=1)
            out.write("\n")
    return 1 if any(entry["error"] for entry in entries) else 0


if __name__ == "__main__":
    sys.exit(main())
