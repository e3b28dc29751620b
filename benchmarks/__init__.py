"""Measurements. Figures that belong together come from one run on one machine."""
