"""Counter-based random numbers: a pure function of seed, compartment, channel and tick.

Threefry-2x32 with 20 rounds (Salmon et al. 2011, "Parallel random numbers: as easy as
1, 2, 3"). No state, no order of drawing: noise never depends on queries, actions, batch or
resumption. Written for any array library with uint32 arithmetic, so that NumPy can check JAX.
"""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erfinv

Array = Any
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


def threefry_2x32(
    key0: Array, key1: Array, counter0: Array, counter1: Array, xp: ModuleType = jnp
) -> tuple[Array, Array]:
    """Two random 32-bit words per element.

    Args:
        key0: uint32 array, first word of the key.
        key1: uint32 array, second word of the key.
        counter0: uint32 array, first word of the counter.
        counter1: uint32 array, second word of the counter.
        xp: array library.
    """
    word = xp.uint32
    keys = (key0, key1, key0 ^ key1 ^ word(_PARITY))
    x0, x1 = counter0 + keys[0], counter1 + keys[1]
    for block in range(5):
        for r in _ROTATIONS[block % 2]:
            x0 = x0 + x1
            x1 = ((x1 << word(r)) | (x1 >> word(32 - r))) ^ x0
        x0 = x0 + keys[(block + 1) % 3]
        x1 = x1 + keys[(block + 2) % 3] + word(block + 1)
    return x0, x1


def seed_words(seed: int) -> tuple[int, int]:
    """High and low 32 bits of a seed below 2**64.

    Raises:
        ValueError: seed out of range.
    """
    if not 0 <= seed < 2**64:
        raise ValueError(f"noise seed {seed} is not in [0, 2**64)")
    return seed >> 32, seed & 0xFFFFFFFF


def uniform(word: Array, dtype: Any) -> Array:
    """Uniform numbers in the open interval (0, 1) from the top 23 bits of 32-bit words."""
    return ((word >> np.uint32(9)).astype(dtype) + 0.5) * (1.0 / 2**23)


def normal(word: Array, dtype: Any) -> Array:
    """Standard normal numbers by inversion (range about +-5.3)."""
    u = uniform(word, dtype)
    return math.sqrt(2.0) * erfinv(2.0 * u - 1.0)
