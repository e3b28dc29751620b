#!/usr/bin/env bash
# What needs a GPU, in one go and within six minutes: the tests that are marked `gpu`, then the benchmark.
#
#   bash benchmarks/gpu_check.sh              with PYTHON (python3 by default), which has a torch with CUDA and numpy
#
# Needs no network: what else laneflow imports is taken from build/gpu_wheels, which `make gpu-wheels` fills where there
# is one, for the Python of the machine with the GPU (GPU_PYTHON=3.12). Without that folder PYTHON must have it all.
# Results go to $OUT, or to gpu_results. Exit code: 0, 1 where a test failed or tokens differ, 2 where it cannot run.
set -uo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
out=${OUT:-gpu_results}
wheels=build/gpu_wheels
site=build/gpu_site
mkdir -p "$out"

if compgen -G "$wheels/*.whl" >/dev/null; then
  rm -rf "$site" && mkdir -p "$site"
  for wheel in "$wheels"/*.whl; do
    "$python" -m zipfile -e "$wheel" "$site" || exit 2
  done
  export PYTHONPATH="$PWD/$site${PYTHONPATH:+:$PYTHONPATH}"
fi

"$python" - <<'PY' | tee "$out/machine.txt"
import importlib
import sys

needed = "torch numpy networkx omegaconf psutil pydantic yaml rich safetensors tokenizers pytest pytest_timeout"
missing = []
for name in needed.split():
    try:
        importlib.import_module(name)
    except ImportError as error:
        missing.append(f"{name} ({error})")
if missing:
    sys.exit(
        f"gpu_check: python {sys.version.split()[0]} cannot import {', '.join(missing)}: fill build/gpu_wheels with "
        f"`make gpu-wheels GPU_PYTHON={sys.version_info[0]}.{sys.version_info[1]}`, or set PYTHON"
    )
import torch

if not torch.cuda.is_available():
    sys.exit(f"gpu_check: torch {torch.__version__} sees no CUDA device")
print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, CUDA {torch.version.cuda}, python {sys.version}")
PY
[ "${PIPESTATUS[0]}" = 0 ] || exit 2

worst=0
mapfile -t files < <(grep -rlE "mark\.gpu\b" --include='test_*.py' tests | sort)
timeout 150 "$python" -m pytest -m gpu -p no:cacheprovider --durations=10 "${files[@]}" 2>&1 | tee "$out/tests.txt"
[ "${PIPESTATUS[0]}" = 0 ] || worst=1
timeout 200 "$python" -m benchmarks.gpu --rounds 3 --out "$out" 2>&1 | tee "$out/benchmark.txt"
[ "${PIPESTATUS[0]}" = 0 ] || worst=1
exit $worst
