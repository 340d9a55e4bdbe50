# tests/interop/filter_python.py FURROW SELECT_IDS: thousands of random filters over a table, evaluated by Furrow and by plain Python.
import csv, datetime, json, random, struct, subprocess, sys

furrow, select = sys.argv[1:]
random.seed(20)
ROWS, FILTERS, D = 257, 2000, 2
utc = datetime.timezone.utc
texts = ["de", "fr", "a b", 'say "x"', "it's", "back\\slash", "é", "中", "Z", "z"]
elements = ["Comedy", "Drama", "Sci-Fi", "x y"]

def maybe(value):
    return value if random.random() < 0.85 else None

def make_row():
    return {
        "price": maybe(random.choice([0, 1, 2.5, -3, 1e6, 0.1, random.randrange(9)])),
        "sold": maybe(random.random() < 0.5),
        "lang": maybe(random.choice(texts)),
        "release year": maybe(random.randrange(1990, 1996)),
        "genres": random.sample(elements, random.randrange(4)),
        "added": maybe(datetime.datetime(2024, random.randrange(1, 4), random.randrange(1, 28), random.randrange(24), tzinfo=utc)),
    }

rows = [make_row() for _ in range(ROWS)]
kind = {"price": "number", "sold": "number", "lang": "text", "release year": "number", "genres": "set", "added": "time"}

def write_csv(path):
    with open(path, "w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(["id"] + list(kind))
        for i, row in random.sample(list(enumerate(rows)), ROWS):
            cells = [i]
            for name, value in row.items():
                if name == "genres":
                    value = "|".join(value)
                elif name == "added" and value:
                    value = value.strftime("%Y-%m-%dT%H:%M:%SZ")
                elif isinstance(value, bool):
                    value = str(value).lower()
                cells.append("" if value is None else value)
            writer.writerow(cells)

def write_json(path):
    with open(path, "w", encoding="utf-8") as out:
        for i, row in enumerate(rows):
            event = {"id": i, **row, "added": row["added"] and row["added"].isoformat()}
            out.write(json.dumps({k: v for k, v in event.items() if v is not None}) + "\n")

def quoted(text):
    mark = random.choice("\"'")
    return mark + text.replace("\\", "\\\\").replace(mark, "\\" + mark) + mark

def column(name):
    return "`" + name + "`" if " " in name or random.random() < 0.1 else name

def literal(name):
    """A value, and how a filter has it."""
    if kind[name] == "number":
        value = random.choice([0, 1, 2.5, -3, 1e6, 0.1, 1992, 4])
        return (value, random.choice(["true", "TRUE"])) if value == 1 and random.random() < 0.3 else (value, repr(value))
    if kind[name] == "time":
        value = datetime.datetime(2024, random.randrange(1, 4), random.randrange(1, 28), tzinfo=utc)
        return value, random.choice([quoted(value.strftime("%Y-%m-%d")), quoted(value.strftime("%Y-%m-%d %H:%M")), "%d" % value.timestamp()])
    value = random.choice(texts if kind[name] == "text" else elements)
    return value, quoted(value)

compare = {"=": lambda a, b: a == b, "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<>": lambda a, b: a != b,
           "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b}

def order(value):
    return value.encode() if isinstance(value, str) else value

def condition():
    """A filter, and what it says of a row."""
    name = random.choice(list(kind))
    shape = random.random()
    if shape < 0.1 and kind[name] == "number":
        return column(name), lambda row: row[name] is not None and row[name] != 0
    if shape < 0.2:
        missing = (lambda row: not row[name]) if kind[name] == "set" else (lambda row: row[name] is None)
        if random.random() < 0.5:
            return column(name) + " is missing", missing
        return column(name) + " IS NOT missing", lambda row: not missing(row)
    if shape < 0.45:
        values = [literal(name) for _ in range(random.randrange(1, 5))]
        wanted = {value for value, _ in values}
        holds = (lambda row: bool(wanted & set(row[name]))) if kind[name] == "set" else (lambda row: row[name] in wanted)
        text = "(" + random.choice([",", ", "]).join(text for _, text in values) + ")"
        if random.random() < 0.5:
            return column(name) + " in " + text, holds
        return column(name) + " not in" + text, lambda row: not holds(row)
    value, text = literal(name)
    sign = random.choice(["=", "==", "!=", "<>"] if kind[name] == "set" else list(compare))
    blank = random.choice(["", " "])
    text = column(name) + blank + sign + blank + text
    equal = sign in ("=", "==")
    if kind[name] == "set":
        return text, lambda row: (value in row[name]) == equal
    unequal = sign in ("!=", "<>")
    return text, lambda row: compare[sign](order(row[name]), order(value)) if row[name] is not None else unequal

def expression(depth):
    shape = random.random()
    if depth == 0 or shape < 0.3:
        return condition()
    if shape < 0.45:
        text, holds = expression(depth - 1)
        return "not (" + text + ")", lambda row: not holds(row)
    if shape < 0.55:
        text, holds = condition()
        return "not " + text, lambda row: not holds(row)
    parts = [expression(depth - 1) for _ in range(random.randrange(2, 4))]
    tests = [holds for _, holds in parts]
    if shape < 0.8:  # and binds more tightly than or, so that operands of and stand in parentheses
        return " and ".join("(" + text + ")" for text, _ in parts), lambda row: all([test(row) for test in tests])
    return " or ".join(text for text, _ in parts), lambda row: any([test(row) for test in tests])

with open("base.fvecs", "wb") as out:
    for i in range(ROWS):
        out.write(struct.pack("<i2f", D, i, 0))
write_csv("items.csv")
write_json("items.jsonl")
filters = [expression(random.randrange(4)) for _ in range(FILTERS)]
asked = "".join(text + "\n" for text, _ in filters)
for table in ("items.csv", "items.jsonl"):
    subprocess.run([furrow, "index", "build", "--base", "base.fvecs", "--factory", "Flat", "--out", "i.index", "--attributes", table,
                    "--force", "--quiet"], check=True, stdout=subprocess.DEVNULL)
    answers = subprocess.run([select, "i.index"], input=asked, check=True, stdout=subprocess.PIPE, text=True).stdout.split("\n")
    some = 0
    for (text, holds), answer in zip(filters, answers):
        wanted = [i for i, row in enumerate(rows) if holds(row)]
        assert not answer.startswith("!"), (table, text, answer)
        assert [int(x) for x in answer.split()] == wanted, (table, text, wanted, answer)
        some += 0 < len(wanted) < ROWS
    assert some > FILTERS / 2, some

# Mistakes, and the column where they are.
mistakes = {
    "": 1, "price": None, "price <": 8, "price < 'x'": 9, "lang = 5": 8, "lang < 5": 8, "prize < 1": 1, "price < 1 and": 14, "price < 1 lang": 11,
    "(price < 1": 11, "price < 1)": 10, "genres < 'x'": 8, "lang": 1, "not": 4, "price in 1": 10, "price in (1": 12, "price in ()": 11, "lang = 'x": 8,
    "price < 1e999": 9, "price < 1x": 9, "price is 5": 10, "price not 5": 11, "a # b": 1, "price # 5": 7, "lang = de": 8, "added > 'soon'": 9,
    "price in (1 2)": 13, "added": 1, "`price < 1": 1, "(" * 65 + "sold" + ")" * 65: 65, "(" * 60 + "sold" + ")" * 60: None,
    " or ".join(["sold"] * 1000): None, " or ".join(["sold"] * 1001): 8001, "not " * 5000 + "sold": None,
}
answers = subprocess.run([select, "i.index"], input="".join(text + "\n" for text in mistakes), check=True, stdout=subprocess.PIPE,
                         text=True).stdout.split("\n")
for (text, place), answer in zip(mistakes.items(), answers):
    assert answer == "!%d" % place if place else not answer.startswith("!"), (text[:100], place, answer[:100])
