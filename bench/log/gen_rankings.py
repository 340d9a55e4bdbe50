#!/usr/bin/env python3
"""bench/log/gen_rankings.py NAME… --out FOLDER: writes generated logs, FOLDER/NAME.csv and, where items have a table,
FOLDER/NAME-items.csv. Without a NAME it lists the logs.

Users draw items by p ~ exp(ln popularity + taste), where taste is the product of a vector of the user and one of the
item; each kind of log changes one thing. Each kind comes twice, with another seed and other sizes: the tuning logs may be
used to choose defaults; nobody looks at the held-out logs (their names end in -2) until the defaults are final. `series-2` has no
tuning log of its kind. NAME@N is the log NAME from the N-th other seed, which nothing was ever chosen by.
"""
import argparse
import csv
import os
import sys

try:
    import numpy as np
except ImportError:
    if sys.executable == "/usr/bin/python3" or not os.access("/usr/bin/python3", os.X_OK):
        sys.exit("gen_rankings.py needs numpy")
    os.execv("/usr/bin/python3", ["/usr/bin/python3"] + sys.argv)  # Debian's packages are of that one

DAY, YEAR, BEGIN = 86400, 365 * 86400, 1600000000
SYLLABLES = ["ba", "ce", "di", "fo", "gu", "ha", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu", "va", "ze"]


class Log:
    """Events as arrays of the same length (rating may be None), and a table of all items: a list of rows, the first of
    which has the names of the columns (or None). times are seconds. repeats: own items are candidates."""

    def __init__(self, user, item, time, rating=None, table=None, repeats=False):
        order = np.lexsort((user, time))  # as a server writes its log
        self.user, self.item, self.time = user[order], item[order], time[order]
        self.rating = None if rating is None else rating[order]
        self.table, self.repeats = table, repeats

    def save(self, path, table_path):
        with open(path, "w") as out:
            out.write("user,item,time" + ("" if self.rating is None else ",rating") + "\n")
            ratings = [""] * len(self.user) if self.rating is None else [f",{r:g}" for r in self.rating]
            out.writelines(f"u{u},i{i},{t}{r}\n" for u, i, t, r in zip(self.user, self.item, self.time, ratings))
        if self.table:
            with open(table_path, "w", newline="") as out:
                csv.writer(out, lineterminator="\n").writerows(self.table)


# ---- Parts ----


def log_popularity(rng, items, exponent):
    """ln of a power law of the place, in random order"""
    return rng.permutation(-exponent * np.log(np.arange(items) + 5.0))


def vectors(rng, n, factors, clusters=0, spread=0.5):
    """Normal vectors of length about 1; with clusters they lie around that many centres"""
    if not clusters:
        return rng.normal(size=(n, factors)) / factors ** 0.5
    centres = rng.normal(size=(clusters, factors)) / factors ** 0.5
    return (centres[rng.integers(0, clusters, n)] + spread * rng.normal(size=(n, factors)) / factors ** 0.5)


def lengths(rng, users, mean, spread, least, most):
    """Events of each user, with a lognormal distribution"""
    drawn = np.exp(rng.normal(np.log(mean) - spread ** 2 / 2, spread, users))
    return np.clip(np.round(drawn), least, most).astype(int)


def gumbel(rng, shape):
    """The largest of x + gumbel is a draw by p ~ exp(x); the n largest in their order are n draws without repeats"""
    return -np.log(rng.standard_exponential(shape, dtype=np.float32) + 1e-30)


def draw_lists(rng, logits, counts):
    """For each row of logits that many different items, in the order in which they are drawn"""
    order = np.argsort(-(logits + gumbel(rng, logits.shape)), axis=1, kind="stable")
    return [row[:count] for row, count in zip(order, counts)]


def draw_one(rng, logits, own=None):
    """One item for each row, none of the user's own (a matrix of bool), which gets the new one"""
    keys = logits + gumbel(rng, logits.shape)
    if own is not None:
        keys[own] = -np.inf
    return keys.argmax(axis=1)


def spread_times(rng, counts, period=YEAR):
    """Each user comes at some time of the period and stays for a part of it"""
    times = []
    for count in counts:
        first = rng.random() * period
        times.append(BEGIN + np.sort(first + rng.random(count) * period / 4).astype(int))
    return times


def flat(lists, times, **more):
    users = np.repeat(np.arange(len(lists)), [len(x) for x in lists])
    return Log(users, np.concatenate(lists), np.concatenate(times), **more)


# ---- Kinds of logs ----


def tastes(seed, users, items, mean, exponent, factors, strength, clusters=0, spread=0.7, least=5):
    """Fixed tastes. Sizes, the power law and the strength of the tastes make it long tail, few users, few items or factors."""
    rng = np.random.default_rng(seed)
    p, q = vectors(rng, users, factors, clusters), vectors(rng, items, factors, clusters)
    popularity = log_popularity(rng, items, exponent)
    counts = lengths(rng, users, mean, spread, least, items // 2)
    lists = []
    for at in range(0, users, 500):
        lists += draw_lists(rng, popularity + strength * factors ** 0.5 * (p[at:at + 500] @ q.T), counts[at:at + 500])
    return flat(lists, spread_times(rng, counts))


def repeats(seed, users, items, length, share, memory):
    """share of the events repeat one of the user's last `memory` events (0: any of them, the first ones more often), the
    others follow tastes"""
    rng = np.random.default_rng(seed)
    logits = log_popularity(rng, items, 0.8) + 2 * 8 ** 0.5 * (vectors(rng, users, 8) @ vectors(rng, items, 8).T)
    events = np.zeros((users, length), int)
    for step in range(length):
        fresh = draw_one(rng, logits)
        back = ((rng.random(users) if memory else rng.random(users) ** 0.4) * min(step, memory or step)).astype(int) + 1
        again = (rng.random(users) < share) & (step > 0)
        events[:, step] = np.where(again, events[np.arange(users), np.maximum(step - back, 0)], fresh)
    counts = [length] * users
    return flat(list(events), spread_times(rng, counts), repeats=True)


def new_items(seed, users, items, mean, genres, words, old):
    """Items come out over the year and are in demand when they are new; a part (`old`) is there from the beginning. Tastes
    are for genres and for words of titles, which the table has. Each user's last fifth of events lies in the last fifth of
    the year, so that many items of the test have no events before it."""
    rng = np.random.default_rng(seed)
    factors = 10
    genre_vectors, word_vectors = vectors(rng, genres, factors), vectors(rng, words, factors)
    names = [SYLLABLES[i % 16] + SYLLABLES[i // 16 % 16] + SYLLABLES[(5 * i + 3) % 16] for i in range(2 * words + genres)]
    table, q = [["item", "title", "genres"]], np.zeros((items, factors))
    for item in range(items):
        mine = rng.choice(genres, 1 + item % 3, replace=False)
        title = rng.choice(words, 2, replace=False)
        q[item] = genre_vectors[mine].mean(axis=0) + 0.5 * word_vectors[title].mean(axis=0) + 0.03 * rng.normal(size=factors)
        noise = words + rng.integers(0, words)  # a word that says nothing
        table.append([f"i{item}", " ".join(names[w].capitalize() for w in [*title, noise]),
                      "|".join(names[2 * words + g].capitalize() for g in sorted(mine))])
    p = vectors(rng, users, factors)
    out = np.where(rng.random(items) < old, 0.0, rng.random(items))
    popularity = log_popularity(rng, items, 0.6)
    counts = lengths(rng, users, mean, 0.5, 8, items // 4)
    times = []
    for count in counts:
        tests = max(1, int(count * 0.2 + 0.5))
        times.append(np.concatenate([np.sort(rng.random(count - tests)) * 0.8, 0.8 + np.sort(rng.random(tests)) * 0.2]))
    lists = [np.zeros(count, int) for count in counts]
    own = np.zeros((users, items), bool)
    for step in range(max(counts)):
        active = np.flatnonzero(counts > step)
        age = np.array([times[u][step] for u in active])[:, None] - out[None, :]
        logits = popularity + 2.5 * factors ** 0.5 * (p[active] @ q.T) + 2.5 * np.exp(-np.maximum(age, 0) / 0.08)
        logits[age < 0] = -np.inf
        drawn = draw_one(rng, logits, own[active])
        own[active, drawn] = True
        for user, item in zip(active, drawn):
            lists[user][step] = item
    return flat(lists, [BEGIN + (t * YEAR).astype(int) for t in times], table=table)


def drift(seed, users, items, mean, width, turn):
    """Each item is in demand for a time (width, in years); the taste of a user turns to another one while he is active"""
    rng = np.random.default_rng(seed)
    factors = 8
    first, last = vectors(rng, users, factors), vectors(rng, users, factors)
    q, popularity, peak = vectors(rng, items, factors), log_popularity(rng, items, 0.7), rng.random(items) * 1.4 - 0.2
    counts = lengths(rng, users, mean, 0.6, 6, items // 4)
    begin = rng.random(users) * 0.7
    lists, times = [np.zeros(count, int) for count in counts], [np.zeros(count) for count in counts]
    own = np.zeros((users, items), bool)
    for step in range(max(counts)):
        active = np.flatnonzero(counts > step)
        share = ((step + rng.random(len(active))) / counts[active])[:, None]
        when = begin[active][:, None] + 0.3 * share
        p = (1 - turn * share) * first[active] + turn * share * last[active]
        logits = popularity + 2.5 * factors ** 0.5 * (p @ q.T) - 0.5 * ((when - peak) / width) ** 2
        drawn = draw_one(rng, logits, own[active])
        own[active, drawn] = True
        for user, item, t in zip(active, drawn, when[:, 0]):
            lists[user][step], times[user][step] = item, t
    return flat(lists, [BEGIN + (t * YEAR).astype(int) for t in times])


def sessions(seed, users, items, mean, follow, successors):
    """Short sessions, each of its own "user": the next item is one of the successors of the last with the chance `follow`,
    else one of the session's topic"""
    rng = np.random.default_rng(seed)
    topics = 40
    topic_of = rng.integers(0, topics, items)
    popularity = log_popularity(rng, items, 0.9)
    same = [np.flatnonzero(topic_of == t) for t in range(topics)]
    after = np.array([rng.choice(same[topic_of[i]] if len(same[topic_of[i]]) > successors else np.arange(items),
                                 successors, replace=False) for i in range(items)])
    weights = 1 / np.arange(1, successors + 1)
    chance = np.cumsum(weights / weights.sum())
    weight = np.exp(popularity)
    shares = [weight[s] / weight[s].sum() for s in same]
    counts = lengths(rng, users, mean, 0.5, 2, 30)
    lists = []
    for count in counts:
        topic = rng.integers(0, topics)
        events, seen = [], set()
        for _ in range(20 * count):
            if len(events) == count:
                break
            if events and rng.random() < follow:
                item = after[events[-1], np.searchsorted(chance, rng.random())]
            else:
                item = same[topic][np.searchsorted(np.cumsum(shares[topic]), rng.random()) % len(same[topic])]
            if item not in seen:
                seen.add(item)
                events.append(item)
        lists.append(np.array(events))
    times = [BEGIN + int(rng.random() * YEAR / 12) + np.cumsum(rng.integers(5, 120, len(x))) for x in lists]
    return flat(lists, times)


def ratings(seed, users, items, mean, early, late):
    """Users first try what is popular, whatever it is (taste has the strength `early`), and rate it from 0.5 to 5; then
    they take what is like the items that they liked (`late`)"""
    rng = np.random.default_rng(seed)
    factors = 6
    fit = factors ** 0.5 * (vectors(rng, users, factors) @ vectors(rng, items, factors, 30, 0.3).T)
    fit /= fit.std()
    popularity = log_popularity(rng, items, 0.9)
    counts = lengths(rng, users, mean, 0.6, 10, items // 4)
    lists = []
    for user, count in enumerate(counts):
        first = draw_lists(rng, (popularity + early * fit[user])[None], [count * 3 // 5])[0]
        logits = popularity + late * fit[user]
        logits[first] = -np.inf
        lists.append(np.concatenate([first, draw_lists(rng, logits[None], [count - len(first)])[0]]))
    rating = [np.clip(np.round(2 * (3.4 + 0.9 * fit[u, mine] + 0.4 * rng.normal(size=len(mine)))) / 2, 0.5, 5)
              for u, mine in enumerate(lists)]
    return flat(lists, spread_times(rng, counts), rating=np.concatenate(rating))


def series(seed, users, items, mean, parts):
    """Items are parts of series, which users see in order, two or three series at a time; times are whole days"""
    rng = np.random.default_rng(seed)
    number = items // parts
    logits = log_popularity(rng, number, 0.8) + 2 * 8 ** 0.5 * (vectors(rng, users, 8) @ vectors(rng, number, 8).T)
    counts = lengths(rng, users, mean, 0.6, 5, items // 4)
    lists, times = [], []
    for user, wanted in enumerate(draw_lists(rng, logits, [number] * users)):
        place, open_series, events = 0, [], []
        while len(events) < counts[user]:
            while len(open_series) < 2 + user % 2:
                open_series.append([wanted[place], 0])
                place += 1
            which = int(rng.random() ** 2 * len(open_series))
            name, part = open_series[which]
            events.append(name * parts + part)
            open_series[which][1] += 1
            if part + 1 == parts or rng.random() < 0.12:  # the end, or it is dropped
                del open_series[which]
        lists.append(np.array(events))
        days = np.cumsum(rng.integers(0, 3, len(events)) * (rng.random(len(events)) < 0.5))
        times.append(BEGIN + (int(rng.random() * 200) + days) * DAY)
    return flat(lists, times)


def million(seed, users, items, events):
    """A large log, drawn quickly: each user has some of 200 groups of items; each group has its own power law"""
    rng = np.random.default_rng(seed)
    groups = 200
    group_items = rng.permutation(items).reshape(groups, -1)
    mine = rng.integers(0, groups, (users, 4))
    user = rng.integers(0, users, events)
    group = np.where(rng.random(events) < 0.85, mine[user, (rng.random(events) ** 2 * 4).astype(int)],
                     (rng.random(events) ** 2 * groups).astype(int))
    item = group_items[group, (rng.random(events) ** 3 * group_items.shape[1]).astype(int)]
    _, first = np.unique(user * items + item, return_index=True)
    return Log(user[first], item[first], BEGIN + rng.integers(0, YEAR, len(first)))


# ---- The logs ----

TUNING = {
    "long-tail": lambda shift: tastes(101 + shift, 2500, 9000, 26, 1.0, 10, 2.2, clusters=60, spread=0.8),
    "few-users": lambda shift: tastes(102 + shift, 70, 2000, 300, 0.8, 8, 1.8, clusters=12, spread=0.4),
    "few-items": lambda shift: tastes(103 + shift, 5000, 80, 14, 0.5, 4, 1.5, spread=0.5),
    "repeats": lambda shift: repeats(104 + shift, 500, 500, 60, 0.8, 0),
    "new-items": lambda shift: new_items(105 + shift, 1500, 1200, 40, 14, 60, 0.4),
    "drift": lambda shift: drift(106 + shift, 1800, 1500, 35, 0.15, 1.0),
    "sessions": lambda shift: sessions(107 + shift, 9000, 1200, 6, 0.6, 4),
    "factors": lambda shift: tastes(108 + shift, 2000, 1500, 50, 0.4, 16, 2.2),
    "ratings": lambda shift: ratings(109 + shift, 1500, 1500, 50, 0.2, 1.6),
}
HELD_OUT = {
    "long-tail-2": lambda shift: tastes(201 + shift, 4000, 6000, 15, 1.2, 16, 1.8, clusters=150, spread=1.0),
    "few-users-2": lambda shift: tastes(202 + shift, 110, 1200, 190, 1.0, 6, 2.5, spread=0.7),
    "few-items-2": lambda shift: tastes(203 + shift, 3000, 150, 20, 0.9, 6, 2.0, clusters=10, spread=0.6),
    "repeats-2": lambda shift: repeats(204 + shift, 900, 1500, 45, 0.65, 15),
    "new-items-2": lambda shift: new_items(205 + shift, 2200, 900, 25, 20, 120, 0.25),
    "drift-2": lambda shift: drift(206 + shift, 1400, 2500, 45, 0.3, 0.6),
    "sessions-2": lambda shift: sessions(207 + shift, 6000, 2500, 9, 0.4, 8),
    "factors-2": lambda shift: tastes(208 + shift, 3000, 1000, 30, 0.7, 24, 2.5),
    "ratings-2": lambda shift: ratings(209 + shift, 2200, 900, 35, 0.0, 2.2),
    "series-2": lambda shift: series(210 + shift, 1600, 2400, 40, 8),
}
SPEED = {"million": lambda shift: million(301 + shift, 50000, 20000, 1130000)}
SETS = {"tuning": TUNING, "held-out": HELD_OUT, "speed": SPEED}


def generate(name):
    """NAME, or NAME@N: another seed, and so new tastes and events"""
    name, _, shift = name.partition("@")
    for logs in SETS.values():
        if name in logs:
            return logs[name](1000 * int(shift or 0))
    raise KeyError(name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of the logs, or NAME@N")
    parser.add_argument("--out", metavar="FOLDER", default=".", help="where to write them (.)")
    options = parser.parse_args()
    if not options.names:
        for kind, logs in SETS.items():
            print(f"{kind}: {' '.join(logs)}")
        return 0
    os.makedirs(options.out, exist_ok=True)
    for name in options.names:
        try:
            log = generate(name)
        except KeyError:
            sys.exit(f"there is no log '{name}'; without a name, the logs are listed")
        path = os.path.join(options.out, name)
        log.save(path + ".csv", path + "-items.csv")
        print(f"{path}.csv: {len(log.user)} events, {len(np.unique(log.user))} users, {len(np.unique(log.item))} items")
    return 0


if __name__ == "__main__":
    sys.exit(main())
