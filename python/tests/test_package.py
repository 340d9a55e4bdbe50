"""The package as a whole: its stub, its documentation, what importing it costs, and what its module needs."""

from __future__ import annotations

import ast
import glob
import importlib
import inspect
import pkgutil
import pydoc
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

import furrow
from furrow import _core

PACKAGE = Path(furrow.__file__).parent
MODULE = str(_core.__file__)

# What the stable ABI of 3.11 exports besides Py…: macros and inline functions of its headers use these.
STABLE_PRIVATE = set(
    """_PyArg_ParseTupleAndKeywords_SizeT _PyArg_ParseTuple_SizeT _PyArg_Parse_SizeT _PyErr_BadInternalCall
    _PyObject_CallFunction_SizeT _PyObject_CallMethod_SizeT _PyObject_GC_New _PyObject_GC_NewVar _PyObject_GC_Resize
    _PyObject_New _PyObject_NewVar _Py_BuildValue_SizeT _Py_Dealloc _Py_DecRef _Py_EllipsisObject _Py_FalseStruct
    _Py_IncRef _Py_NoneStruct _Py_NotImplementedStruct _Py_TrueStruct _Py_VaBuildValue_SizeT""".split()
)


def run(*arguments: str) -> str:
    return subprocess.run([sys.executable, *arguments], check=True, capture_output=True, text=True).stdout


# ---- The stub -------------------------------------------------------------------------------------------------


def stub_names(body: list[ast.stmt]) -> dict[str, ast.stmt]:
    """The names that statements of a stub define, without those that only annotations use (_Path)."""
    names: dict[str, ast.stmt] = {}
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            names[statement.name] = statement
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            names[statement.target.id] = statement
    return names


def special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def own_names(kind: type) -> set[str]:
    """What a class defines itself. Of special methods, those that are called by name in Python code."""
    called = {"__len__", "__enter__", "__exit__", "__iter__", "__next__", "__getitem__"}
    return {name for name in vars(kind) if not special(name) or name in called}


def test_the_stub_has_what_the_module_has() -> None:
    stub = stub_names(ast.parse((PACKAGE / "_core.pyi").read_text()).body)
    assert {name for name in dir(_core) if not special(name)} == set(stub)


def test_the_stub_has_the_methods_of_each_type() -> None:
    stub = stub_names(ast.parse((PACKAGE / "_core.pyi").read_text()).body)
    for name, statement in stub.items():
        kind = getattr(_core, name)
        if isinstance(kind, type) and not issubclass(kind, Exception):
            assert isinstance(statement, ast.ClassDef), f"{name} is a class"
            assert own_names(kind) == set(stub_names(statement.body)), name


def test_the_stub_knows_what_is_static() -> None:
    stub = stub_names(ast.parse((PACKAGE / "_core.pyi").read_text()).body)
    for name, statement in stub.items():
        for method, definition in stub_names(getattr(statement, "body", [])).items():
            if isinstance(definition, ast.FunctionDef):
                decorators = {part.id for part in definition.decorator_list if isinstance(part, ast.Name)}
                static = isinstance(vars(getattr(_core, name)).get(method), staticmethod)
                assert ("staticmethod" in decorators) == static, f"{name}.{method}"


# ---- Names and documentation ----------------------------------------------------------------------------------


def modules() -> list[ModuleType]:
    names = [module.name for module in pkgutil.iter_modules([str(PACKAGE)]) if not module.name.startswith("_")]
    return [furrow, *(importlib.import_module(f"furrow.{name}") for name in names)]


def public_names() -> list[tuple[str, Any]]:
    """Functions and classes that `furrow` exports, and the public methods and properties of these classes."""
    found: list[tuple[str, Any]] = []
    for name in furrow.__all__:
        value = getattr(furrow, name)
        found.append((name, value))
        if isinstance(value, type) and value.__module__.startswith("furrow."):
            kinds = (property, classmethod, staticmethod, FunctionType)
            members = [(member, part) for member, part in vars(value).items() if not member.startswith("_")]
            found += [(f"{name}.{member}", part) for member, part in members if isinstance(part, kinds)]
    return found


def test_every_exception_is_exported() -> None:
    names = {name for name in dir(_core) if isinstance(getattr(_core, name), type) and name.endswith("Error")}
    assert names - set(furrow.__all__) == set()


def test_every_public_name_is_documented() -> None:
    undocumented = [name for name, value in public_names() if not inspect.getdoc(value)]
    undocumented += [module.__name__ for module in modules() if not module.__doc__]
    assert undocumented == []


def test_help_renders() -> None:
    text = pydoc.render_doc(furrow, renderer=pydoc.plaintext)  # type: ignore[attr-defined]
    assert text.startswith("Python Library Documentation: package furrow") and "NotFoundError" in text
    for module in modules():
        assert module.__name__ in pydoc.render_doc(module, renderer=pydoc.plaintext)  # type: ignore[attr-defined]


def test_the_version_is_that_of_the_headers_and_of_the_wheel() -> None:
    assert furrow.__version__ == _core.version
    header = Path(__file__).parents[2] / "include/furrow/version.h"
    if header.exists():
        assert f'FURROW_VERSION "{furrow.__version__}"' in header.read_text()
    installed = list(PACKAGE.parent.glob("furrow_ml-*.dist-info"))
    if installed:
        assert [path.name for path in installed] == [f"furrow_ml-{furrow.__version__}.dist-info"]


# ---- Importing ------------------------------------------------------------------------------------------------


def test_importing_loads_no_optional_library() -> None:
    code = "import sys, furrow; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = set(run("-c", code).split())
    assert loaded & {"scipy", "pandas", "sklearn", "tqdm", "pyarrow", "torch", "polars", "matplotlib", "IPython"} == set()


def test_importing_costs_little_beside_numpy() -> None:
    """Modules loaded, not seconds: the machine may be busy."""
    count = "print(len(sys.modules))"
    numpy, both = (int(run("-c", f"import sys, {names}; {count}")) for names in ("numpy", "numpy, furrow"))
    assert both - numpy < 60


def test_the_package_works_from_any_folder(tmp_path: Path) -> None:
    code = "import furrow; print(furrow.__version__, furrow.Error.__name__)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout.split() == [furrow.__version__, "Error"]


# ---- The module as a file -------------------------------------------------------------------------------------


def dynamic_symbols(option: str) -> list[str]:
    if not shutil.which("nm"):
        pytest.skip("nm is not installed")
    done = subprocess.run(["nm", "-D", option, MODULE], check=True, capture_output=True, text=True)
    return [line.split()[-1].partition("@")[0] for line in done.stdout.splitlines()]


def test_the_module_keeps_to_the_stable_abi() -> None:
    assert MODULE.endswith(".abi3.so")
    private = {name for name in dynamic_symbols("--undefined-only") if name.startswith("_Py")}
    assert private - STABLE_PRIVATE == set()


def test_the_module_exports_its_entry_alone() -> None:
    names = set(dynamic_symbols("--defined-only")) - {"_init", "_fini", "_edata", "_end", "__bss_start"}
    assert names == {"PyInit__core"} or any(name.startswith("__asan") for name in names)


def other_interpreters() -> list[str]:
    """CPython 3.11 and later that can be found, other than the one that runs the tests."""
    found = {path for number in range(11, 20) for path in [shutil.which(f"python3.{number}")] if path}
    found |= set(glob.glob(str(Path.home() / ".pyenv/versions/3.1[1-9].*/bin/python")))
    found.add("/usr/bin/python3")
    works = []
    for path in sorted(found):
        code = "import sys; print(sys.implementation.name, sys.version_info >= (3, 11), sys.version)"
        done = subprocess.run([path, "-c", code], capture_output=True, text=True)
        if done.returncode == 0 and done.stdout.startswith("cpython True") and sys.version not in done.stdout:
            works.append(path)
    return works


def test_other_versions_of_python_load_the_module() -> None:
    """The interpreter resolves all symbols when it loads a module."""
    interpreters = other_interpreters()
    if not interpreters:
        pytest.skip("there is not another CPython of 3.11 or later")
    code = f"""
import importlib.util
spec = importlib.util.spec_from_file_location("furrow._core", {MODULE!r})
core = importlib.util.module_from_spec(spec)
spec.loader.exec_module(core)
try:
    core.Index.load("there is no such file")
except FileNotFoundError as error:
    print(core.version, type(error).__name__)
"""
    for path in interpreters:
        done = subprocess.run([path, "-c", code], capture_output=True, text=True)
        assert done.stdout.split() == [furrow.__version__, "NotFoundError"], (path, done.stderr)


def test_the_wheel_says_what_it_is_for() -> None:
    tags = [path / "WHEEL" for path in PACKAGE.parent.glob("furrow_ml-*.dist-info") if (path / "WHEEL").exists()]
    if not tags:
        pytest.skip("the package is not installed from a wheel")
    assert re.search(r"^Tag: cp311-abi3-linux_\w+$", tags[0].read_text(), re.MULTILINE)
