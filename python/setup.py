"""Builds furrow._core against Furrow's library.

The library is that of the source tree around this folder (FURROW_BUILD names its build folder, ../build by default; it
is built if it is not there), linked into the module, or, where there is no tree or FURROW_LIBRARY=installed, the one
that pkg-config finds.
"""

import os
import re
import subprocess
from pathlib import Path

from setuptools import Extension, setup

here = Path(__file__).resolve().parent
tree = here.parent


def pkg_config(*arguments):
    return subprocess.run(["pkg-config", *arguments, "furrow"], check=True, capture_output=True, text=True).stdout.split()


def use_tree(module):
    """Links the archive of the tree; returns its version."""
    build = Path(os.environ.get("FURROW_BUILD", tree / "build")).resolve()
    archive = build / "libfurrow.a"
    if not archive.exists():
        subprocess.run(["tools/configure.sh", str(build)], cwd=tree, check=True)
        subprocess.run(["cmake", "--build", str(build), "-j", "--target", "furrow_static"], cwd=tree, check=True)
    module.include_dirs.append(str(tree / "include"))
    module.extra_objects.append(str(archive))
    module.depends.append(str(archive))
    module.libraries += ["z", "zstd", "xxhash", "m", "dl", "pthread"]
    module.extra_link_args.append("-Wl,--exclude-libs,ALL")
    text = (tree / "include/furrow/version.h").read_text()
    return re.search(r'FURROW_VERSION "([^"]+)"', text).group(1)


def use_installed(module):
    """Links the installed library; returns its version."""
    module.extra_compile_args += pkg_config("--cflags")
    module.extra_link_args += pkg_config("--libs")
    return pkg_config("--modversion")[0]


core = Extension(
    "furrow._core",
    sources=sorted(str(path.relative_to(here)) for path in here.glob("src/*.c")),
    depends=sorted(str(path.relative_to(here)) for path in here.glob("src/*.h")),
    extra_compile_args=["-std=c11", "-D_GNU_SOURCE", "-fvisibility=hidden", "-Wall", "-Wextra"],
    py_limited_api=True,
)
in_tree = (tree / "include/furrow/furrow.h").exists() and os.environ.get("FURROW_LIBRARY") != "installed"
version = use_tree(core) if in_tree else use_installed(core)
if os.environ.get("FURROW_SANITIZE"):
    core.extra_compile_args.append("-fsanitize=" + os.environ["FURROW_SANITIZE"])
    core.extra_link_args.append("-fsanitize=" + os.environ["FURROW_SANITIZE"])

setup(version=version, ext_modules=[core], options={"bdist_wheel": {"py_limited_api": "cp311"}})
