"""Model files that are damaged or made to do harm: refused, or harmless."""

from __future__ import annotations

import copy
import os
import pickle
import time
import tracemalloc

import numpy as np
import pytest
import safetensors
import safetensors.numpy

from helpers import small_files
from obliquebart import ModelFileError, load
from obliquebart.files import container, model_reader
from obliquebart.files.container import Contents


def test_every_flipped_byte_is_noticed():
    data = bytearray(small_files.small_file(include_data=True))
    # Small enough to be thorough: every single bit, and every byte inverted.
    assert len(data) < 20_000
    for place in range(len(data)):
        for mask in (1, 2, 4, 8, 16, 32, 64, 128, 255):
            data[place] ^= mask
            assert small_files.attempt(bytes(data)) == "refused", (place, mask)
            data[place] ^= mask


def test_every_truncation_is_noticed():
    data = small_files.small_file()
    for length in range(len(data)):
        assert small_files.attempt(data[:length]) == "refused", length
    for more in (b"\0", b" ", data):
        assert small_files.attempt(data + more) == "refused"


CRAFTED = {
    "container": small_files.container_cases,
    "arrays": small_files.array_cases,
    "header": small_files.header_cases,
}


@pytest.mark.parametrize(
    "make", [small_files.small_regressor, small_files.small_soft, small_files.small_classifier]
)
@pytest.mark.parametrize("kind", CRAFTED)
@pytest.mark.filterwarnings("ignore")
def test_crafted_files_are_refused_or_harmless(kind, make):
    """Load every one; use every tenth of those that are accepted (the fuzz target: all)."""
    outcomes = []
    for name, data in CRAFTED[kind](small_files.small_file(make, include_data=True)):
        begin = time.process_time()
        outcomes.append(small_files.attempt(data))
        assert time.process_time() - begin < 1.0, name
        if outcomes[-1] == "harmless" and outcomes.count("harmless") % 10 == 0:
            small_files.attempt(data, small_files.use)
    n_refused = outcomes.count("refused")
    assert len(outcomes) >= (50 if kind == "container" else 1000)
    assert n_refused == len(outcomes) if kind == "container" else n_refused > len(outcomes) // 2


HARMFUL = {
    "posterior.0.draws.phi_column": (np.uint32(2), "phi_column is out of range"),
    "posterior.0.draws.cat_column": (np.uint32(1), "cat_column is out of range"),
    "posterior.0.draws.cut": (np.float32(np.nan), "cut is not finite"),
    "posterior.0.draws.phi_value": (np.float32(np.inf), "phi_value is not finite"),
    "posterior.0.draws.outputs": (np.float32(np.nan), "output is not finite"),
    "posterior.0.draws.is_new": (np.uint8(0), "is_new must be set in the first draw"),
    "posterior.0.draws.node_kind": (np.uint8(3), "node_kind"),
    "posterior.0.draws.phi_count": (np.uint8(200), "do not match phi_count"),
    "posterior.0.draws.level_words": (np.uint32(2**31), "beyond the last level"),
    "posterior.0.trace.sigma": (-1.0, "trace.sigma"),
    "posterior.0.state.0.residual": (np.float32(np.nan), "not finite"),
    "row_keys": (np.uint64(2**64 - 1), "are not sorted"),
    "posterior.0.state.0.proposed": (np.int64(-1), "out of range"),
}


@pytest.mark.parametrize("name", HARMFUL)
def test_the_message_says_what_is_wrong(name, tmp_path):
    value, message = HARMFUL[name]
    contents = small_files.opened(small_files.small_file())
    array = contents.arrays[name].copy()
    array.flat[0] = value
    path = tmp_path / "model.obart"
    path.write_bytes(
        small_files.closed(Contents(contents.header, {**contents.arrays, name: array}))
    )
    with pytest.raises(ModelFileError, match=message) as caught:
        load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("class_weights", [1.0], "class_weights are not 2 positive numbers"),
        ("class_weights", [1.0, 0.0], "class_weights are not 2 positive numbers"),
        ("class_weights", [1.0, 2], "class_weights are not 2 positive numbers"),
        ("class_weights", {"a": 1.0}, "class_weights are not 2 positive numbers"),
        ("parameters", [1, 2], "not a list of pairs"),
        ("parameters", [["a", -1.0]], "a parameter that is not allowed"),
        ("parameters", [[["a"], 1.0]], "not a plain value"),
    ],
)
def test_weights_of_classes_are_checked(place, value, message, tmp_path):
    contents = small_files.opened(small_files.small_file(small_files.small_classifier))
    header = copy.deepcopy(contents.header)
    if place == "parameters":
        header["parameters"]["class_weight"] = value
    else:
        header[place] = value
    (tmp_path / "m").write_bytes(small_files.closed(Contents(header, contents.arrays)))
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "m")


def with_state(rule, levels, *, changed):
    """Put an ensemble into the first chain's state: a tree of one rule, and two without."""
    contents = small_files.opened(small_files.small_file(include_data=True))
    is_continuous = int(rule == 1)
    state = {
        "structure_of": np.array([[0, 1, 1]], np.uint32),
        "node_begin": np.array([0, 3, 4], np.uint64),
        "node_kind": np.array([rule, 0, 0, 0], np.uint8),
        "cut": np.zeros(is_continuous, np.float32),
        "phi_count": np.ones(is_continuous, np.uint32),
        "phi_column": np.zeros(is_continuous, np.uint32),
        "phi_value": np.ones(is_continuous, np.float32),
        "cat_column": np.zeros(1 - is_continuous, np.uint32),
        "level_words": np.array(levels, np.uint32),
        "outputs": np.zeros(4, np.float32),
        "leaf_code": np.array([0, 1, 0, 0], np.uint8),
        "changed": np.full(3, changed, np.uint8),
    }
    arrays = {f"posterior.0.state.0.{name}": array for name, array in state.items()}
    return small_files.closed(Contents(contents.header, {**contents.arrays, **arrays}))


def test_a_state_must_suit_the_sampler():
    assert small_files.attempt(with_state(1, [], changed=1), small_files.use) == "harmless"
    for levels in range(1, 7):
        assert (
            small_files.attempt(with_state(2, [levels], changed=1), small_files.use) == "harmless"
        )
    for levels in (0, 7):
        with pytest.raises(ModelFileError, match="does not split the levels of its node"):
            model_reader.read_model(with_state(2, [levels], changed=1))
    # The last draw of the chain has other trees than this.
    with pytest.raises(ModelFileError, match="not marked as changed differs from the last draw"):
        model_reader.read_model(with_state(1, [], changed=0))


@pytest.mark.parametrize(
    "make", [small_files.small_regressor, small_files.small_soft, small_files.small_classifier]
)
def test_a_state_has_its_fields_and_no_others(make):
    header, arrays = small_files.opened(small_files.small_file(make))
    prefix = "posterior.0.state.0."
    names = [name.removeprefix(prefix) for name in arrays if name.startswith(prefix)]
    for name in [*names, "surprise"]:
        for junk in [*small_files.JUNK, [[1], [1, 2]]]:
            # A number of the header in the place of an array, and beside it.
            changed = copy.deepcopy(header)
            changed["posteriors"][0]["states"][0][name] = junk
            without = {key: array for key, array in arrays.items() if key != prefix + name}
            for contents in (Contents(changed, without), Contents(changed, arrays)):
                assert small_files.attempt(small_files.closed(contents)) == "refused", (name, junk)
    for surprise in ("state.0.x", "state.7.rng", "draws.x", "trace.x"):
        more = {**arrays, f"posterior.0.{surprise}": np.zeros(3)}
        contents = Contents(header, more)
        assert small_files.attempt(small_files.closed(contents)) == "refused", surprise


def test_files_of_other_kinds(tmp_path):
    def refused(content, message):
        path = tmp_path / "file"
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=message):
            load(path)

    refused(b"", "truncated, or not an obliquebart file")
    refused(b"a,b\n1,2\n" * 100, "truncated, or not an obliquebart file")
    refused(pickle.dumps(np.arange(100)), "not an obliquebart file")
    refused(safetensors.numpy.save({"a": np.zeros(3)}), "no checksum")
    refused(
        container.pack(Contents({"format": "x", "schema": 1}, {})), "is not an obliquebart model"
    )
    with pytest.raises(ModelFileError, match="not a regular file"):
        load(tmp_path)
    with pytest.raises(ModelFileError, match="not a regular file"):
        load("/dev/zero")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="not a regular file"):
        load(tmp_path / "pipe")


def test_a_huge_file_is_refused_unread(tmp_path):
    path = tmp_path / "huge"
    with open(path, "wb") as file:
        file.write((10**6).to_bytes(8, "little") + b"{")
        file.truncate(50 * 10**9)
    tracemalloc.start()
    begin = time.process_time()
    with pytest.raises(ModelFileError):
        load(path)
    assert time.process_time() - begin < 1.0
    assert tracemalloc.get_traced_memory()[1] < 1e7
    tracemalloc.stop()


JUNK = {
    "deep": "[" * 10**7,
    "objects": "[" + "{}," * 190_000,
    "more objects": "[" + "{}," * 5 * 10**6,
    "numbers": "[" + "1e9," * 1_900_000,
    "more numbers": "[" + "1," * 10**7,
    "text": '"' + "x" * 3 * 10**7,
}


@pytest.mark.parametrize("junk", JUNK)
def test_large_headers_take_little_time_and_memory(junk):
    def crafted(text):
        text = '{"checksum":"' + "0" * 64 + '","format":"obliquebart model","x":' + text
        return small_files.signed(safetensors.numpy.save({"a": np.zeros(3)}, {"obliquebart": text}))

    data = crafted(JUNK[junk])
    begin = time.process_time()
    assert small_files.attempt(data) == "refused"
    assert time.process_time() - begin < 1.0
    # Tracing is slow.
    data = crafted(JUNK[junk][: len(JUNK[junk]) // 20])
    tracemalloc.start()
    assert small_files.attempt(data) == "refused"
    assert tracemalloc.get_traced_memory()[1] < 30 * len(data)
    tracemalloc.stop()
