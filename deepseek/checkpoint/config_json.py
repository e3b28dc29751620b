"""config.json to `ModelConfig`, from the released form and from transformers'."""

from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from deepseek.checkpoint.errors import CheckpointError
from deepseek.checkpoint.headers import TensorHeader
from deepseek.checkpoint.layers_json import released_layers, transformers_layers
from deepseek.checkpoint.strict_json import parse
from deepseek.config import MOST_LAYERS, WIDEST, ModelConfig, Yarn

T = TypeVar("T")

_SAME_IN_BOTH = (
    "vocab_size",
    "hidden_size",
    "num_attention_heads",
    "head_dim",
    "q_lora_rank",
    "o_groups",
    "o_lora_rank",
    "sliding_window",
    "index_n_heads",
    "index_head_dim",
    "index_topk",
    "n_routed_experts",
    "num_experts_per_tok",
    "n_shared_experts",
    "moe_intermediate_size",
    "routed_scaling_factor",
    "swiglu_limit",
    "hc_mult",
    "hc_sinkhorn_iters",
    "hc_eps",
    "rms_norm_eps",
    "max_position_embeddings",
    "bos_token_id",
)

_ONLY = {
    "model_type": "deepseek_v4",
    "num_key_value_heads": 1,
    "scoring_func": "sqrtsoftplus",
    "topk_method": "noaux_tc",
    "norm_topk_prob": True,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
    "attention_bias": False,
    "mlp_bias": False,
}


class Fields:
    """The fields of one config.json, whose absence is an error that names file and field."""

    def __init__(self, path: Path, values: dict[str, Any]) -> None:
        self.path = path
        self.values = values

    def __contains__(self, name: str) -> bool:
        return self.values.get(name) is not None

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise self.error(f"lacks {name}", "Take config.json from the checkpoint's publisher")
        return self.values[name]

    def whole(self, name: str, most: int) -> int:
        """A field that is needed before the whole configuration is checked: a number from 0 to `most`."""
        value = self[name]
        if type(value) is not int or not 0 <= value <= most:
            raise self.error(f"{name} is {value!r}, not a whole number from 0 to {most}")
        return value

    @property
    def prediction_blocks(self) -> int:
        """Multi-token-prediction blocks; none where the file does not say."""
        name = "num_nextn_predict_layers"
        return self.whole(name, MOST_LAYERS) if name in self else 0

    def error(self, problem: str, mend: str = "Correct config.json") -> CheckpointError:
        """An error about this file."""
        return CheckpointError(self.path, problem, mend)


def read_config(directory: Path, headers: dict[str, TensorHeader] | None = None) -> ModelConfig:
    """Read a checkpoint's config.json.

    Args:
        directory: the checkpoint.
        headers: its tensors where they are at hand. The released form does not say which compressed layers
            are CSA; the tensors do. Without them, rate 4 is CSA and any other HCA, as in DeepSeek's own code.

    Raises:
        CheckpointError: the file is missing, not JSON, incomplete, inconsistent, or asks for something else
            than DeepSeek-V4 as published.
    """
    fields = _read_fields(directory / "config.json")
    for name, value in _ONLY.items():
        if name in fields and (type(fields[name]) is not type(value) or fields[name] != value):
            raise fields.error(f"{name} is {fields[name]!r}", f"Only {value!r} is supported")
    values = {name: fields[name] for name in _SAME_IN_BOTH}
    eos = fields["eos_token_id"]
    try:
        return ModelConfig(
            **values,
            **_rope(fields),
            eos_token_ids=tuple(eos) if isinstance(eos, list) else (eos,),
            num_nextn_predict_layers=fields.prediction_blocks,
            layers=transformers_layers(fields)
            if "layer_types" in fields
            else released_layers(fields, headers),
        )
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise fields.error(f"{where}: {first['msg']}".removeprefix(": ")) from error
    except (TypeError, AttributeError, ValueError, OverflowError) as error:
        raise fields.error(f"is not of the expected form ({error})") from error


def _read_fields(path: Path) -> Fields:
    try:
        values = parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise CheckpointError(
            path, "does not exist", "Point at a checkpoint directory in the Hugging Face layout"
        ) from error
    except (OSError, ValueError) as error:
        raise CheckpointError(path, f"is not readable JSON ({error})", "Fetch the file again") from error
    if not isinstance(values, dict):
        raise CheckpointError(path, "is not a JSON object", "Fetch the file again")
    return Fields(path, values)


def _rope(fields: Fields) -> dict[str, Any]:
    """Rotary dimensions, bases and YaRN; transformers nests them under rope_parameters."""
    nested = fields.values.get("rope_parameters") or {}
    main, compress = nested.get("main") or {}, nested.get("compress") or {}
    if main.get("rope_type", "default") != "default":
        raise fields.error(
            f"rope_parameters.main has rope_type {main['rope_type']!r}", "Only default is supported"
        )
    scaling = compress or fields.values.get("rope_scaling") or {}
    return {
        "qk_rope_head_dim": _rope_dim(fields, compress),
        "rope_theta": main.get("rope_theta") or fields["rope_theta"],
        "compress_rope_theta": compress.get("rope_theta") or fields["compress_rope_theta"],
        "yarn": _yarn(fields, scaling),
    }


def _rope_dim(fields: Fields, compress: dict[str, Any]) -> int:
    if "qk_rope_head_dim" in fields:
        return fields.whole("qk_rope_head_dim", WIDEST)
    part = compress.get("partial_rotary_factor") or fields["partial_rotary_factor"]
    if type(part) not in (int, float) or not 0 < part <= 1:
        raise fields.error(f"partial_rotary_factor is {part!r}, not a number above 0 and at most 1")
    width = fields.whole("head_dim", WIDEST)
    size = float(part) * width
    if abs(size - round(size)) > 1e-6 * width:
        raise fields.error(f"partial_rotary_factor {part} times head_dim {width} is not whole")
    return round(size)


def _yarn(fields: Fields, scaling: dict[str, Any]) -> Yarn | None:
    kind = scaling.get("rope_type") or scaling.get("type") or "default"
    if kind == "default":
        return None
    if kind != "yarn":
        raise fields.error(
            f"the compressed layers' rope has type {kind!r}", "Only default and yarn are supported"
        )
    if (scaling.get("attention_factor") or 1.0) != 1.0:
        raise fields.error(f"attention_factor is {scaling['attention_factor']}", "Only 1.0 is supported")
    known = {name: scaling[name] for name in Yarn.model_fields if scaling.get(name) is not None}
    return Yarn(**known)
