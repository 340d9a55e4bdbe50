#!/usr/bin/env python3
"""tools/make_sbom.py BUILD OUT [FILE ...]: what a release consists of, as SPDX 2.3 in JSON.

The files that BUILD installs (and each FILE, such as a package or a wheel) with their checksums, the sources
that they are made from, and the libraries that they load, with the versions that are installed here. The same sources and
libraries give the same bytes: the time is that of tools/tree.sh date."""

import functools
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

TREE = Path(__file__).resolve().parent.parent
LICENSE = "Apache-2.0"
COPYRIGHT = "2026 the authors of Furrow"
SOURCES = ("CMakeLists.txt", "LICENSE", "cli/", "cmake/", "include/", "python/", "serve/", "src/")

# A shared library by the beginning of its file name: its project and the license of the library.
LIBRARIES = {
    "libz.": ("zlib", "Zlib"),
    "libzstd.": ("zstd", "BSD-3-Clause OR GPL-2.0-only"),
    "libxxhash.": ("xxhash", "BSD-2-Clause"),
    "libevent_core": ("libevent", "BSD-3-Clause"),
    "libc.": ("glibc", "LGPL-2.1-or-later"),
    "libm.": ("glibc", "LGPL-2.1-or-later"),
    "libmvec.": ("glibc", "LGPL-2.1-or-later"),
    "ld-linux": ("glibc", "LGPL-2.1-or-later"),
    "libmpi.": ("openmpi", "BSD-3-Clause-Open-MPI"),
    "libmpich.": ("mpich", "NOASSERTION"),
}


def said(*command):
    return subprocess.run(command, cwd=TREE, check=True, capture_output=True, text=True).stdout


def spdx_id(kind, name):
    """Letters, digits, dots and hyphens alone; different names stay different."""
    plain = re.sub("[^A-Za-z0-9.-]+", "-", name)
    mark = "" if plain == name else "-" + hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"SPDXRef-{kind}-{plain}{mark}"


def file_type(path):
    if path.suffix in (".c", ".h", ".py", ".js", ".cmake", ".in", ".map", ".inc"):
        return "SOURCE"
    if path.suffix in (".deb", ".whl", ".gz"):
        return "ARCHIVE"
    with open(path, "rb") as file:
        return "BINARY" if file.read(7) in (b"\x7fELF\x02\x01\x01", b"!<arch>") else "TEXT"


def describe_file(path, name, kind):
    data = path.read_bytes()
    return {
        "SPDXID": spdx_id(kind, name),
        "fileName": f"./{name}",
        "fileTypes": [file_type(path)],
        "checksums": [
            {"algorithm": "SHA1", "checksumValue": hashlib.sha1(data).hexdigest()},
            {"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()},
        ],
        "licenseConcluded": LICENSE,
        "licenseInfoInFiles": ["NOASSERTION"],
        "copyrightText": COPYRIGHT,
    }


def verification_code(files):
    """As SPDX 2.3 defines it: SHA-1 of the sorted SHA-1s of all files."""
    sums = sorted(file["checksums"][0]["checksumValue"] for file in files)
    return {"packageVerificationCodeValue": hashlib.sha1("".join(sums).encode()).hexdigest()}


def describe_own(name, version, purpose, files):
    return {
        "SPDXID": spdx_id("Package", name),
        "name": name,
        "versionInfo": version,
        "supplier": "Organization: Furrow Maintainers",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": True,
        "packageVerificationCode": verification_code(files),
        "primaryPackagePurpose": purpose,
        "licenseConcluded": LICENSE,
        "licenseDeclared": LICENSE,
        "licenseInfoFromFiles": ["NOASSERTION"],
        "copyrightText": COPYRIGHT,
    }


def installed_package(path):
    """Debian's package of a file and its version and architecture, or None."""
    for candidate in (path, os.path.realpath(path), re.sub("^/usr", "", os.path.realpath(path))):
        try:
            package = said("dpkg-query", "-S", candidate).split(": ")[0].split(",")[0]
            return said("dpkg-query", "-W", "-f", "${Package} ${Version} ${Architecture}", package).split()
        except (FileNotFoundError, subprocess.CalledProcessError):
            continue
    return None


def describe_other(name, version, license_text, package, purpose):
    described = {
        "SPDXID": spdx_id("Package", name),
        "name": name,
        "versionInfo": version,
        "supplier": "NOASSERTION",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "primaryPackagePurpose": purpose,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": license_text,
        "copyrightText": "NOASSERTION",
    }
    if package:
        url = f"pkg:deb/debian/{package[0]}@{quote(package[1], safe='')}?arch={package[2]}"
        described["externalRefs"] = [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": url}
        ]
    return described


def loaded_libraries(path):
    """The shared libraries that a program or library names itself: (file name, path)."""
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", said("readelf", "-dW", str(path)))
    places = dict(re.findall(r"^\s*(\S+)(?: => (\S+))? \(0x", said("ldd", str(path)), re.M)) if needed else {}
    return [(name, places.get(name) or name) for name in needed]


@functools.lru_cache(maxsize=None)
def describe_library(name, path):
    known = [facts for start, facts in LIBRARIES.items() if name.startswith(start)]
    if not known:
        sys.exit(f"tools/make_sbom.py does not know the license of {name}: add it to LIBRARIES")
    package = installed_package(path)
    from_name = re.search(r"\.so\.(.*)", os.path.basename(os.path.realpath(path)))
    version = package[1] if package else from_name.group(1) if from_name else "NOASSERTION"
    return describe_other(known[0][0], version, known[0][1], package, "LIBRARY")


def relate(relationships, element, kind, other):
    relationships.append({"spdxElementId": element, "relationshipType": kind, "relatedSpdxElement": other})


def add_libraries(document, root, files):
    """The packages of all libraries that are loaded, and who loads them."""
    relationships, packages = document["relationships"], {}
    for path, file in files:
        if file["fileTypes"] != ["BINARY"] or path.suffix == ".a":
            continue
        own = set()
        for name, place in loaded_libraries(path):
            if name.startswith("libfurrow"):
                continue
            library = describe_library(name, place)
            packages.setdefault(library["SPDXID"], library)
            own.add(library["SPDXID"])
        for library in sorted(own):
            relate(relationships, file["SPDXID"], "DEPENDS_ON", library)
    for key in sorted(packages):
        document["packages"].append(packages[key])
        relate(relationships, root, "DEPENDS_ON", key)


def add_compiler(document, root, files):
    """The compiler, as the programs name it."""
    comments = set()
    for path, file in files:
        if file["fileTypes"] == ["BINARY"] and path.suffix != ".a":
            text = said("readelf", "-p", ".comment", str(path))
            comments.update(re.findall(r"\]\s+(GCC|.*clang version).*?(\d+\.\d+\.\d+)\s*$", text, re.M))
    for name, version in sorted(comments):
        compiler = describe_other("gcc" if name == "GCC" else "clang", version, "NOASSERTION", None, "APPLICATION")
        document["packages"].append(compiler)
        relate(document["relationships"], compiler["SPDXID"], "BUILD_TOOL_OF", root)


def make(prefix, more):
    version = re.search(r'FURROW_VERSION "([^"]+)"', (TREE / "include/furrow/version.h").read_text()).group(1)
    made = sorted((path, str(path.relative_to(prefix))) for path in prefix.rglob("*") if path.is_file() and not path.is_symlink())
    made += sorted((path, path.name) for path in more)
    files = [(path, describe_file(path, name, "File")) for path, name in made]
    names = [name for name in said("tools/tree.sh", "files").split("\n") if name.startswith(SOURCES)]
    sources = [describe_file(TREE / name, name, "Source") for name in names]
    root = describe_own("furrow", version, "APPLICATION", [file for _, file in files])
    source = describe_own("furrow-source", version, "SOURCE", sources)
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"furrow-{version}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(said("tools/tree.sh", "date")))),
            "creators": ["Organization: Furrow Maintainers", f"Tool: make_sbom.py-{version}"],
        },
        "packages": [root, source],
        "files": [file for _, file in files] + sources,
        "relationships": [],
    }
    relationships = document["relationships"]
    relate(relationships, "SPDXRef-DOCUMENT", "DESCRIBES", root["SPDXID"])
    relate(relationships, root["SPDXID"], "GENERATED_FROM", source["SPDXID"])
    for package, contained in ((root, [file for _, file in files]), (source, sources)):
        for file in contained:
            relate(relationships, package["SPDXID"], "CONTAINS", file["SPDXID"])
    add_libraries(document, root["SPDXID"], files)
    add_compiler(document, root["SPDXID"], files)
    digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
    document["documentNamespace"] = f"https://furrow.example/spdx/furrow-{version}-{digest[:32]}"
    return document


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: make_sbom.py BUILD OUT [FILE ...]")
    build, out, more = Path(sys.argv[1]), Path(sys.argv[2]), [Path(name) for name in sys.argv[3:]]
    with tempfile.TemporaryDirectory() as prefix:
        said("cmake", "--install", str(build.resolve()), "--prefix", prefix)
        document = make(Path(prefix), more)
    new = out.with_name(out.name + ".new")
    new.write_text(json.dumps(document, indent=1) + "\n")
    new.replace(out)
    print(f"{out}: {len(document['packages'])} packages, {len(document['files'])} files")


if __name__ == "__main__":
    main()
