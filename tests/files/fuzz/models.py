"""Fuzz targets: mutated model files and checkpoints with correct checksums, loaded and used."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from helpers import small_files
from obliquebart import ObliqueBARTRegressor, _core
from obliquebart.exceptions import ModelFileError
from obliquebart.files import checkpoint as checkpoints
from obliquebart.files import container, model_file
from obliquebart.files.container import Contents
from obliquebart.files.plain import to_plain
from obliquebart.posterior.packing import pack_draws

N_TREES = small_files.SMALL["n_trees"]
# Some of the files are broken in one place each, by a list.
SYSTEMATIC = 0.4


class Mutator:
    """Makes one strange file after another out of good ones."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.ways = (self.bytes, self.arrays, self.header, self.trees, self.arrays_and_header)

    def __call__(self, data: bytes, contents: Contents) -> bytes:
        way = self.ways[self.rng.integers(len(self.ways))]
        result = way(data, contents)
        return result if isinstance(result, bytes) else small_files.closed(result)

    def bytes(self, data: bytes, _: Contents) -> bytes:
        """Flip, insert, delete and copy bytes."""
        changed = bytearray(data)
        for _ in range(self.rng.integers(1, 9)):
            place = int(self.rng.integers(len(changed)))
            length = int(self.rng.integers(1, 9))
            kind = self.rng.integers(4)
            if kind == 0:
                changed[place] ^= 1 << int(self.rng.integers(8))
            elif kind == 1:
                changed[place:place] = self.rng.bytes(length)
            elif kind == 2:
                del changed[place : place + length]
            else:
                source = int(self.rng.integers(len(changed)))
                changed[place : place + length] = changed[source : source + length]
        return small_files.signed(bytes(changed))

    def arrays(self, _: bytes, contents: Contents) -> Contents:
        """Change values, lengths and types of some arrays."""
        arrays = dict(contents.arrays)
        names = sorted(arrays)
        for _ in range(self.rng.integers(1, 4)):
            name = names[self.rng.integers(len(names))]
            arrays[name] = self._array(arrays[name], arrays[names[self.rng.integers(len(names))]])
        return Contents(contents.header, arrays)

    def _array(self, array: np.ndarray, other: np.ndarray) -> np.ndarray:
        kind = self.rng.integers(8)
        changed = array.copy()
        if kind < 4 and array.size:
            extremes = small_files.EXTREMES[array.dtype.kind](array.dtype)
            for _ in range(self.rng.integers(1, 5)):
                place = self.rng.integers(array.size)
                if self.rng.random() < 0.5:
                    changed.flat[place] = extremes[self.rng.integers(len(extremes))]
                else:
                    raw = self.rng.bytes(array.dtype.itemsize)
                    changed.flat[place] = np.frombuffer(raw, array.dtype)[0]
            return changed
        if kind == 4 and array.size:
            return self.rng.permutation(changed.ravel()).reshape(array.shape)
        if kind == 5:
            return changed[: self.rng.integers(len(array) + 1)]
        if kind == 6 and len(array):
            return np.concatenate([changed, changed[self.rng.integers(len(array), size=3)]])
        return other

    def header(self, _: bytes, contents: Contents) -> Contents:
        """Put junk, or another part of the header, into some of its fields."""
        header = copy.deepcopy(contents.header)
        for _ in range(self.rng.integers(1, 4)):
            paths = list(small_files._paths(header))
            parent, key = small_files._parent(header, paths[self.rng.integers(len(paths))])
            source, field = small_files._parent(header, paths[self.rng.integers(len(paths))])
            junk = copy.deepcopy(small_files.JUNK[self.rng.integers(len(small_files.JUNK))])
            value = parent[key]
            is_number = type(value) in (int, float) and abs(value) < 1e300
            if is_number and self.rng.random() < 0.5:
                parent[key] = type(value)(value * self.rng.choice([0, -1, 2, 1e3, 1e-3]))
            else:
                parent[key] = copy.deepcopy(source[field]) if self.rng.random() < 0.5 else junk
        return Contents(header, contents.arrays)

    def arrays_and_header(self, data: bytes, contents: Contents) -> Contents:
        """Both at once."""
        return self.arrays(data, self.header(data, contents))

    def trees(self, _: bytes, contents: Contents) -> Contents:
        """Replace all trees by others that are in order, but that no sampler would make."""
        arrays = dict(contents.arrays)
        prefixes = sorted(name[: -len("cut")] for name in arrays if name.endswith(".cut"))
        chosen = [prefix for prefix in prefixes if self.rng.random() < 0.7]
        for prefix in chosen:
            old = {name: arrays.pop(name) for name in list(arrays) if name[: len(prefix)] == prefix}
            is_packed = prefix + "node_begin" not in old
            n_draws = len(old[prefix + ("is_new" if is_packed else "structure_of")])
            new = self._trees((n_draws, N_TREES), is_soft=prefix + "width" in old)
            codes = new.pop("leaf_code")
            arrays.update({} if is_packed else old)
            new = pack_draws(new) if is_packed else new
            arrays.update({prefix + name: array for name, array in new.items()})
            if prefix + "leaf_code" in arrays:
                arrays[prefix + "leaf_code"] = codes
        return Contents(contents.header, arrays)

    def _trees(self, shape: tuple[int, int], *, is_soft: bool) -> dict[str, np.ndarray]:
        """Return random draws of a model with two continuous columns and a category of three."""
        rng = self.rng
        n_structures = int(rng.integers(1, 6))
        # Most random level sets are refused in a state, so often there are none.
        n_kinds = int(rng.integers(1, 3))
        trees = [
            self._preorder(int(rng.choice([0, 1, 3, 20, 249])), n_kinds)
            for _ in range(n_structures)
        ]
        kind = np.concatenate(trees)
        n_continuous, n_categorical = (int(np.sum((kind & 3) == k)) for k in (1, 2))
        count = rng.integers(0, 3, n_continuous)
        column = [c for k in count for c in ([0, 1] if k == 2 else rng.integers(0, 2, k))]
        scale = np.float32(rng.choice([1, 1e-30, 1e30]))
        structure_of = rng.integers(0, n_structures, shape)
        leaves = np.array([np.sum((tree & 3) == 0) for tree in trees])[structure_of]
        codes = [rng.permutation(n) for n in leaves.ravel()]
        return {
            "structure_of": structure_of.astype(np.uint32),
            "node_begin": np.cumsum([0, *map(len, trees)]).astype(np.uint64),
            "node_kind": kind,
            "cut": rng.normal(size=n_continuous).astype(np.float32) * scale,
            "width": rng.exponential(size=n_continuous if is_soft else 0).astype(np.float32),
            "phi_count": count.astype(np.uint32),
            "phi_column": np.array(column, np.uint32),
            "phi_value": rng.normal(size=len(column)).astype(np.float32) * scale,
            "cat_column": np.zeros(n_categorical, np.uint32),
            "level_words": rng.integers(0, 8, n_categorical).astype(np.uint32),
            "outputs": rng.normal(size=leaves.sum()).astype(np.float32) * scale,
            "leaf_code": np.concatenate([[], *codes]).astype(np.uint8),
        }

    def _preorder(self, n_rules: int, n_kinds: int) -> np.ndarray:
        """Return the kinds of the nodes of a random tree."""
        kinds: list[int] = []
        is_open = 1
        while is_open:
            is_rule = n_rules > 0 and (is_open == 1 or self.rng.random() < 0.5)
            n_rules -= is_rule
            is_open += 1 if is_rule else -1
            flags = int(self.rng.choice([0, 4, 8, 12]))
            kinds.append(flags + int(self.rng.integers(1, 1 + n_kinds)) if is_rule else 0)
        return np.array(kinds, np.uint8)


def good_files() -> list[bytes]:
    """Return files as models write them."""
    files = []
    for model in (
        small_files.small_regressor(),
        small_files.small_classifier(),
        small_files.small_soft(),
        small_files.small_scales(),
        small_files.small_regressor(rules="axis", n_chains=1, feature_scaling="range"),
    ):
        parameters = {k: to_plain(k, v) for k, v in model.get_params(deep=False).items()}
        files += [
            model_file.to_bytes(model._fitted, parameters, include_data=True),
            model_file.to_bytes(model._fitted, parameters),
        ]
    return files


class ModelTarget:
    """Loads a strange model file and uses the model."""

    name = "model"

    def __init__(self, rng: np.random.Generator) -> None:
        self._mutator = Mutator(rng)
        self._good = [(data, small_files.opened(data)) for data in good_files()]
        self._systematic = self._cases()

    def _cases(self) -> Iterator[small_files.Case]:
        for data, _ in self._good[:4:2]:
            yield from small_files.container_cases(data)
            yield from small_files.array_cases(data)
            yield from small_files.header_cases(data)

    def next_input(self) -> bytes:
        """Return the bytes of a file."""
        rng = self._mutator.rng
        case = next(self._systematic, None) if rng.random() < SYSTEMATIC else None
        return case[1] if case else self._mutator(*self._good[rng.integers(len(self._good))])

    def attempt(self, data: bytes) -> str:
        """Say what became of an input."""
        return small_files.attempt(data, small_files.use)


class CheckpointTarget:
    """Goes on from a strange checkpoint."""

    name = "checkpoint"

    def __init__(self, rng: np.random.Generator, folder: Path) -> None:
        self._mutator = Mutator(rng)
        self._path = folder / "run.ckpt"
        self._path.unlink(missing_ok=True)
        self._data = small_files.small_table()
        self._fit()
        self._contents = _in_burn_in(self._path.read_bytes())
        self._good = small_files.closed(self._contents)
        if self.attempt(self._good) != "harmless":
            raise AssertionError("a good checkpoint was refused")

    def _fit(self) -> None:
        model = ObliqueBARTRegressor(
            n_trees=3, n_burn=6, n_draws=3, n_chains=2, random_state=1, progress=False
        )
        model.fit(*self._data, checkpoint=self._path)

    def next_input(self) -> bytes:
        """Return the bytes of a file."""
        return self._mutator(self._good, self._contents)

    def attempt(self, data: bytes) -> str:
        """Say what became of an input."""
        self._path.write_bytes(data)
        try:
            self._fit()
        except ModelFileError:
            return "refused"
        return "harmless"


def _in_burn_in(data: bytes) -> Contents:
    """Return a checkpoint as if the fit had been killed in the middle of the burn-in."""
    unpacked = container.unpack(data, checkpoints.FORMAT, (checkpoints.SCHEMA,))
    header, arrays = copy.deepcopy(unpacked.header), dict(unpacked.arrays)
    for chain, numbers in enumerate(header["chains"][0]):
        numbers["n_sweeps"] = 4
        prefix = f"task.0.chain.{chain}."
        for name in [n for n in arrays if n.startswith(prefix + "trace.")]:
            arrays[name] = arrays[name][: 4 if name.endswith("burn_sigma") else 0]
        arrays[prefix + "draws.structure_of"] = np.zeros((0, 3), np.uint32)
        for name in set(_core.DRAW_FORMAT) - {"structure_of", "node_begin", "width"}:
            arrays[f"{prefix}draws.{name}"] = arrays[f"{prefix}draws.{name}"][:0]
        arrays[prefix + "draws.node_begin"] = np.zeros(1, np.uint64)
    return Contents(header, arrays)
