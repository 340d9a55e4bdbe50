#!/usr/bin/env python3
"""tests/install/sbom.py BUILD: what tools/make_sbom.py writes keeps the rules of SPDX 2.3, and is true: every file that is
installed is in it with its checksums, and every library that a program loads; two runs give the same bytes."""

import hashlib
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TREE = Path(__file__).resolve().parent.parent.parent
LIBRARY_PACKAGES = {"zlib", "zstd", "xxhash", "glibc"}


def check(fact, text):
    if not fact:
        sys.exit(f"sbom: {text}")


def check_form(document):
    """What the specification demands of a document, clauses 6 to 11."""
    check(document["spdxVersion"] == "SPDX-2.3" and document["dataLicense"] == "CC0-1.0", "not SPDX 2.3")
    check(document["SPDXID"] == "SPDXRef-DOCUMENT" and document["name"], "no document")
    check(re.fullmatch(r"https://\S+[^#]", document["documentNamespace"]), "the namespace is not a URI")
    check(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", document["creationInfo"]["created"]), "not a time")
    for creator in document["creationInfo"]["creators"]:
        check(re.match(r"(Tool|Organization|Person): \S", creator), f"not a creator: {creator}")
    elements = document["packages"] + document["files"]
    ids = [element["SPDXID"] for element in elements]
    check(len(set(ids)) == len(ids), "an id is there twice")
    for name in ids:
        check(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", name), f"not an id: {name}")
    known = set(ids) | {"SPDXRef-DOCUMENT"}
    for relation in document["relationships"]:
        check({relation["spdxElementId"], relation["relatedSpdxElement"]} <= known, f"who is {relation}?")
    for package in document["packages"]:
        for key in ("name", "versionInfo", "downloadLocation", "licenseConcluded", "licenseDeclared", "copyrightText"):
            check(package[key], f"{package['name']} has no {key}")
        check(package["filesAnalyzed"] == ("packageVerificationCode" in package), f"{package['name']}: verification code")
    for file in document["files"]:
        check(file["fileName"].startswith("./"), f"not a relative path: {file['fileName']}")
        lengths = {each["algorithm"]: len(each["checksumValue"]) for each in file["checksums"]}
        check(lengths == {"SHA1": 40, "SHA256": 64}, f"checksums of {file['fileName']}")


def related(document, element, kind):
    return {
        relation["relatedSpdxElement"]
        for relation in document["relationships"]
        if relation["spdxElementId"] == element and relation["relationshipType"] == kind
    }


def check_contents(document, package, folder):
    """The files of a package are those in the folder; its verification code is theirs."""
    contained = related(document, package["SPDXID"], "CONTAINS")
    files = [file for file in document["files"] if file["SPDXID"] in contained]
    sums = []
    for file in files:
        data = (folder / file["fileName"]).read_bytes()
        values = {each["algorithm"]: each["checksumValue"] for each in file["checksums"]}
        check(values["SHA1"] == hashlib.sha1(data).hexdigest(), f"SHA-1 of {file['fileName']}")
        check(values["SHA256"] == hashlib.sha256(data).hexdigest(), f"SHA-256 of {file['fileName']}")
        sums.append(values["SHA1"])
    code = hashlib.sha1("".join(sorted(sums)).encode()).hexdigest()
    check(package["packageVerificationCode"]["packageVerificationCodeValue"] == code, f"code of {package['name']}")
    return {file["fileName"]: file["SPDXID"] for file in files}


def run(*command, **more):
    return subprocess.run(command, cwd=TREE, check=True, text=True, capture_output=True, **more).stdout


def main():
    build = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as work:
        first, second, prefix = Path(work, "first.json"), Path(work, "second.json"), Path(work, "prefix")
        print(run("tools/make_sbom.py", str(build), str(first)), end="")
        run("tools/make_sbom.py", str(build), str(second))
        check(first.read_bytes() == second.read_bytes(), "two runs give different bytes")
        run("cmake", "--install", str(build), "--prefix", str(prefix))
        document = json.loads(first.read_text())
        check_form(document)
        packages = {package["name"]: package for package in document["packages"]}
        root = packages["furrow"]
        check(related(document, "SPDXRef-DOCUMENT", "DESCRIBES") == {root["SPDXID"]}, "it describes something else")
        check(related(document, root["SPDXID"], "GENERATED_FROM") == {packages["furrow-source"]["SPDXID"]}, "made from?")
        files = check_contents(document, root, prefix)
        installed = {f"./{path.relative_to(prefix)}" for path in prefix.rglob("*") if path.is_file() and not path.is_symlink()}
        check(set(files) == installed, f"not the files that are installed: {set(files) ^ installed}")
        check_contents(document, packages["furrow-source"], TREE)
        needed = {packages[name]["SPDXID"] for name in LIBRARY_PACKAGES}
        check(needed <= related(document, files["./bin/furrow"], "DEPENDS_ON"), "the command loads more than that")
        check(needed <= related(document, root["SPDXID"], "DEPENDS_ON"), "the package needs more than that")
        print(", ".join(f"{name} {package['versionInfo']}" for name, package in sorted(packages.items())))


if __name__ == "__main__":
    main()
