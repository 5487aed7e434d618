"""One seed tree: every random number of a study is keyed by what it is for.

A key names study, partition, site, method, repeat and purpose. Two purposes never share a stream,
and neither the order of jobs nor the feedback condition enters, so that the two branches of a
repeat are equal until their feedback differs.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from slowlab.canonical import canonical_bytes

DOMAIN = "slowlab-seed-tree-1"


@dataclass(frozen=True)
class SeedKey:
    """Where a stream belongs.

    Attributes:
        study: name of the study.
        partition: family of sites.
        site: number of the site.
        method: name of the method as the study lists it.
        repeat: number of the repeat.
        purpose: what the numbers are for, such as ``method`` or ``tools``.
    """

    study: str
    partition: str
    site: int
    method: str
    repeat: int
    purpose: str

    def seed(self) -> int:
        """A 128-bit seed: the first half of the SHA-256 of the key."""
        parts = [DOMAIN, *(getattr(self, name) for name in self.__dataclass_fields__)]
        return int.from_bytes(hashlib.sha256(canonical_bytes(parts)).digest()[:16], "big")

    def generator(self) -> np.random.Generator:
        """A fresh generator at the beginning of its stream."""
        return np.random.Generator(np.random.PCG64(self.seed()))
