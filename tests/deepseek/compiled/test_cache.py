"""Compiled steps on disk are found by what they depend on, and never loaded damaged."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deepseek.compiled import cache, rounded
from tests.deepseek.compiled.conftest import SHAPE, SIZES


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache.directory().mkdir(parents=True)
    return cache.directory()


def publish(content: bytes, name: str = "key") -> Path:
    built = cache.directory() / f"{content.decode()}.built"
    built.write_bytes(content)
    return cache.publish(name, built)


def test_the_cache_is_where_the_desktop_standard_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cache.directory() == tmp_path / "laneflow" / "steps"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/someone")
    assert cache.directory() == Path("/home/someone/.cache/laneflow/steps")


def test_what_was_published_is_found_under_its_key_only() -> None:
    path = publish(b"code")
    assert cache.find("key") == path
    assert cache.find("other") is None


def test_a_damaged_file_is_removed_and_made_anew(folder: Path) -> None:
    damaged = publish(b"one")
    damaged.write_bytes(b"on")
    assert cache.find("key") is None
    assert list(folder.iterdir()) == []
    assert publish(b"one") == cache.find("key")


def test_many_may_publish_at_once_and_each_file_is_whole() -> None:
    contents = [str(number).encode() * 10000 for number in range(8)]

    def one(number: int) -> None:
        publish_as = cache.directory() / f"{number}.built"
        publish_as.write_bytes(contents[number])
        cache.publish("key", publish_as)

    with ThreadPoolExecutor() as pool:
        list(pool.map(one, range(8)))
    found = cache.find("key")
    assert found is not None
    assert found.read_bytes() in contents


@pytest.mark.parametrize("change", [{"dtype": "bfloat16"}, {"threads": 2}])
def test_type_and_threads_are_part_of_the_key(change: dict[str, Any]) -> None:
    assert cache.key(replace(SHAPE, **change)) != cache.key(SHAPE)


@pytest.mark.parametrize("name", ["batch", "capacity", "context", "rows", "page", "pages"])
def test_every_size_of_a_decode_step_is_part_of_the_key(name: str) -> None:
    sizes = replace(SIZES, **{name: getattr(SIZES, name) + 1})
    assert cache.key(replace(SHAPE, sizes=sizes)) != cache.key(SHAPE)


@pytest.mark.parametrize("name", ["packed", "chunk"])
def test_sizes_of_prompts_are_no_part_of_it(name: str) -> None:
    sizes = replace(SIZES, **{name: getattr(SIZES, name) + 1})
    assert cache.key(replace(SHAPE, sizes=sizes)) == cache.key(SHAPE)


def test_the_configuration_is_part_of_the_key() -> None:
    other = SHAPE.config.model_copy(update={"swiglu_limit": 7.0})
    assert cache.key(replace(SHAPE, config=other)) != cache.key(SHAPE)


def test_the_source_is_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = cache.key(SHAPE)
    monkeypatch.setattr(cache, "SOURCES", cache.SOURCES[1:])
    cache._source.cache_clear()
    assert cache.key(SHAPE) != before
    cache._source.cache_clear()


@pytest.mark.parametrize(("asked", "held"), [(1, 256), (256, 256), (257, 512), (512, 512), (700, 1024)])
def test_contexts_are_rounded_up_to_powers_of_two(asked: int, held: int) -> None:
    sizes = rounded(replace(SIZES, context=asked, pages=0))
    assert (sizes.context, sizes.pages) == (held, SIZES.capacity * held // SIZES.page)


def test_pages_that_were_asked_for_stay_as_they_are() -> None:
    assert rounded(replace(SIZES, context=257, pages=9)).pages == 9
