"""`weir inspect` as a person and a program meet it, on files that the `gguf` and `safetensors` packages wrote."""

import json
import os
import pathlib
import subprocess

import gguf
import numpy as np
import pytest
from safetensors.numpy import save_file

WEIR = os.environ["WEIR_BIN"]


def inspect(*arguments, **environment):
    return subprocess.run([WEIR, "inspect", *map(str, arguments)], capture_output=True, text=True,
                          env={**os.environ, **environment}, timeout=60)


def as_json(*arguments):
    run = inspect(*arguments, "--json")
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.fixture()
def tiny_gguf(tmp_path) -> pathlib.Path:
    path = tmp_path / "tiny.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_block_count(2)
    writer.add_float32("llama.epsilon", 1e-5)
    writer.add_bool("flag", True)
    writer.add_int64("negative", -3)
    writer.add_array("floats", [0.5, 1.5])
    writer.add_token_list([b"<s>", "水".encode(), b"b"])
    writer.add_tensor("token_embd.weight", np.arange(8, dtype=np.float32).reshape(2, 4))
    for layer in range(2):
        writer.add_tensor(f"blk.{layer}.q.weight", np.zeros((3, 18), np.uint8), raw_dtype=gguf.GGMLQuantizationType.Q4_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_file_of_the_gguf_package_reads_back(tiny_gguf):
    report = as_json(tiny_gguf)
    assert report["container"] == "GGUF v3"
    assert report["file_bytes"] == tiny_gguf.stat().st_size
    metadata = report["metadata"]
    assert metadata["general.name"] == "tiny"
    assert metadata["llama.block_count"] == 2
    assert metadata["llama.epsilon"] == pytest.approx(1e-5)
    assert metadata["flag"] is True
    assert metadata["negative"] == -3
    assert metadata["floats"] == {"count": 2, "first": [0.5, 1.5]}
    assert metadata["tokenizer.ggml.tokens"]["first"][1] == "水"
    assert report["tensors"][0] == {"name": "token_embd.weight", "type": "F32", "shape": [2, 4], "bytes": 32}
    assert report["tensors"][2] == {"name": "blk.1.q.weight", "type": "Q4_0", "shape": [3, 32], "bytes": 54}
    assert report["types"]["Q4_0"] == {"tensors": 2, "values": 192, "bytes": 108}


def test_piped_output_is_plain_and_one_metadata_value_is_whole(tiny_gguf):
    run = inspect(tiny_gguf, TERM="xterm-256color")
    assert run.returncode == 0
    assert "\x1b" not in run.stdout
    assert "2 x  blk.*.q.weight" in run.stdout
    assert "blk.1.q.weight" in inspect(tiny_gguf, "--tensors").stdout
    assert inspect(tiny_gguf, "--metadata", "tokenizer.ggml.tokens").stdout == "<s>\n水\nb\n"
    absent = inspect(tiny_gguf, "--metadata", "epsilon")
    assert (absent.returncode, absent.stdout) == (3, "")
    assert "near it are 'llama.epsilon'" in absent.stderr


def test_headings_are_bold_on_a_terminal_unless_no_color_is_set(tiny_gguf):
    def on_terminal(**environment):
        main, terminal = os.openpty()
        run = subprocess.run([WEIR, "inspect", tiny_gguf], stdout=terminal, timeout=60,
                             env={**os.environ, "TERM": "xterm", **environment})
        os.close(terminal)
        text = os.read(main, 65536).decode()
        os.close(main)
        assert run.returncode == 0
        return text

    assert "\x1b[1m" in on_terminal()
    assert "\x1b" not in on_terminal(NO_COLOR="1")
    assert "\x1b" not in on_terminal(TERM="dumb")


TYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "I64": np.int64, "I32": np.int32, "I16": np.int16,
         "I8": np.int8, "U8": np.uint8, "BOOL": np.bool_}


def test_a_file_of_the_safetensors_package_reads_back(tmp_path):
    path = tmp_path / "model.safetensors"
    tensors = {f"layers.{i}.{name}": np.ones((2, 3), dtype) for i, (name, dtype) in enumerate(TYPES.items())}
    save_file({**tensors, "scalar": np.array(1.0, np.float32), "empty": np.zeros((0, 4), np.float32),
               'odd "naïve" name': np.zeros(1, np.uint8)}, path, metadata={"format": "np"})
    report = as_json(path)
    assert report["container"] == "safetensors"
    assert report["metadata"] == {"__metadata__.format": "np"}
    have = {tensor["name"]: tensor for tensor in report["tensors"]}
    for name, array in tensors.items():
        assert have[name]["shape"] == [2, 3]
        assert have[name]["bytes"] == array.nbytes
        assert name.endswith("." + have[name]["type"])
    assert have["scalar"]["shape"] == []
    assert have["empty"]["bytes"] == 0
    assert 'odd "naïve" name' in have


def test_a_hugging_face_directory_of_shards_reads_as_one_model(tmp_path):
    for shard in range(2):
        save_file({f"w{shard}": np.ones(4, np.float32)}, tmp_path / f"model-{shard}.safetensors")
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(
        {"metadata": {"total_size": 32}, "weight_map": {f"w{i}": f"model-{i}.safetensors" for i in range(2)}}))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama", "rope_scaling": {"factor": 8.0}}))
    report = as_json(tmp_path)
    assert [tensor["name"] for tensor in report["tensors"]] == ["w0", "w1"]
    assert report["metadata"]["rope_scaling.factor"] == 8.0


def test_types_weir_does_not_read_are_named(tmp_path):
    path = tmp_path / "iq.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tensor("w", np.zeros((1, 66), np.uint8), raw_dtype=gguf.GGMLQuantizationType.IQ2_XXS)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    run = inspect(path)
    assert run.returncode == 5
    assert "tensor 'w'" in run.stderr and "IQ2_XXS" in run.stderr


def test_what_is_no_model_is_one_clear_line_and_an_exit_code(tmp_path, tiny_gguf):
    def refusal(name, content):
        path = tmp_path / name
        path.write_bytes(content)
        run = inspect(path)
        assert run.stdout == ""
        assert run.stderr.startswith("weir: ") and run.stderr.count("\n") == 1
        assert str(path) in run.stderr
        return run.returncode, run.stderr

    assert refusal("text", b"hello\n")[0] == 2
    assert refusal("empty", b"")[0] == 4
    assert refusal("page", b"<!DOCTYPE html>")[0] == 4
    assert "git lfs pull" in refusal("pointer", b"version https://git-lfs.github.com/spec/v1\n")[1]
    assert "incomplete" in refusal("cut.gguf", tiny_gguf.read_bytes()[:-40])[1]
    assert inspect(tmp_path / "absent").returncode == 3
    assert inspect().returncode == 2
    (tmp_path / "directory").mkdir()
    assert "a directory without a model" in inspect(tmp_path / "directory").stderr


def test_a_file_cut_at_any_byte_never_crashes(tmp_path, tiny_gguf):
    whole = tiny_gguf.read_bytes()
    path = tmp_path / "cut.gguf"
    for size in range(0, len(whole), 41):
        path.write_bytes(whole[:size])
        run = inspect(path)
        assert run.returncode in (2, 4), (size, run.stderr)
        assert run.stderr.count("\n") == 1


@pytest.mark.parametrize("variable", ["WEIR_TEST_SMOLLM2", "WEIR_TEST_GEMMA3"])
def test_a_real_model_reads_as_the_gguf_package_reads_it(variable):
    path = os.environ.get(variable)
    if not path:
        if os.environ.get("WEIR_REQUIRE_MODELS") == "1":
            pytest.fail(f"{variable} is not set")
        pytest.skip(f"{variable} is not set")
    report = as_json(path)
    reader = gguf.GGUFReader(path)
    assert [(t["name"], t["type"], t["shape"][::-1], t["bytes"]) for t in report["tensors"]] == [
        (t.name, t.tensor_type.name, list(map(int, t.shape)), int(t.n_bytes)) for t in reader.tensors]
    keys = [key for key in reader.fields if not key.startswith("GGUF.")]
    assert sorted(report["metadata"]) == sorted(keys)
    for key in ("tokenizer.ggml.tokens", "tokenizer.ggml.token_type"):
        whole = json.loads(inspect(path, "--json", "--metadata", key).stdout)
        want = reader.fields[key].contents()
        assert whole == want
