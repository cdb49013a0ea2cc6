"""The tiles of a picture, read back from it."""

from __future__ import annotations

import numpy as np


def named_tiles(ax, shape):
    """Return the tiles of a picture with the names above them."""
    every = np.ma.filled(ax.images[0].get_array(), np.nan)
    found = []
    for text in (each for each in ax.texts if each.get_va() == "bottom"):
        left, top = (round(at + 0.55) for at in text.get_position())
        tile = every[top : top + shape[0], left : left + shape[1]]
        assert not np.isnan(tile).any()
        found.append((text.get_text(), tile))
    # Outside the tiles there is nothing.
    assert np.count_nonzero(~np.isnan(every)) == sum(tile.size for _, tile in found)
    return found
