"""LF005: every tensor type has a dtype of torch and dimensions that have a size."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from graph.diagnostics import Diagnostic
from graph.topology import TensorType, Topology

DTYPES = (
    "bool",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "complex32",
    "complex64",
    "complex128",
)
"""The torch dtypes that a slot can have, written out: naming a type must not cost an import of torch."""


def types(topology: Topology) -> Iterator[Diagnostic]:
    """One diagnostic for each dtype and each dimension that cannot be understood."""
    for name, declared in topology.types.items():
        if not isinstance(declared, str):
            for field, tensor in declared.items():
                yield from _tensor(topology, tensor, name, field)


def _tensor(topology: Topology, tensor: TensorType, name: str, field: str) -> Iterator[Diagnostic]:
    at = topology.place("types", name, field)
    if tensor.dtype not in DTYPES:
        close = difflib.get_close_matches(tensor.dtype, DTYPES, 1)
        mend = f"did you mean `{close[0]}`?" if close else f"known: {', '.join(DTYPES)}"
        yield Diagnostic(at, "LF005", f"`{name}.{field}`: `{tensor.dtype}` is not a torch dtype", mend)
    for dim in dict.fromkeys(tensor.dims):
        if isinstance(dim, str) and dim not in topology.dims:
            close = difflib.get_close_matches(dim, topology.dims, 1)
            mend = f"did you mean `{close[0]}`?" if close else f"add `{dim}` with its size to `dims:`"
            yield Diagnostic(at, "LF005", f"`{name}.{field}`: no dimension is called `{dim}`", mend)
