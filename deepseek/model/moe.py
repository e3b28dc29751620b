"""Mixture of experts: a router by score or by token id, routed experts and a shared one."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from deepseek.config import LayerConfig, ModelConfig
from deepseek.model.primitives import Linear, linear, parameter, parts

_DENSE_PRODUCTS = 1 << 22
"""Multiplications up to which running all experts beats sorting tokens by expert (measured on one core)."""

_CACHED = 1 << 20
"""Bytes that a core's second-level cache holds beside what else it has to."""


class Router(nn.Module):
    """Chooses `num_experts_per_tok` experts per token and weighs them, in float32.

    Scores are `sqrt(softplus(x @ weight^T))`. A score-routed layer takes the best of score + bias, a
    hash-routed one looks the experts up by token id; the weights are the chosen scores without bias,
    normalised and scaled.
    """

    def __init__(self, config: ModelConfig, hash_routed: bool, device: torch.device | str) -> None:
        super().__init__()
        experts, picks = config.n_routed_experts, config.num_experts_per_tok
        self.picks, self.scale = picks, config.routed_scaling_factor
        self.weight = parameter(experts, config.hidden_size, dtype=torch.float32, device=device)
        self.bias = None if hash_routed else parameter(experts, dtype=torch.float32, device=device)
        table = parameter(config.vocab_size, picks, dtype=torch.int64, device=device) if hash_routed else None
        self.tid2eid = table

    def forward(self, x: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Expert numbers and weights, `[n, picks]` each, of tokens x `[n, D]` with ids `[n]`."""
        scores = F.softplus(linear(x.float(), self.weight)).sqrt()
        if self.bias is None:
            assert self.tid2eid is not None
            picks = self.tid2eid[ids]
        else:
            picks = (scores + self.bias).topk(self.picks, sorted=False).indices
        weights = scores.gather(1, picks)
        return picks, weights / (weights.sum(-1, keepdim=True) + 1e-20) * self.scale


class Experts(nn.Module):
    """Gated feed-forward experts, stacked: `gate_up [E, 2I, D]` (gate rows first), `down [E, D, I]`."""

    def __init__(self, config: ModelConfig, dtype: torch.dtype, device: torch.device | str) -> None:
        super().__init__()
        experts, inner, hidden = config.n_routed_experts, config.moe_intermediate_size, config.hidden_size
        self.limit = config.swiglu_limit
        self.gate_up = parameter(experts, 2 * inner, hidden, dtype=dtype, device=device)
        self.down = parameter(experts, hidden, inner, dtype=dtype, device=device)
        self._row_products = self.gate_up.numel() + self.down.numel()
        aligned = hidden * dtype.itemsize % 16 == 0 and inner * dtype.itemsize % 16 == 0
        self._groupable = aligned and hasattr(F, "grouped_mm")  # torch 2.10 and later

    def forward(self, x: Tensor, picks: Tensor, weights: Tensor) -> Tensor:
        """Weighted sum over each token's picks; x `[n, D]`, picks and weights `[n, k]`; result float32."""
        if torch.compiler.is_compiling() and self._few_picks(picks.numel()):
            return self._picked(x, picks, weights)
        if x.shape[0] * self._row_products > _DENSE_PRODUCTS and self._can_group(x):
            return self._grouped(x, picks, weights)
        return self._dense(x, picks, weights)

    def _can_group(self, x: Tensor) -> bool:
        """Whether there are grouped products for x that read nothing back to the host."""
        if not self._groupable:
            return False
        if x.is_cuda:  # for other types and devices torch reads the sizes of the groups on the host
            return x.dtype == torch.bfloat16 and torch.cuda.get_device_capability(x.device)[0] in (9, 10)
        # torch 2.13 runs grouped products in float32 but cannot compile them ahead of time.
        return x.dtype == torch.bfloat16 or not torch.compiler.is_compiling()

    def _few_picks(self, picks: int) -> bool:
        """Whether reading picks one by one moves less memory than running all experts does.

        An expert that stays in a core's own cache is read from memory once for all its picks.
        """
        experts = self.gate_up.shape[0]
        return picks <= (4 * experts if self.gate_up[0].nbytes <= _CACHED else experts)

    def _picked(self, x: Tensor, picks: Tensor, weights: Tensor) -> Tensor:
        """Read the picked experts' rows and no others. Only for compiled code: eager torch would copy them."""
        expert, order = picks.flatten().sort(stable=True)  # picks of one expert stand together
        # The compiler checks an index in the innermost loop, unless it is seen to be in range. Picks are: the router
        # has gathered their scores.
        expert = expert.clamp(0, self.gate_up.shape[0] - 1)
        token = (order // picks.shape[1]).clamp(0, x.shape[0] - 1)
        inner = _products(self.gate_up, expert, x[token])
        outer = _products(self.down, expert, swiglu(inner, self.limit))
        back = outer[order.argsort()].float().reshape(*picks.shape, -1)
        return (back * weights.unsqueeze(-1)).sum(1)

    def _dense(self, x: Tensor, picks: Tensor, weights: Tensor) -> Tensor:
        """Run every expert on every token and drop what was not picked."""
        outer = swiglu(x @ self.gate_up.mT, self.limit) @ self.down.mT
        share = weights.new_zeros(x.shape[0], self.gate_up.shape[0]).scatter_add(1, picks, weights)
        return torch.einsum("ne,end->nd", share, outer.float())

    def _grouped(self, x: Tensor, picks: Tensor, weights: Tensor) -> Tensor:
        """Sort the tokens by expert and run each expert on its own."""
        flat = picks.flatten()
        order = flat.argsort(stable=True)
        counts = flat.new_zeros(self.gate_up.shape[0]).scatter_add(0, flat, torch.ones_like(flat))
        ends = counts.cumsum(0).to(torch.int32)
        inner = F.grouped_mm(x[order // picks.shape[1]], self.gate_up.mT, offs=ends)
        outer = F.grouped_mm(swiglu(inner, self.limit), self.down.mT, offs=ends)
        back = outer[order.argsort()].float().reshape(*picks.shape, -1)
        return (back * weights.unsqueeze(-1)).sum(1)


class SharedExpert(nn.Module):
    """The expert that every token passes through: w1 gate, w3 up, w2 down."""

    def __init__(self, config: ModelConfig, dtype: torch.dtype, device: torch.device | str) -> None:
        super().__init__()
        inner, hidden = config.moe_intermediate_size * config.n_shared_experts, config.hidden_size
        self.limit = config.swiglu_limit
        self.w1 = Linear(hidden, inner, dtype, device)
        self.w2 = Linear(inner, hidden, dtype, device)
        self.w3 = Linear(hidden, inner, dtype, device)

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.w2(swiglu(torch.cat((self.w1(x), self.w3(x)), -1), self.limit))
        return output


class MoE(nn.Module):
    """One mixture-of-experts sub-block."""

    def __init__(
        self, config: ModelConfig, layer: LayerConfig, dtype: torch.dtype, device: torch.device | str
    ) -> None:
        super().__init__()
        self.router = Router(config, layer.hash_routed, device)
        self.experts = Experts(config, dtype, device)
        self.shared = SharedExpert(config, dtype, device)

    def forward(self, x: Tensor, ids: Tensor) -> Tensor:
        """x `[B, R, D]`, ids `[B, R]` to `[B, R, D]`."""
        flat = x.flatten(0, 1)
        picks, weights = self.router(flat, ids.flatten())
        output: Tensor = self.experts(flat, picks, weights) + self.shared(flat).float()
        return output.to(x.dtype).reshape(x.shape)


def _products(weights: Tensor, expert: Tensor, x: Tensor) -> Tensor:
    """Each x `[n, in]` times its expert's matrix, of weights `[E, out, in]`: `[n, out]`."""
    return torch.cat([(part[expert] * x.unsqueeze(1)).sum(-1) for part in parts(weights)], 1)


def swiglu(gate_up: Tensor, limit: float) -> Tensor:
    """`silu(min(gate, limit)) * clamp(up, -limit, limit)` of the last axis' halves; gate has no floor."""
    gate, up = gate_up.chunk(2, -1)
    return F.silu(gate.clamp(max=limit)) * up.clamp(-limit, limit)
