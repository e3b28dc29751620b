"""Where measurements are written unless another folder is named."""

from __future__ import annotations

from pathlib import Path

RESULTS = Path(__file__).with_name("results")
