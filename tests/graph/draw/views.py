"""The views that pictures are tested with: every shipped topology and sound case, whole and by route."""

from graph.draw.view import view
from graph.files import shipped
from graph.reading import load
from tests.graph.headers import CASES

FILES = [*shipped().values(), *sorted(CASES.glob("*.sound.yaml"))]
VIEWS = {
    f"{path.stem}{f' {route}' if route else ''}": view(load(path), route)
    for path in FILES
    for route in (None, *load(path).routes)
}
