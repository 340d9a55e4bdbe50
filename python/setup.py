"""Builds furrow._core against Furrow's library. Which library, FURROW_LIBRARY says:

  static      the archive of the source tree around this folder, linked into the module; the default where there is a tree
  shared      the shared library of that tree, which has to be found when the module is loaded
  installed   the one that pkg-config finds; the default where there is no tree

FURROW_BUILD names the build folder of the tree (../build); what is missing or out of date there is built.
FURROW_SANITIZE=address,undefined compiles the module with sanitizers, FURROW_WERROR=1 makes warnings errors.
"""

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

here = Path(__file__).resolve().parent
# A source distribution brings the library's sources along.
tree = next((folder for folder in (here.parent, here / "library") if (folder / "include/furrow/furrow.h").exists()), None)
library = os.environ.get("FURROW_LIBRARY") or ("static" if tree else "installed")
sanitize = os.environ.get("FURROW_SANITIZE")
if not os.environ.get("CC"):
    os.environ.pop("CC", None)  # set but empty, it would be the name of the compiler


def pkg_config(*arguments):
    try:
        done = subprocess.run(["pkg-config", *arguments, "furrow"], check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise SystemExit("furrow: pkg-config is not installed; it has to find Furrow's library") from None
    except subprocess.CalledProcessError as error:
        raise SystemExit(
            f"furrow: Furrow's library is not installed, or PKG_CONFIG_PATH does not name its folder: {error.stderr}"
        ) from None
    return done.stdout.split()


def find_version():
    if not tree or library == "installed":
        return pkg_config("--modversion")[0]
    text = (tree / "include/furrow/version.h").read_text()
    return re.search(r'FURROW_VERSION "([^"]+)"', text).group(1)


def build_library(target):
    """Brings a library of the tree up to date; returns its folder."""
    folder = Path(os.environ.get("FURROW_BUILD") or tree / "build").resolve()
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    commands = [["cmake", "--build", str(folder), "-j", str(os.cpu_count() or 1), "--target", target]]
    if not (folder / "CMakeCache.txt").exists():
        commands.insert(0, ["tools/configure.sh", str(folder)])
    for command in commands:
        try:
            subprocess.run(command, cwd=tree, env=environment, check=True, stdout=subprocess.DEVNULL)
        except FileNotFoundError:
            raise SystemExit("furrow: cmake is not installed; it builds Furrow's library") from None
        except subprocess.CalledProcessError:
            raise SystemExit(f"furrow: Furrow's library could not be built: {' '.join(command)}") from None
    return folder


class BuildModule(build_ext):
    """Builds the library first, if it is the one in this tree."""

    def build_extension(self, module):
        if library == "installed":
            module.extra_compile_args += pkg_config("--cflags")
            module.extra_link_args += pkg_config("--libs")
        else:
            module.include_dirs.append(str(tree / "include"))
        if library == "static":
            archive = str(build_library("furrow_static") / "libfurrow.a")
            module.extra_objects.append(archive)
            module.depends.append(archive)
            module.libraries += ["z", "zstd", "xxhash", "m", "dl", "pthread"]
            module.extra_link_args.append("-Wl,--exclude-libs,ALL")
        if library == "shared":
            module.library_dirs.append(str(build_library("furrow")))
            module.libraries += ["furrow", "m"]
        super().build_extension(module)
        os.chmod(self.get_ext_fullpath(module.name), 0o755)  # whatever the umask is: the same bytes in a wheel


class BuildPackage(build_py):
    """Begins with an empty folder: the package would have what an older tree left there."""

    def run(self):
        if not self.editable_mode:
            shutil.rmtree(Path(self.build_lib) / "furrow", ignore_errors=True)
        super().run()
        if not self.editable_mode:
            for name in self.get_outputs():
                os.chmod(name, 0o644)


class SourceArchive(sdist):
    """Adds what the library is built from."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        if not tree:
            raise SystemExit("furrow: a source distribution is made in Furrow's source tree")
        for name in ("CMakeLists.txt", "cmake", "include", "src", "tools/configure.sh"):
            copy = Path(base_dir, "library", name)
            copy.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if (tree / name).is_dir() else shutil.copy2)(tree / name, copy)


if library not in ("static", "shared", "installed"):
    raise SystemExit(f"furrow: FURROW_LIBRARY is {library}, but static, shared or installed is needed")
if library != "installed" and not tree:
    raise SystemExit(f"furrow: FURROW_LIBRARY={library} needs Furrow's source tree around this folder")

# The headers of the stable ABI do not declare what is outside of it.
compile_flags = "-std=c11 -D_GNU_SOURCE -fvisibility=hidden -Wall -Wextra -Wformat-security -Wshadow -Wvla -Wstrict-prototypes".split()
compile_flags.append("-Werror=implicit-function-declaration")
link_flags = []
if os.environ.get("FURROW_WERROR"):
    compile_flags.append("-Werror")
if sanitize:
    compile_flags += [f"-fsanitize={sanitize}", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
    link_flags.append(f"-fsanitize={sanitize}")
else:
    # As the library is hardened, whatever this Python was built with.
    compile_flags += "-fstack-protector-strong -fstack-clash-protection -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3".split()
    if platform.machine() == "x86_64":
        compile_flags.append("-fcf-protection=full")
    link_flags.append("-Wl,-z,relro,-z,now,-z,noexecstack")
    link_flags.append("-Wl,--strip-all")  # a third of the size

core = Extension(
    "furrow._core",
    sources=sorted(str(path.relative_to(here)) for path in here.glob("src/*.c")),
    depends=sorted(str(path.relative_to(here)) for path in here.glob("src/*.h")),
    extra_compile_args=compile_flags,
    extra_link_args=link_flags,
    py_limited_api=True,
)
setup(
    version=find_version(),
    ext_modules=[core],
    cmdclass={"build_ext": BuildModule, "build_py": BuildPackage, "sdist": SourceArchive},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
