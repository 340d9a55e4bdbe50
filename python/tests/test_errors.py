"""Exceptions are made from the list of statuses."""

import pickle

import pytest

import furrow
from furrow import _core


def test_a_class_for_each_failure():
    names = {name for name in dir(_core) if name.endswith("Error") and name != "Error"}
    assert len(names) == 12
    assert all(issubclass(getattr(_core, name), furrow.Error) for name in names)


def test_where_and_what():
    with pytest.raises(FileNotFoundError) as caught:
        _core.Index.load("there is no such file")
    error = caught.value
    assert isinstance(error, furrow.NotFoundError) and isinstance(error, LookupError)
    assert (error.status, error.file, error.line) == ("E_NOT_FOUND", "there is no such file", None)
    assert str(error) == "there is no such file: no such file or directory"


def test_pickle_keeps_the_place():
    with pytest.raises(furrow.Error) as caught:
        _core.Index.load("there is no such file")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert type(copy) is furrow.NotFoundError and copy.file == "there is no such file"
