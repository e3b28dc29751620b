"""Calling the command in this process, in a working directory of its own."""

import io
import sys
from dataclasses import dataclass

import pytest

from graph.cli import main


@dataclass(frozen=True)
class Called:
    code: int
    out: str
    err: str


@pytest.fixture
def laneflow(capsys, monkeypatch, tmp_path):
    """`laneflow("validate", "ring.yaml")` with what it exits with and prints; `stdin` is what it reads."""
    monkeypatch.chdir(tmp_path)

    def call(*words, stdin=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main([str(word) for word in words])
        return Called(code, *capsys.readouterr())

    return call


@pytest.fixture
def write(tmp_path):
    """`write("ring.yaml", TEXT)` puts a file into the working directory and returns its path."""

    def write_file(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write_file
