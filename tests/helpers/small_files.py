"""Model files made to do harm: broken in one place each, yet with a correct checksum."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from obliquebart import ObliqueBARTCausal, ObliqueBARTClassifier, ObliqueBARTRegressor
from obliquebart.exceptions import ModelFileError
from obliquebart.files import container, model_file, plain
from obliquebart.files.container import Contents
from obliquebart.files.model_file import _new_estimator
from obliquebart.files.model_reader import FORMAT, SCHEMA, read_model

Case = tuple[str, bytes]
SMALL = {"n_trees": 3, "n_burn": 5, "n_draws": 4, "n_chains": 2, "alpha": 0.99, "beta": 0.5}
SMALL |= {"random_state": 3, "progress": False}


def small_table(n: int = 12) -> tuple[dict[str, Any], np.ndarray]:
    """Give a table of two numbers and a category, and an outcome."""
    rng = np.random.default_rng(1)
    u = rng.uniform(size=n).round(3)
    v = np.where(np.arange(n) % 5 == 0, np.nan, rng.normal(size=n).round(3))
    group = [["red", "green", "blue"][i % 3] for i in range(n)]
    return {"u": u, "v": v, "group": group}, (u + rng.normal(size=n) * 0.3).round(3)


def small_regressor(**parameters: Any) -> ObliqueBARTRegressor:
    X, y = small_table()
    return ObliqueBARTRegressor(**{**SMALL, "feature_scaling": "blend", **parameters}).fit(X, y)


def small_soft() -> ObliqueBARTRegressor:
    return small_regressor(soft=True)


def small_scales() -> ObliqueBARTRegressor:
    return small_regressor(soft=True, tree_df=2.0)


def small_classifier(**parameters: Any) -> ObliqueBARTClassifier:
    X, y = small_table()
    labels = np.array(["no", "yes"])[(y > np.median(y)).astype(int)]
    return ObliqueBARTClassifier(**{**SMALL, **parameters}).fit(X, labels)


def small_causal(**parameters: Any) -> ObliqueBARTCausal:
    X, y = small_table(16)
    return ObliqueBARTCausal(**{**SMALL, "n_effect_trees": 2, **parameters}).fit(X, y, arms())


def arms(n: int = 16) -> np.ndarray:
    return np.array(["drug", "none", "talk"])[np.arange(n) % 7 % 3]


def small_file(make=small_regressor, **options):
    model = make()
    parameters = {k: plain.to_plain(k, v) for k, v in model.get_params(deep=False).items()}
    return model_file.to_bytes(model._fitted, parameters, **options)


def signed(data: bytes) -> bytes:
    """Put the right checksum into bytes, if there is still a place for it."""
    try:
        begin, end = container._find_digest(data)
    except ModelFileError:
        return data
    return data[:begin] + container._digest(data, begin, end) + data[end:]


def opened(data: bytes) -> Contents:
    return container.unpack(data, FORMAT, tuple(range(1, SCHEMA + 1)))


def closed(contents: Contents) -> bytes:
    """Pack contents that `pack` itself may find too strange, such as a NaN in the header."""
    header = {"checksum": "0" * 64, **contents.header}
    text = json.dumps(header, separators=(",", ":"))
    import safetensors.numpy

    arrays = {name: np.ascontiguousarray(a) for name, a in contents.arrays.items()}
    return signed(safetensors.numpy.save(arrays, {container.METADATA_KEY: text}))


def attempt(data: bytes, use: Callable[[Any], None] | None = None) -> str:
    """Load bytes and use the model; tell "refused" or "harmless", and let all else escape."""
    try:
        model = _new_estimator(read_model(data))
    except ModelFileError:
        return "refused"
    if use is not None:
        use(model)
    return "harmless"


def use(model: Any) -> None:
    """Do with a model what a user does; only errors that a user understands are allowed."""
    X, y = small_table()
    with np.errstate(all="ignore"):
        try:
            model.n_jobs = 1
            if isinstance(model, ObliqueBARTCausal):
                _use_causal(model)
                return
            model.predict(X)
            if isinstance(model, ObliqueBARTRegressor):
                model.predict(X, return_std=True)
                model.predict_interval(X, kind="outcome")
                model.sample_y(X, 3, random_state=0)
            else:
                model.predict_proba(X)
                model.predict_interval(X)
                y = np.array(["no", "yes"])[(y > np.median(y)).astype(int)]
            if model.n_thin < 100:
                model.progress = False
                model.sample_more(2, X, y)
                model.predict(X)
        except (ValueError, TypeError, MemoryError, OverflowError):
            pass


def _use_causal(model: ObliqueBARTCausal) -> None:
    X, y = small_table(16)
    arm = None if model.treatment_.arms is None else model.treatment_.arms[-1]
    model.effect(X, arm=arm)
    model.ate(X, arm=arm)
    if model.n_thin < 100:
        model.progress = False
        model.sample_more(2, X, y, arms())
        model.effect(X, arm=arm)


# ---- systematic cases ----------------------------------------------------------------------------

EXTREMES = {
    "u": lambda dtype: [0, 1, 7, np.iinfo(dtype).max // 2, np.iinfo(dtype).max],
    "i": lambda dtype: [-1, 1, np.iinfo(dtype).min, np.iinfo(dtype).max],
    "f": lambda dtype: [np.nan, np.inf, -np.inf, np.finfo(dtype).max, -1.0, 0.0, 1e-40],
}
JUNK: list[Any] = [None, True, -1, 0, 2**31, 2**63, 10**400, 1e308, "", "x", [], {}, [[]], [None]]


def array_cases(data: bytes) -> Iterator[Case]:
    """Change each array: a value, the length, the shape, the type; leave it out."""
    contents = opened(data)
    for name, array in contents.arrays.items():
        variants: dict[str, np.ndarray | None] = {
            "missing": None,
            "empty": array.ravel()[:0].reshape((0,) * array.ndim),
            "shorter": array[:-1],
            "longer": np.concatenate([array, array[-1:]]),
            "flat": array.reshape(-1, 1),
            "retyped": array.astype(np.float64 if array.dtype != np.float64 else np.float32),
            "reversed": array[::-1],
        }
        for place in sorted({0, array.size // 2, array.size - 1}) if array.size else []:
            for value in EXTREMES[array.dtype.kind](array.dtype):
                changed = array.copy()
                changed.flat[place] = value
                variants[f"[{place}]={value}"] = changed
        for variant, changed in variants.items():
            arrays = {**contents.arrays, name: changed}
            if changed is None:
                del arrays[name]
            yield f"{name} {variant}", closed(Contents(contents.header, arrays))
    extra = {**contents.arrays, "surprise": np.zeros(3)}
    yield "an array more", closed(Contents(contents.header, extra))


def header_cases(data: bytes) -> Iterator[Case]:
    """Change each field of the header: leave it out, or put in something else."""
    contents = opened(data)
    for path in _paths(contents.header):
        header = copy.deepcopy(contents.header)
        parent, key = _parent(header, path)
        del parent[key]
        yield f"{path} missing", closed(Contents(header, contents.arrays))
        for junk in JUNK:
            header = copy.deepcopy(contents.header)
            parent, key = _parent(header, path)
            parent[key] = junk
            yield f"{path}={str(junk)[:20]}", closed(Contents(header, contents.arrays))


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    entries: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        entries = list(value.items())
    elif isinstance(value, list):
        entries = list(enumerate(value))
    for key, entry in entries:
        yield (*path, key)
        yield from _paths(entry, (*path, key))


def _parent(header: Any, path: tuple[Any, ...]) -> tuple[Any, Any]:
    for key in path[:-1]:
        header = header[key]
    return header, path[-1]


def container_cases(data: bytes) -> Iterator[Case]:
    """Change the frame: lengths, offsets, products that overflow, JSON that explodes."""
    length = int.from_bytes(data[:8], "little")
    text = data[8 : 8 + length].decode()
    body = data[8 + length :]
    size = len(data)
    for wrong in (0, 1, 2, length - 1, length + 1, size - 8, size, 2**31, 2**62, 2**64 - 1):
        yield f"header length {wrong}", signed(wrong.to_bytes(8, "little") + data[8:])
    outer = json.loads(text)
    name = "posterior.0.draws.cut"

    def rebuilt(entry: Any) -> bytes:
        changed = {**outer, name: entry}
        encoded = json.dumps(changed, separators=(",", ":")).encode()
        encoded += b" " * (-len(encoded) % 8)
        return signed(len(encoded).to_bytes(8, "little") + encoded + body)

    good = outer[name]
    begin, end = good["data_offsets"]
    for shape in ([2**62, 4], [2**32, 2**32], [2**63], [-1], [1.5], [2**64], "x", None, [[1]]):
        yield f"shape {shape}", rebuilt({**good, "shape": shape})
    far = [2**63, 2**63 + 4]
    for offsets in ([0, 2**62], far, [end, begin], [-4, 0], [begin, end + 4], [begin], []):
        yield f"offsets {offsets}", rebuilt({**good, "data_offsets": offsets})
    for dtype in ("F128", "BF16", "F8_E4M3", "BOOL", "I64", "", None, 7):
        yield f"dtype {dtype}", rebuilt({**good, "dtype": dtype})
    for entry in (None, [], "x", {}, 1e400):
        yield f"entry {entry}", rebuilt(entry)
    yield "body cut", signed(data[:-1])
    yield "body longer", signed(data + b"\0" * 8)
    inner = json.loads(outer["__metadata__"]["obliquebart"])

    def with_inner(inner_text: str) -> bytes:
        encoded = json.dumps({**outer, "__metadata__": {"obliquebart": inner_text}}).encode()
        return signed(len(encoded).to_bytes(8, "little") + encoded + body)

    prefix = '{"checksum":"' + "0" * 64 + '",'
    yield "deep list", with_inner(prefix + '"a":' + "[" * 100_000 + "]" * 100_000 + "}")
    yield "deep object", with_inner(prefix + '"a":' + '{"a":' * 50_000 + "1" + "}" * 50_000 + "}")
    yield "long integer", with_inner(prefix + '"schema":' + "9" * 200_000 + "}")
    yield "NaN", with_inner(prefix + '"schema":NaN}')
    yield "repeated name", with_inner(prefix + '"schema":1,"schema":1}')
    yield "no object", with_inner("[" + prefix + '"schema":1}]')
    yield "no JSON", with_inner(prefix)
    yield "wide list", with_inner(prefix + '"a":[' + "0," * 200_000 + "0]}")
    for schema in (0, SCHEMA + 1, -1, "1", 1.0, True, None):
        text = json.dumps({"checksum": "0" * 64, **inner, "schema": schema}, separators=(",", ":"))
        yield f"schema {schema!r}", with_inner(text)
