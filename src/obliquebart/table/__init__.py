"""Tables in, arrays out: everything between a user's data frame and the engine.

``frames`` reads any table column by column, ``scaling`` maps numbers to [-1, 1], ``levels``
numbers the levels of a categorical column, ``encoding`` combines them and stores the result.
"""

from obliquebart.table.encoded import EncodedTable
from obliquebart.table.encoding import Encoding
from obliquebart.table.levels import UnseenLevelWarning
from obliquebart.table.scaling import FEATURE_SCALINGS

__all__ = ["FEATURE_SCALINGS", "EncodedTable", "Encoding", "UnseenLevelWarning"]
