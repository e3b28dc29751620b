"""What a user sees when a checkpoint cannot be used."""

from pathlib import Path


class CheckpointError(Exception):
    """A checkpoint cannot be loaded: says which file, what is wrong with it, and what to do about it."""

    def __init__(self, path: Path, problem: str, mend: str) -> None:
        super().__init__(f"{path}: {problem}. {mend}")
        self.path = path
        self.problem = problem
        self.mend = mend
