"""Builds the package: what pip calls (PEP 517), and a command for those who work on it.

  python3 build_backend.py package FOLDER   the package, ready to be imported from FOLDER, and what pip records of it
  python3 build_backend.py module           furrow._core in place, next to the sources of the package
  python3 build_backend.py sdist FOLDER     the source distribution
  python3 build_backend.py version

It needs Python's standard library and headers, a C compiler and, for the library, cmake: no package has to be downloaded or
installed first. The environment can have

  FURROW_LIBRARY   static: the archive of the source tree around this folder, linked into the module; the default where
                   there is a tree. shared: the shared library of that tree, which has to be found when the module is loaded.
                   installed: the library that pkg-config finds; the default where there is no tree
  FURROW_BUILD     the build folder of the tree (../build); what is missing or out of date there is built
  FURROW_SANITIZE  address,undefined: sanitizers to compile the module with
  FURROW_WERROR    1: warnings are errors
  CC, CFLAGS, CPPFLAGS, LDFLAGS, SOURCE_DATE_EPOCH   as usual
"""

import base64
import concurrent.futures
import gzip
import hashlib
import io
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

if sys.version_info < (3, 11):
    raise SystemExit("furrow: Python 3.11 or later is needed")

import tomllib

HERE = Path(__file__).resolve().parent
# A source distribution brings the library's sources along.
TREE = next((folder for folder in (HERE.parent, HERE / "library") if (folder / "include/furrow/furrow.h").exists()), None)
LIBRARY = os.environ.get("FURROW_LIBRARY") or ("static" if TREE else "installed")
MODULE = "furrow/_core.abi3.so"
LIBRARY_SOURCES = ("CMakeLists.txt", "cmake", "include", "src", "tools/configure.sh")


def fail(message):
    raise SystemExit(f"furrow: {message}")


# ---- The library ----


def pkg_config(*arguments):
    try:
        done = subprocess.run(["pkg-config", *arguments, "furrow"], check=True, capture_output=True, text=True)
    except FileNotFoundError:
        fail("pkg-config is not installed; it has to find Furrow's library")
    except subprocess.CalledProcessError as error:
        fail(f"Furrow's library is not installed, or PKG_CONFIG_PATH does not name its folder: {error.stderr}")
    return done.stdout.split()


def find_version():
    if LIBRARY not in ("static", "shared", "installed"):
        fail(f"FURROW_LIBRARY is {LIBRARY}, but static, shared or installed is needed")
    if LIBRARY == "installed":
        return pkg_config("--modversion")[0]
    if not TREE:
        fail(f"FURROW_LIBRARY={LIBRARY} needs Furrow's source tree around this folder")
    text = (TREE / "include/furrow/version.h").read_text()
    return re.search(r'FURROW_VERSION "([^"]+)"', text).group(1)


def build_library(target):
    """Brings a library of the tree up to date; returns its folder."""
    folder = Path(os.environ.get("FURROW_BUILD") or TREE / "build").resolve()
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    commands = [["cmake", "--build", str(folder), "-j", str(os.cpu_count() or 1), "--target", target]]
    if not (folder / "CMakeCache.txt").exists():
        commands.insert(0, ["tools/configure.sh", str(folder)])
    for command in commands:
        try:
            subprocess.run(command, cwd=TREE, env=environment, check=True, stdout=subprocess.DEVNULL)
        except FileNotFoundError:
            fail("cmake is not installed; it builds Furrow's library")
        except subprocess.CalledProcessError:
            fail(f"Furrow's library could not be built: {shlex.join(command)}")
    return folder


# ---- The module ----


def from_environment(name):
    return shlex.split(os.environ.get(name, ""))


def flags():
    """What every source is compiled with, and what the module is linked with."""
    compiling = f"-O2 -g -fwrapv -fPIC -DNDEBUG -I{sysconfig.get_path('include')} -std=c11 -D_GNU_SOURCE -fvisibility=hidden"
    compiling += " -Wall -Wextra -Wformat-security -Wshadow -Wvla -Wstrict-prototypes"
    # The headers of the stable ABI do not declare what is outside of it.
    compiling += " -Werror=implicit-function-declaration"
    linking = "-shared"
    if os.environ.get("FURROW_WERROR"):
        compiling += " -Werror"
    sanitize = os.environ.get("FURROW_SANITIZE")
    if sanitize:
        compiling += f" -fsanitize={sanitize} -fno-sanitize-recover=all -fno-omit-frame-pointer"
        linking += f" -fsanitize={sanitize}"
    else:
        # As the library is hardened, whatever this Python was built with.
        compiling += " -fstack-protector-strong -fstack-clash-protection -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3"
        if platform.machine() == "x86_64":
            compiling += " -fcf-protection=full"
        linking += " -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--strip-all"  # stripped, it has a third of the size
    compiling, linking = compiling.split(), linking.split()
    before, after = from_environment("CFLAGS") + from_environment("CPPFLAGS"), from_environment("LDFLAGS")
    return before + compiling, linking + after


def library_flags():
    """(for the compiler, for the linker); builds the library of the tree."""
    if LIBRARY == "installed":
        return pkg_config("--cflags"), pkg_config("--libs")
    includes = [f"-I{TREE / 'include'}"]
    if LIBRARY == "shared":
        return includes, [f"-L{build_library('furrow')}", "-lfurrow", "-lm"]
    archive = str(build_library("furrow_static") / "libfurrow.a")
    needs = ["-lz", "-lzstd", "-lxxhash", "-lm", "-ldl", "-lpthread"]
    return includes, [archive, *needs, "-Wl,--exclude-libs,ALL"]


def run_compiler(arguments):
    """Shows what the compiler prints, warnings too."""
    compiler = from_environment("CC") or ["cc"]
    try:
        done = subprocess.run([*compiler, *arguments], cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except FileNotFoundError:
        fail(f"the C compiler {compiler[0]} is not installed")
    if done.stdout:
        print(done.stdout, end="", file=sys.stderr, flush=True)
    if done.returncode:
        fail(f"the module could not be built: {shlex.join([*compiler, *arguments])}")


def build_module(path):
    """Compiles and links furrow._core."""
    if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        fail("the headers of Python are not installed (on Debian: python3-dev)")
    find_version()  # fails early if there is not a library
    library_compiling, library_linking = library_flags()
    compiling, linking = flags()
    sources = sorted(source.relative_to(HERE) for source in HERE.glob("src/*.c"))
    with tempfile.TemporaryDirectory() as folder:
        objects = [str(Path(folder, source.stem + ".o")) for source in sources]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            list(pool.map(lambda source, object_: run_compiler(
                [*compiling, *library_compiling, "-c", str(source), "-o", object_]), sources, objects))
        run_compiler([*objects, *linking, *library_linking, "-o", str(Path(path).resolve())])
    os.chmod(path, 0o755)  # whatever the umask is: the same bytes in a wheel


# ---- Metadata ----


def project():
    return tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def file_name():
    """NAME-VERSION as it is written in the names of files."""
    return f"{re.sub('[-_.]+', '_', project()['name'])}-{find_version()}"


def wheel_tag():
    system = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"cp311-abi3-{system}"  # the stable ABI of 3.11, which later versions have, too


def metadata():
    about = project()
    lines = ["Metadata-Version: 2.1", f"Name: {about['name']}", f"Version: {find_version()}",
             f"Summary: {about['description']}", f"License: {about['license']['text']}",
             f"Requires-Python: {about['requires-python']}"]
    lines += [f"Requires-Dist: {need}" for need in about["dependencies"]]
    lines += ["License-File: LICENSE", "Description-Content-Type: text/markdown"]
    return "\n".join(lines) + "\n\n" + (HERE / about["readme"]).read_text(encoding="utf-8")


def write_info(folder):
    """What pip records of the package, in FOLDER/NAME-VERSION.dist-info; returns that name."""
    name = file_name() + ".dist-info"
    info = Path(folder, name)
    info.mkdir(parents=True)
    (info / "METADATA").write_text(metadata(), encoding="utf-8")
    (info / "WHEEL").write_text(
        f"Wheel-Version: 1.0\nGenerator: furrow\nRoot-Is-Purelib: false\nTag: {wheel_tag()}\n", encoding="utf-8")
    (info / "top_level.txt").write_text("furrow\n", encoding="utf-8")
    (info / "LICENSE").write_bytes((HERE / "LICENSE").read_bytes())
    return name


# ---- Packages ----


def package_sources():
    return sorted(path for path in (HERE / "furrow").iterdir() if path.suffix in (".py", ".pyi") or path.name == "py.typed")


def write_package(folder):
    """The package and what pip records of it."""
    package = Path(folder, "furrow")
    shutil.rmtree(package, ignore_errors=True)  # it would have what an older tree left there
    package.mkdir(parents=True)
    for path in package_sources():
        shutil.copyfile(path, package / path.name)
        os.chmod(package / path.name, 0o644)
    build_module(Path(folder, MODULE))
    shutil.rmtree(Path(folder, file_name() + ".dist-info"), ignore_errors=True)
    write_info(folder)


def release_time():
    """Seconds since 1970; a zip file begins at 1980."""
    return max(int(os.environ.get("SOURCE_DATE_EPOCH") or time.time()), 315619200)


def pack_wheel(folder, wheels):
    """Everything in FOLDER as a wheel; returns its name."""
    name = f"{file_name()}-{wheel_tag()}.whl"
    record = f"{file_name()}.dist-info/RECORD"
    lines = []
    with zipfile.ZipFile(Path(wheels, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        def add(path, data):
            entry = zipfile.ZipInfo(path, time.gmtime(release_time())[:6])
            entry.external_attr = (0o100755 if path == MODULE else 0o100644) << 16
            wheel.writestr(entry, data, zipfile.ZIP_DEFLATED)

        for path in sorted(path.relative_to(folder).as_posix() for path in Path(folder).rglob("*") if path.is_file()):
            data = Path(folder, path).read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f"{path},sha256={digest},{len(data)}\n")
            add(path, data)
        add(record, "".join([*lines, f"{record},,\n"]))
    return name


def pack_sources(folder):
    """The source distribution, with what the library is built from; returns its name."""
    if not TREE:
        fail("a source distribution is made in Furrow's source tree")
    top, seconds = file_name(), release_time()
    files = {name: HERE / name for name in ("LICENSE", "README.md", "build_backend.py", "pyproject.toml")}
    for path in [*package_sources(), *HERE.glob("src/*.[ch]"), *HERE.glob("tests/*.py")]:
        files[path.relative_to(HERE).as_posix()] = path
    for name in LIBRARY_SOURCES:
        for path in (TREE / name).rglob("*") if (TREE / name).is_dir() else [TREE / name]:
            if path.is_file():
                files["library/" + path.relative_to(TREE).as_posix()] = path
    contents = {name: (path.read_bytes(), 0o755 if os.access(path, os.X_OK) else 0o644) for name, path in files.items()}
    contents["PKG-INFO"] = (metadata().encode(), 0o644)
    archive = Path(folder, top + ".tar.gz")
    with open(archive, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=seconds) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, (data, mode) in sorted(contents.items()):
            entry = tarfile.TarInfo(f"{top}/{name}")
            entry.size, entry.mtime, entry.mode = len(data), seconds, mode
            tar.addfile(entry, io.BytesIO(data))
    return archive.name


# ---- What pip calls ----


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with tempfile.TemporaryDirectory() as folder:
        write_package(folder)
        return pack_wheel(folder, wheel_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """The module in place, and a file that puts this folder on Python's path."""
    build_module(HERE / MODULE)
    with tempfile.TemporaryDirectory() as folder:
        write_info(folder)
        Path(folder, "furrow_editable.pth").write_text(f"{HERE}\n", encoding="utf-8")
        return pack_wheel(folder, wheel_directory)


def build_sdist(sdist_directory, config_settings=None):
    return pack_sources(sdist_directory)


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    return write_info(metadata_directory)


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def main(arguments):
    match arguments:
        case ["package", folder]:
            write_package(folder)
        case ["module"]:
            build_module(HERE / MODULE)
        case ["sdist", folder]:
            print(pack_sources(folder))
        case ["version"]:
            print(find_version())
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
