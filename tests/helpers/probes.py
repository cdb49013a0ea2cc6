"""Parts of the core that only tests look at: a module beside the driver, not in the wheel."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DRIVER = Path(os.environ.get("OBLIQUEBART_DRIVER", ROOT / "build" / "dev" / "obart_driver"))

(_path,) = DRIVER.parent.glob("_probes.*so")
_spec = importlib.util.spec_from_file_location("_probes", _path)
probes = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(probes)
