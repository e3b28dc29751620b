from __future__ import annotations

import subprocess
import sys

import torch

from graph.rules.types import DTYPES
from tests.graph.rules.build import codes, only, small


def test_the_written_out_dtypes_are_torchs() -> None:
    assert all(isinstance(getattr(torch, name), torch.dtype) for name in DTYPES if hasattr(torch, name))
    plain = {
        str(value).removeprefix("torch.") for value in vars(torch).values() if isinstance(value, torch.dtype)
    }
    packed = {name for name in plain if name.startswith(("q", "bits", "int", "uint", "float4"))}
    assert plain - packed <= set(DTYPES)


def test_a_dtype_that_is_near_is_offered() -> None:
    one = only(small("types.Inputs.tokens='int46[4]'"))
    assert (one.code, one.help) == ("LF005", "did you mean `int64`?")


def test_an_unknown_dimension_is_told_once_a_field() -> None:
    assert only(small("types.Inputs.tokens='int64[batch, batch]'")).message.endswith(
        "no dimension is called `batch`"
    )


def test_a_scalar_and_a_number_need_no_dimension() -> None:
    assert codes(small("types.Inputs.tokens='float8_e4m3fn[]'", "types.Inputs.generation='bool[7]'")) == []


def test_validation_imports_neither_torch_nor_numpy() -> None:
    program = (
        "import sys\n"
        "from graph.reading import load\nfrom graph.validate import validate\n"
        "validate(load('pingpong'))\n"
        "assert not {'torch', 'numpy', 'omegaconf', 'rich'} & set(sys.modules), sorted(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
