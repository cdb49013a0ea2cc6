"""Tables in, arrays out: everything between a user's data frame and the engine.

``tables`` reads any table column by column, ``scaling`` maps numbers to [-1, 1], ``levels``
numbers the levels of a category, ``encoding`` puts them together and remembers what it saw.
"""

from obliquebart.encoding.encoding import Encoded, Encoding
from obliquebart.encoding.levels import UnseenLevelWarning
from obliquebart.encoding.scaling import FEATURE_SCALINGS

__all__ = ["FEATURE_SCALINGS", "Encoded", "Encoding", "UnseenLevelWarning"]
