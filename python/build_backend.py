"""The build backend for pip: setuptools' backend with changes.

pip shuts a build off from what is installed and downloads setuptools for it. This backend takes the installed setuptools
and wheel if there are any, so that `pip install ./python` works without a network; otherwise it asks pip for them.
"""

import importlib.util
import site
import sys


def has_setuptools():
    """setuptools that reads pyproject.toml and makes wheels, by itself or with the package wheel."""

    def has(name):
        return importlib.util.find_spec(name) is not None

    return (
        has("setuptools")
        and has("setuptools.config.pyprojecttoml")
        and (has("wheel") or has("setuptools.command.bdist_wheel"))
    )


hidden = [folder for folder in site.getsitepackages() if folder not in sys.path]
if not has_setuptools():
    sys.path += hidden
    importlib.invalidate_caches()
found = has_setuptools()
if found:
    from setuptools.build_meta import *  # noqa: F403


def get_requires_for_build_wheel(config_settings=None):
    return [] if found else ["setuptools>=61", "wheel"]


get_requires_for_build_sdist = get_requires_for_build_editable = get_requires_for_build_wheel
