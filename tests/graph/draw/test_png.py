import io
from dataclasses import replace

import pytest
from PIL import Image

from graph.draw import png
from graph.draw.picture import picture
from graph.draw.scene import Scene, Text, shapes
from graph.draw.text_size import width
from graph.draw.view import view
from graph.reading import load


@pytest.fixture(scope="module")
def scene():
    return picture(view(load("sync"))).scene


@pytest.fixture(scope="module")
def drawn(scene):
    return png.render(scene)


def test_every_text_leaves_ink_in_its_place(scene, drawn):
    image = Image.open(io.BytesIO(drawn)).convert("L")
    texts = [shape for shape in shapes(scene.marks) if isinstance(shape, Text)]
    assert len(texts) > 50
    for text in texts:
        box = (text.left, text.y - text.size * 0.6, text.left + text.width, text.y)
        low, high = image.crop([round(edge * png.SCALE) for edge in box]).getextrema()
        assert high - low > 60, text


def test_text_is_as_wide_as_the_layout_takes_it_to_be():
    for text in ("prepare_prefill@1", "dispatch of step k+2 waits", "WMil.,_0"):
        scene = Scene(300, 40, [Text(20, 30, text, 14.5, width(text, 14.5))])
        ink = Image.open(io.BytesIO(png.render(scene))).convert("L").point(lambda one: 255 * (one < 200))
        left, _, right, _ = ink.getbbox()
        assert (right - left) / png.SCALE == pytest.approx(width(text, 14.5), rel=0.05)


def test_the_same_scene_gives_the_same_bytes(scene, drawn):
    assert png.render(scene) == drawn


def test_a_changed_drawing_is_told(scene, drawn):
    assert png.same(drawn, drawn)
    other = replace(scene, marks=[*scene.marks, Text(30, 60, "x", 12, 6)])
    assert not png.same(png.render(other), drawn)


def test_another_version_of_the_library_is_compared_by_the_digest(scene, drawn):
    def remade(digest):
        image = Image.open(io.BytesIO(drawn))
        info = png.PngImagePlugin.PngInfo()
        info.add_text("drawing", digest)
        info.add_text("pillow", "0.0")
        out = io.BytesIO()
        image.save(out, "png", pnginfo=info)
        return out.getvalue()

    assert png.same(remade(Image.open(io.BytesIO(drawn)).info["drawing"]), drawn)
    assert not png.same(remade("0" * 64), drawn)


def test_a_picture_too_large_for_memory_is_refused():
    with pytest.raises(ValueError, match="draw one route"):
        png.render(Scene(100_000, 100_000, []))
