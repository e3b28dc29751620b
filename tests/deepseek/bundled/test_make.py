"""The checkpoint in the package is the one its script makes, and is worth decoding."""

from pathlib import Path

import torch
from safetensors.torch import load_file

from deepseek.bundled import PATH
from deepseek.bundled.make import main
from deepseek.checkpoint import load_model
from deepseek.config import AttentionKind
from deepseek.model.step import Spans
from deepseek.state import Caches
from deepseek.tokenizer import load_tokenizer


def test_script_reproduces_the_bundled_checkpoint(tmp_path: Path) -> None:
    main([str(tmp_path)])
    for name in ("config.json", "tokenizer_config.json"):
        assert (tmp_path / name).read_text() == (PATH / name).read_text()
    made, stored = load_file(tmp_path / "model.safetensors"), load_file(PATH / "model.safetensors")
    assert made.keys() == stored.keys()
    for name, tensor in made.items():
        torch.testing.assert_close(tensor, stored[name], rtol=1e-6, atol=1e-7)


def test_bundled_model_exercises_every_kind_of_layer() -> None:
    config = load_model(PATH, capacity=1, context=16).config
    assert {layer.kind for layer in config.layers} == set(AttentionKind)
    assert {layer.hash_routed for layer in config.layers} == {True, False}
    assert config.index_n_heads >= 12
    assert config.num_nextn_predict_layers == 1


def test_greedy_text_does_not_collapse() -> None:
    model, tokenizer = load_model(PATH, capacity=4, context=128), load_tokenizer(PATH)
    caches = Caches.allocate(model.config, capacity=4, context=128)
    for row, text in enumerate(("The lanes of a pipeline", "Hello", "", "def main():")):
        ids, start, gaps = tokenizer.encode(text), 0, []
        tokens: list[int] = []
        for _ in range(64):
            table = torch.arange(caches.blocks) + row * caches.blocks
            place = (torch.tensor([value]) for value in (start, row, len(ids)))
            best = model(torch.tensor([ids]), Spans(*place, table.unsqueeze(0)), caches)[0].topk(2)
            gaps.append(float(best.values[0] - best.values[1]))
            start, ids = start + len(ids), [int(best.indices[0])]
            tokens += ids
        print(f"{text!r}: {tokenizer.decode(tokens)!r}, median gap {sorted(gaps)[32]:.2f}")
        assert len(set(tokens)) > 16
        assert sorted(gaps)[32] > 0.2
        assert tokenizer.decode(tokens).isprintable()
