"""Which kind each layer is, from either form of config.json and, where it is silent, from the tensors."""

from typing import TYPE_CHECKING

from deepseek.checkpoint.headers import TensorHeader
from deepseek.checkpoint.names import sources
from deepseek.config import MOST_LAYERS, AttentionKind, LayerConfig

if TYPE_CHECKING:
    from deepseek.checkpoint.config_json import Fields


def transformers_layers(fields: "Fields") -> tuple[LayerConfig, ...]:
    """Layers from layer_types, compress_rates and mlp_layer_types (or num_hash_layers)."""
    count = fields.whole("num_hidden_layers", MOST_LAYERS)
    kinds = [_kind(fields, name) for name in fields["layer_types"]]
    hashed = _hash_routed(fields, count)
    for name, found in (("layer_types", kinds), ("mlp_layer_types", hashed)):
        if len(found) != count:
            raise fields.error(f"{name} has {len(found)} entries for num_hidden_layers {count}")
    return tuple(
        LayerConfig(kind=kind, rate=_rate(fields, kind), hash_routed=by_id)
        for kind, by_id in zip(kinds, hashed, strict=True)
    )


def released_layers(fields: "Fields", headers: dict[str, TensorHeader] | None) -> tuple[LayerConfig, ...]:
    """Layers from num_hash_layers and compress_ratios, which ends with the prediction blocks' entries."""
    count, ratios = fields.whole("num_hidden_layers", MOST_LAYERS), fields["compress_ratios"]
    predicting = fields.prediction_blocks
    if len(ratios) not in (count, count + predicting):
        raise fields.error(
            f"compress_ratios has {len(ratios)} entries for {count} layers and {predicting} prediction blocks"
        )
    if any(ratios[count:]):
        raise fields.error(
            f"compress_ratios gives the prediction blocks {ratios[count:]}", "Only 0 is supported there"
        )
    hashed = _hash_routed(fields, count)
    layers = []
    for index, rate in enumerate(ratios[:count]):
        stored = _stored_kind(fields, index, headers) if headers and rate else None
        convention = AttentionKind.CSA if rate == 4 else AttentionKind.HCA
        kind = stored or convention if rate else AttentionKind.SLIDING
        layers.append(LayerConfig(kind=kind, rate=rate, hash_routed=hashed[index]))
    return tuple(layers)


def _kind(fields: "Fields", name: str) -> AttentionKind:
    try:
        return AttentionKind(name)
    except ValueError:
        known = ", ".join(AttentionKind)
        raise fields.error(f"layer_types has {name!r}", f"Only {known} are supported") from None


def _rate(fields: "Fields", kind: AttentionKind) -> int:
    if kind is AttentionKind.SLIDING:
        return 0
    rates = fields["compress_rates"]
    if not isinstance(rates, dict) or kind not in rates:
        raise fields.error(f"compress_rates lacks {kind}, which layer_types uses")
    return rates[kind]  # type: ignore[no-any-return]  # checked by LayerConfig


def _hash_routed(fields: "Fields", count: int) -> list[bool]:
    if "mlp_layer_types" not in fields:
        hashed = fields.whole("num_hash_layers", MOST_LAYERS)
        return [index < hashed for index in range(count)]
    names = fields["mlp_layer_types"]
    for name in names:
        if name not in ("hash_moe", "moe"):
            raise fields.error(f"mlp_layer_types has {name!r}", "Only hash_moe and moe are supported")
    return [name == "hash_moe" for name in names]


def _stored_kind(fields: "Fields", index: int, headers: dict[str, TensorHeader]) -> AttentionKind | None:
    """CSA has an indexer and a compressor twice as wide as a head; HCA has neither."""
    ape, wide = _find(headers, f"layers.{index}.attn.compressor.ape"), 2 * fields["head_dim"]
    if ape is None:
        return None
    overlapping = ape.shape[-1:] == (wide,)
    indexed = _find(headers, f"layers.{index}.attn.indexer.wq_b.weight") is not None
    if overlapping != indexed:
        raise fields.error(
            f"layer {index} has {'an' if indexed else 'no'} indexer, but its compressor's ape is "
            f"{list(ape.shape)} (CSA has an indexer and {wide} columns, HCA neither)",
            "The checkpoint is incomplete or mixed up; fetch it again",
        )
    return AttentionKind.CSA if indexed else AttentionKind.HCA


def _find(headers: dict[str, TensorHeader], parameter: str) -> TensorHeader | None:
    spellings = sources(parameter, 0)
    names = (*spellings.released.names, *spellings.transformers.names)
    return next((headers[name] for name in names if name in headers), None)
