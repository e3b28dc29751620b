"""Compiles one decode step: `python -m deepseek.compiled.build OUT.so`, with the shape as JSON on stdin.

A process of its own, so that the compiler's memory and settings stay out of the run's. The weights are allocated
and never touched. Prints each stage on stdout as it begins; a failure is one line on stderr and exit code 1.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from deepseek.compiled.shape import StepShape
from deepseek.compiled.traced import TracedStep
from deepseek.model import Model
from deepseek.state import Caches


def build(shape: StepShape, path: Path) -> None:
    """Write the compiled step's shared object to `path`."""
    torch.set_num_threads(shape.threads)
    model = Model(shape.config, dtype=shape.torch_dtype).eval()
    caches = Caches.allocate(
        shape.config, capacity=shape.capacity, context=shape.context, dtype=shape.torch_dtype
    )
    state = SimpleNamespace(
        tail=torch.zeros(shape.capacity, dtype=torch.int64),
        generation=torch.zeros(shape.capacity, dtype=torch.int32),
    )
    arguments = _example(shape.batch)
    options: dict[str, Any] = {
        "aot_inductor.output_path": str(path),
        "aot_inductor.package_constants_in_so": False,
        "aot_inductor.precompile_headers": False,
        # What constants hold while compiling is not what they will hold: neither inline nor fold it.
        "always_keep_tensor_constants": True,
        "joint_graph_constant_folding": False,
        # Otherwise the sampler's hash is inlined into itself, and takes half a minute to generate.
        "realize_opcount_threshold": 18,
    }
    _stage("tracing the step")
    with torch.no_grad():
        exported = torch.export.export(TracedStep(model, state, caches), arguments, strict=False)
        _stage("compiling the step")
        torch._inductor.aot_compile(exported.module(check_guards=False), arguments, options=options)


def _example(batch: int) -> tuple[torch.Tensor, ...]:
    """Arguments of the right shapes and types: `traced.INPUTS`, then the output."""
    whole = torch.zeros(batch, dtype=torch.int64)
    real = torch.ones(batch)
    return (
        torch.arange(batch),
        whole.to(torch.int32),
        whole.clone(),
        whole.clone(),
        real,
        real.clone(),
        whole.clone(),
        whole.clone(),
    )


def _stage(name: str) -> None:
    sys.stdout.write(f"{name}\n")
    sys.stdout.flush()


def main() -> int:
    """Exit code 0, or 1 with the reason as the last line of stderr."""
    from torch._inductor.cpp_builder import get_cpp_compiler
    from torch._inductor.exc import InvalidCxxCompiler

    warnings.simplefilter("ignore")
    try:
        get_cpp_compiler()
        build(StepShape.from_json(sys.stdin.read()), Path(sys.argv[1]))
    except InvalidCxxCompiler:
        sys.stderr.write("no C++ compiler was found: install g++, or name one in the environment as CXX\n")
        return 1
    except Exception as error:
        text = str(error).strip().splitlines()
        sys.stderr.write(f"{type(error).__name__}: {text[-1] if text else 'no message'}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
