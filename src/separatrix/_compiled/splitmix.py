"""The finaliser of SplitMix64, for arrays and for compiled loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix._compiled.compilation import scalar

# 2^64 over the golden ratio: its multiples are spread over all words.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def mixed(words: Any) -> Any:
    """A bijection of 64-bit words without structure; 0 stays 0 (Steele, Lea and Flood, 2014)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


mixed_word = scalar(mixed)
