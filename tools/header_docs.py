#!/usr/bin/env python3
"""The comments of the public headers as documentation; the convention is docs/design/headers.md.

  header_docs.py filter HEADER        the header as Doxygen wants it, line for line (INPUT_FILTER of docs/Doxyfile)
  header_docs.py names XML            every name that Doxygen found no documentation for (XML: its output folder)
  header_docs.py contracts HEADER…    contracts without a label that they need; comments that name what does not exist
"""
import glob
import os
import re
import sys
import xml.etree.ElementTree as ElementTree

LABELS = ("Returns", "Errors", "Owner", "Threads")
LABEL = re.compile(r"^(%s):\s*" % "|".join(LABELS))
SECTION = re.compile(r"^/\* -{2,} (.+?) -{2,} \*/$")
COMMENT = re.compile(r"/\*.*?\*/", re.S)
LIST_ENTRY = re.compile(r"X\(((?:\"(?:\\.|[^\"])*\"|[^()\"])*)\)\s*(/\*.*?\*/)?")
ATTRIBUTES = re.compile(r"\b(FURROW_API|FURROW_MUST_USE|static|inline|extern)\b|__attribute__\s*\(\(.*?\)\)")


def blank(text):
    """Nothing, on as many lines."""
    return "\n" * text.count("\n")


def without_comments(text):
    return COMMENT.sub(lambda found: " " + blank(found.group()), text)


class Item:
    """A piece of a header at file level: "comment", "directive", "declaration", or "gap" (white space)."""

    def __init__(self, kind, text, line):
        self.kind, self.text, self.line = kind, text, line
        self.doc = None  # text of the comment that documents a declaration
        self.name = self.returns = self.parameters = None  # of functions

    def is_function(self):
        return self.name is not None


def split_items(text):
    items, at, line = [], 0, 1
    while at < len(text):
        if text.startswith("/*", at):
            kind, end = "comment", text.index("*/", at) + 2
        elif text[at] == "#":
            kind, end = "directive", re.compile(r"(?:\\\n|[^\n])*").match(text, at).end()
        elif text[at].isspace():
            kind, end = "gap", re.compile(r"\s+").match(text, at).end()
        else:
            kind, end = "declaration", declaration_end(text, at)
        item = Item(kind, text[at:end], line)
        if kind == "declaration":
            read_function(item)
        items.append(item)
        line += item.text.count("\n")
        at = end
    return items


def declaration_end(text, at):
    """The place after its ; or, of a function with a body, after the body."""
    depth = 0
    while at < len(text):
        if text.startswith("/*", at):
            at = text.index("*/", at) + 2
            continue
        if text[at] == "{":
            if depth == 0:
                body = without_comments(text[:at]).rstrip().endswith(")")
            depth += 1
        elif text[at] == "}":
            depth -= 1
            if depth == 0 and body:
                return at + 1
        elif text[at] == ";" and depth == 0:
            return at + 1
        at += 1
    return at


def read_function(item):
    head = ATTRIBUTES.sub(" ", without_comments(item.text).split("{")[0].rstrip("; \n"))
    head = " ".join(head.split())
    found = re.match(r"((?:[\w ]+?[ *]+)+?)(\w+)\s*\((.*)\)$", head)
    if found and not head.startswith("typedef"):
        item.returns, item.name, item.parameters = found.group(1).strip(), found.group(2), found.group(3)


def comment_lines(comment):
    lines = re.sub(r"[ \t]*\*/$", "", comment[2:]).split("\n")
    return [lines[0].strip()] + [re.sub(r"^\s*\* ?", "", line).rstrip() if line.lstrip().startswith("*") else line.strip()
                                 for line in lines[1:]]


# ---- What Doxygen is given ----

class Names:
    """What the public headers declare."""

    def __init__(self, folder):
        self.lists = {}
        self.known = set()
        for path in glob.glob(os.path.join(folder, "*.h")):
            text = open(path, encoding="utf-8").read()
            for name, body in re.findall(r"#define (\w+)\(X\)((?:\\\n|[^\n])*)", text):
                self.lists[name] = [(split_arguments(entry), note) for entry, note in LIST_ENTRY.findall(body)]
            self.known |= set(re.findall(r"\b(?:furrow|FURROW)_\w+", without_comments(text)))
        for use in expanded_lists(folder, self):
            self.known.add(use)


def split_arguments(text):
    return [part.strip() for part in re.findall(r"(?:\"(?:\\.|[^\"])*\"|[^,\"])+", text)]


LIST_USE = re.compile(r"#define (\w+)\(([\w, ]+)\) (.*)\n\s*(\w+)\(\1\)\n#undef \1\n")


def expand(found, names, value):
    """The enumerators of one use of a list: (name, value, text)."""
    parameters = [p.strip() for p in found.group(2).split(",")]
    for arguments, note in names.lists[found.group(4)]:
        body = found.group(3).rstrip(",")
        for parameter, argument in zip(parameters, arguments):
            body = re.sub(r"\b%s\b" % parameter, lambda _: argument, body)
        body = re.sub(r"\s*##\s*", "", body)
        name, _, given = (part.strip() for part in body.partition("="))
        value = int(given, 0) if given else value
        texts = [a for a in arguments if a.startswith('"')]
        text = " ".join(comment_lines(note)) if note else texts[-1].strip('"') if texts else ""
        yield name, value, text
        value += 1


def expanded_lists(folder, names):
    for path in glob.glob(os.path.join(folder, "*.h")):
        for found in LIST_USE.finditer(open(path, encoding="utf-8").read()):
            if found.group(4) in names.lists:
                for name, _, _ in expand(found, names, 0):
                    yield name


def escape(text, names):
    """Plain text, where names that are declared become links and `code` looks like code."""
    out = []
    for i, part in enumerate(text.split("`")):
        part = re.sub(r"([\\@<>&%#$~])", r"\\\1", part).replace("::", r"\::").replace('"', r"\"")
        part = re.sub(r"\b(?:furrow|FURROW)_\w+", lambda found: link(found.group(), found.group(), names), part)
        part = re.sub(r"\b(?<![\w\\])E_[A-Z_]+\b", lambda found: link("FURROW_" + found.group(), found.group(), names), part)
        out.append("<tt>%s</tt>" % part if i % 2 else part)
    return "".join(out)


def link(name, text, names):
    return '\\ref %s "%s"' % (name, text) if name in names.known else text


def convert(comment, names, head=""):
    """The comment as Doxygen reads it, on as many lines. `head` is for the start of the first."""
    out, code = [], False
    lines = comment_lines(comment)
    for i, line in enumerate(lines):
        if i > 0 and line.startswith("  ") and line.strip():
            if not code:
                out[-1] += " \\code{.unparsed}"
                code = True
            out.append(line.replace("*/", "* /"))
            continue
        closing = "\\endcode " if code else ""
        code = False
        label = LABEL.match(line)
        text = escape(line[label.end():] if label else line, names)
        if label and i == 0:
            text = "%s: %s" % (label.group(1), text)
        elif label:
            text = "\\%s %s" % ("return" if label.group(1) == "Returns" else label.group(1).lower(), text)
        out.append(closing + text)
    if code:
        out[-1] += " \\endcode"
    return head + ("\n * ".join(out)) + " */"


def filter_header(path):
    names = Names(os.path.dirname(os.path.abspath(path)))
    text = re.sub(r"^#ifdef __cplusplus\n.*?^#endif$", lambda found: blank(found.group()),
                  open(path, encoding="utf-8").read(), flags=re.S | re.M)
    items = split_items(text)
    attach(items)
    stem = re.sub(r"\W", "_", os.path.basename(path))
    sections = 0
    out = []
    for i, item in enumerate(items):
        if item.kind == "comment":
            section = SECTION.match(item.text)
            if i == 0:
                out.append(convert(item.text, names, "/** \\file furrow/%s \\brief " % os.path.basename(path)))
            elif section:
                out.append("%s/** \\defgroup %s_%d %s */ /** \\{ */" % ("/** \\} */ " if sections else "", stem, sections,
                                                                     escape(section.group(1), names)))
                sections += 1
            elif is_trailing(items, i):
                out.append(convert(item.text, names, "/**< "))
            else:
                conditional = conditional_defines(items, i)
                for define in conditional:
                    define.doc = item.text
                out.append(convert(item.text, names, "/** ") if documents(items, i) and not conditional else item.text)
        elif item.kind == "directive":
            out.append(directive(item, items, i, names))
        elif item.kind == "declaration" and not item.is_function():
            out.append(declaration(item.text, names))
        elif item.kind == "declaration" and isinstance(item.doc, Item):
            out.append("/** \\copydoc %s */ %s" % (item.doc.name, item.text))
        else:
            out.append(item.text)
    if sections:
        out.append("/** \\} */\n")
    return "".join(out)


def next_solid(items, i):
    """The item after a line end, if it is on the next line; None after a blank line or at the end."""
    if i + 1 < len(items) and items[i + 1].kind == "gap":
        if items[i + 1].text.count("\n") > 1:
            return None
        i += 1
    return i + 1 if i + 1 < len(items) else None


def is_trailing(items, i):
    if i == 0:
        return False
    before = items[i - 1]
    return before.kind != "gap" or "\n" not in before.text


def documents(items, i):
    at = next_solid(items, i)
    return at is not None and items[at].kind in ("declaration", "directive")


def conditional_defines(items, i):
    """The #defines between #if, right below comment i, and its #endif: the comment is theirs."""
    at = next_solid(items, i)
    found = []
    if at is not None and items[at].text.startswith("#if"):
        for item in items[at:]:
            if item.text.startswith("#endif"):
                break
            if item.text.startswith("#define"):
                found.append(item)
    return found


def attach(items):
    """Gives every function its documentation: a comment above or after it, or the function that shares it."""
    for i, item in enumerate(items):
        if not item.is_function():
            continue
        after = i + 1
        if after < len(items) and items[after].kind == "gap" and "\n" not in items[after].text:
            after += 1
        if after < len(items) and items[after].kind == "comment" and is_trailing(items, after):
            item.doc = items[after].text
        before = i - 1
        if before >= 0 and items[before].kind == "gap":
            if items[before].text.count("\n") > 1:
                continue
            before -= 1
        if before < 0:
            continue
        above = items[before]
        if above.kind == "comment" and not is_trailing(items, before):
            item.doc = above.text if item.doc is None else above.text + item.doc
        elif above.is_function() and above.doc and item.doc is None and above.returns == item.returns:
            item.doc = above.doc if isinstance(above.doc, Item) else above


def directive(item, items, i, names):
    guard = re.match(r"#define (\w+_H)$", item.text)
    if guard and re.search(r"#ifndef %s$" % guard.group(1), items[i - 2].text):
        return blank(item.text)
    if item.doc:
        return item.text + " " + convert("/* %s */" % " ".join(comment_lines(item.doc)), names, "/**< ")
    if item.text.startswith("#define") and "\n" not in item.text:
        return re.sub(r"/\*.*?\*/$", lambda found: convert(found.group(), names, "/**< "), item.text, flags=re.S)
    return item.text


def declaration(text, names):
    """A type: its own comment, if it stands after its {, goes before it; members get theirs."""
    if "{" not in text:
        return text
    head, body = text.split("{", 1)
    opening = re.match(r"[ \t]*(/\*.*?\*/)(?=\n)", body, re.S)
    if opening:
        head = convert(opening.group(1), names, "/** ") + " " + head
        body = body[opening.end():]
    body = LIST_USE.sub(lambda found: list_members(found, body, names), body)
    out, at = [], 0
    for found in COMMENT.finditer(body):
        if found.group().startswith("/**"):
            continue
        out.append(split_declarators(body[at:found.start()], found, body, names))
        at = found.end()
    return head + "{" + "".join(out) + body[at:]


def list_members(found, body, names):
    before = [part for part in without_comments(body[:found.start()]).split(",") if part.strip()]
    value = 0
    for part in before:
        name, _, given = part.partition("=")
        value = int(given, 0) + 1 if given.strip() else value + 1
    members = ["%s = %d, /**< %s */" % (name, number, escape(text, names)) for name, number, text in
               expand(found, names, value)]
    return " ".join(members) + blank(found.group())


def split_declarators(code, found, body, names):
    """Code of members and the comment after it or between it and the next one."""
    line = code[code.rfind("\n") + 1:]
    if not line.strip():
        after = body[found.end():].lstrip()
        first = re.match(r"[^;{}]*;[ \t]*(/\*)?", after)
        heading = first and first.group(1) or after.startswith("/*")
        return code + (found.group() if heading else convert(found.group(), names, "/** "))
    comment = convert(found.group(), names, "/**< ")
    several = re.match(r"(\s*)([\w ]+?)([ *]*\w+(?:\[\w+\])?(?:,\s*\**\w+(?:\[\w+\])?)+);\s*$", line)
    if not several:
        return code + comment
    # int a, b; with one comment for both
    members = [part.strip() for part in several.group(3).split(",")]
    each = ["%s %s; %s" % (several.group(2), part, comment if k == len(members) - 1 else re.sub(r"\s*\n \* ", " ", comment))
            for k, part in enumerate(members)]
    return code[:len(code) - len(line)] + several.group(1) + " ".join(each)


# ---- Checks ----

def undocumented(folder):
    """Names in Doxygen's XML that have no text."""
    seen = {}
    for path in glob.glob(os.path.join(folder, "*.xml")):
        for compound in ElementTree.parse(path).getroot().findall("compounddef"):
            if compound.get("kind") in ("struct", "union"):
                note(compound, compound.findtext("compoundname"), seen)
            scope = compound.findtext("compoundname") + "." if compound.get("kind") in ("struct", "union") else ""
            for member in compound.iter("memberdef"):
                name = member.findtext("name")
                if not name.startswith("@"):
                    note(member, scope + name, seen)
                for value in member.findall("enumvalue"):
                    note(value, value.findtext("name"), seen, member)
    return sorted("%s: %s is not documented" % (place, name) for name, (place, good) in seen.items() if not good)


def note(element, name, seen, place_of=None):
    good = any("".join(element.find(tag).itertext()).strip() for tag in ("briefdescription", "detaileddescription"))
    place = (element if place_of is None else place_of).find("location")
    text = "%s:%s" % (place.get("file"), place.get("line"))
    if name not in seen or good:
        seen[name] = (text, good or seen.get(name, (0, False))[1])


def label_of(doc, label):
    return any(line.startswith(label + ":") for part in COMMENT.findall(doc) for line in comment_lines(part))


def contracts(paths):
    names = Names(os.path.dirname(paths[0]))
    complaints = []
    for path in paths:
        text = open(path, encoding="utf-8").read()
        items = split_items(re.sub(r"^#ifdef __cplusplus\n.*?^#endif$", lambda found: blank(found.group()), text,
                                   flags=re.S | re.M))
        attach(items)
        functions = [item for item in items if item.is_function() and item.name.startswith("furrow_")]
        if functions and not label_of(items[0].text, "Threads"):
            complaints.append("%s:1: the comment at the top has no Threads:" % path)
        for item in functions:
            doc = item.doc.doc if isinstance(item.doc, Item) else item.doc
            needed = []
            if item.returns == "furrow_status":
                needed.append("Errors")
            elif item.returns != "void":
                needed.append("Returns")
            if "*" in item.returns or item.returns == "furrow_status" and " **" in item.parameters:
                needed.append("Owner")
            for label in needed:
                if doc and not label_of(doc, label):
                    complaints.append("%s:%d: %s has no %s:" % (path, item.line, item.name, label))
        for found in COMMENT.finditer(text):
            prose = re.sub(r"^ *\*   .*$", lambda code: " " * len(code.group()), found.group(), flags=re.M)
            for word in re.finditer(r"\bfurrow_\w+", prose):
                if word.group() not in names.known and not word.group().endswith("_"):
                    line = text.count("\n", 0, found.start() + word.start()) + 1
                    complaints.append("%s:%d: %s is not declared in any header" % (path, line, word.group()))
    return complaints


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "filter":
        sys.stdout.write(filter_header(arguments[1]))
        return 0
    if len(arguments) >= 2 and arguments[0] in ("names", "contracts"):
        found = undocumented(arguments[1]) if arguments[0] == "names" else contracts(arguments[1:])
        for line in found:
            print(line)
        return 1 if found else 0
    sys.stderr.write(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
