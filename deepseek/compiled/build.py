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
from deepseek.sizes import Sizes
from deepseek.state import Caches


def build(shape: StepShape, path: Path) -> None:
    """Write the compiled step's shared object to `path`."""
    torch.set_num_threads(shape.threads)
    sizes = shape.sizes
    model = Model(shape.config, predicts=sizes.rows > 1, dtype=shape.torch_dtype).eval()
    caches = Caches.allocate(
        shape.config,
        capacity=sizes.capacity,
        context=sizes.context,
        rows_per_step=sizes.rows,
        page=sizes.page,
        pages=sizes.pages,
        dtype=shape.torch_dtype,
    )
    arguments = _example(sizes)
    options: dict[str, Any] = {
        "aot_inductor.output_path": str(path),
        "aot_inductor.package_constants_in_so": False,
        "aot_inductor.precompile_headers": False,
        # What constants hold while compiling is not what they will hold: neither inline nor fold it.
        "always_keep_tensor_constants": True,
        "joint_graph_constant_folding": False,
        # Otherwise the sampler's hash is inlined into itself, and takes half a minute to generate, and norms are
        # inlined into the products that follow, where each row of weights would compute them anew.
        "realize_opcount_threshold": 8,
        # A product and the sum that it goes into are one instruction then.
        "cpp.enable_floating_point_contract_flag": "fast",
    }
    _stage("tracing the step")
    with torch.no_grad():
        exported = torch.export.export(TracedStep(model, _state(sizes), caches), arguments, strict=False)
        _stage("compiling the step")
        torch._inductor.aot_compile(exported.module(check_guards=False), arguments, options=options)


def _state(sizes: Sizes) -> SimpleNamespace:
    """A record `RequestState`."""
    whole, real = torch.zeros(sizes.capacity, dtype=torch.int64), torch.zeros(sizes.capacity)
    return SimpleNamespace(
        tokens=torch.zeros(sizes.capacity, sizes.rows, dtype=torch.int64),
        positions=whole.clone(),
        committed=whole.clone(),
        generation=whole.to(torch.int32),
        temperature=real.clone(),
        top_p=real.clone(),
        seed=whole.clone(),
    )


def _example(sizes: Sizes) -> tuple[torch.Tensor, ...]:
    """Arguments of the right shapes and types: `traced.INPUTS`, then `traced.OUTPUTS`."""
    batch, rows = sizes.batch, sizes.rows

    def whole(*shape: int) -> torch.Tensor:
        return torch.zeros(*shape, dtype=torch.int64)

    return (
        torch.arange(batch),
        whole(batch).to(torch.int32),
        whole(batch, sizes.blocks),
        whole(batch),
        whole(batch, rows),
        whole(batch, rows),
        whole(batch, rows),
        whole(batch),
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
