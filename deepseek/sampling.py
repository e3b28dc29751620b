"""Drawing tokens from logits, reproducibly.

The noise for a token depends on the request's seed, the token's position and its id, and on nothing else: a
request gets the same tokens in any batch, in any order of steps. There is no generator state, and every shape
is fixed.
"""

import torch
from torch import Tensor

_LOW = 0xFFFFFFFF
_GOLDEN = 0x9E3779B9


def sample(logits: Tensor, temperature: Tensor, top_p: Tensor, seed: Tensor, position: Tensor) -> Tensor:
    """Draw one token per request.

    Args:
        logits: [B, V] float.
        temperature: [B] float; 0 or less takes the likeliest token.
        top_p: [B] float in (0, 1]; draws from the fewest likeliest tokens that together reach it.
        seed: [B] int64, the request's.
        position: [B] int64, absolute position of the token to draw.

    Returns:
        [B] int64 token ids.
    """
    if logits.device.type != "cpu":  # asking costs a round trip there
        return _draw(logits, temperature, top_p, seed, position)
    arguments = (logits, temperature, top_p, seed, position)
    if torch.compiler.is_compiling():
        drawn: Tensor = torch.cond((temperature > 0).any(), _draw, _likeliest, arguments)
        return drawn
    return _draw(*arguments) if bool((temperature > 0).any()) else _likeliest(*arguments)


def _likeliest(logits: Tensor, *_: Tensor) -> Tensor:
    """What `_draw` gives where every temperature is 0, without sorting the vocabulary."""
    return logits.argmax(-1)


def _draw(logits: Tensor, temperature: Tensor, top_p: Tensor, seed: Tensor, position: Tensor) -> Tensor:
    greedy = logits.argmax(-1)
    warm = temperature > 0
    # Of the distance to the best one: it is 0 or less, so that no temperature, however small, makes it infinite.
    distance = logits.float() - logits.float().amax(-1, keepdim=True)
    scaled = distance / torch.where(warm, temperature, 1).unsqueeze(-1)
    ranked, order = scaled.softmax(-1).sort(dim=-1, descending=True, stable=True)
    before = ranked.cumsum(-1) - ranked
    kept = (before < top_p.unsqueeze(-1)).index_fill(-1, order.new_zeros(1), True)
    # An exponential race: the smallest noise/probability wins with that probability (Gumbel-max).
    race = _exponential(seed.unsqueeze(-1), position.unsqueeze(-1), order) / ranked
    winner = race.masked_fill(~kept, torch.inf).argmin(-1, keepdim=True)
    return torch.where(warm, order.gather(-1, winner).squeeze(-1), greedy)


def _exponential(seed: Tensor, position: Tensor, token: Tensor) -> Tensor:
    """Standard exponential noise, float32, of each (seed, position, token)."""
    key = _mix(_mix(seed & _LOW) ^ ((seed >> 32) & _LOW))
    key = _mix(key ^ (position & _LOW))
    bits = _mix(_mix(key ^ ((token * _GOLDEN) & _LOW)) ^ _mix(key + 1 & _LOW))
    uniform = ((bits >> 9).float() + 0.5) * 2.0**-23  # exact in float32, never 0 or 1
    return -uniform.log()


def _mix(x: Tensor) -> Tensor:
    """A bijective 32-bit integer hash on int64 tensors.

    Source: Chris Wellons, "Prospecting for Hash Functions". Both factors are below 2^31, so no product leaves
    int64.
    """
    x = (((x >> 16) ^ x) * 0x21F0AAAD) & _LOW
    x = (((x >> 15) ^ x) * 0x735A2D97) & _LOW
    return (x >> 15) ^ x
