"""Fresh random blocks of every type, every day: Weir's values and the `gguf` package's are the same bits."""

import os
import pathlib
import runpy
import secrets
import subprocess

import numpy as np
import pytest

TOOL = pathlib.Path(os.environ["WEIR_TEST_BIN_DIR"]) / "dequantize_tool"
GOLDENS = runpy.run_path(
    str(pathlib.Path(__file__).resolve().parent.parent / "tools/make_dequantize_goldens"), run_name="goldens")
SEED = int(os.environ.get("WEIR_TEST_SEED", secrets.randbits(32)))


def weir_values(name: str, data: np.ndarray) -> np.ndarray:
    out = subprocess.run([TOOL, name], input=data.tobytes(), capture_output=True, check=True).stdout
    return np.frombuffer(out, dtype="<f4")


def assert_same_bits(name: str, data: np.ndarray) -> None:
    want = GOLDENS["reference"](name, data)
    have = weir_values(name, data)
    assert have.shape == want.shape
    same = (have.view(np.uint32) == want.view(np.uint32)) | (np.isnan(have) & np.isnan(want))
    assert same.all(), f"WEIR_TEST_SEED={SEED}: first at element {np.argmin(same)}"


@pytest.mark.parametrize("name", GOLDENS["SCALES"])
def test_random_blocks_have_the_same_values_bit_for_bit(name):
    assert_same_bits(name, GOLDENS["random_blocks"](name, 2000, np.random.default_rng(SEED)))


@pytest.mark.parametrize("name", GOLDENS["SCALES"])
def test_wholly_random_bytes_infinite_and_nan_scales_included_have_the_same_values(name):
    block_bytes = GOLDENS["random_blocks"](name, 1, np.random.default_rng(0)).shape[1]
    data = np.random.default_rng(SEED + 1).integers(0, 256, (4000, block_bytes), dtype=np.uint8)
    assert_same_bits(name, data)


def test_an_unknown_type_is_refused():
    assert subprocess.run([TOOL, "IQ2_XXS"], input=b"", capture_output=True).returncode == 2
