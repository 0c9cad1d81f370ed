"""`weir bench roofline` and `weir bench kernels`: structure and sanity of what they report, never how fast it was."""

import json
import os
import statistics
import subprocess
from xml.etree import ElementTree

import pytest

WEIR = os.environ["WEIR_BIN"]
SVG = "{http://www.w3.org/2000/svg}"
BATCHES = [1, 4, 8, 16, 32, 128]
MODEL = os.environ.get("WEIR_TEST_SMOLLM2")
needs_model = pytest.mark.skipif(not MODEL and os.environ.get("WEIR_REQUIRE_MODELS") != "1",
                                 reason="WEIR_TEST_SMOLLM2 names no model")


def weir(*arguments, code=0, home=None):
    environment = {**os.environ, **({"XDG_DATA_HOME": str(home)} if home else {})}
    done = subprocess.run([WEIR, *map(str, arguments)], capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == code, done.stderr + done.stdout
    return done


def check_spread(spread):
    assert 0 < spread["p10"] <= spread["median"] <= spread["best"] and spread["samples"] > 0


def typical(spread, clean=None):
    """Of undisturbed samples the median, else the best."""
    return spread["median" if (spread["clean"] if clean is None else clean) else "best"]


def check_kernel(kernel):
    """What follows from other figures does follow."""
    check_spread(kernel["gop_per_s"])
    check_spread(kernel["share_of_roof"])
    assert kernel["bound"] in ("memory", "int8", "bf16", "f32") and kernel["disturbed"] <= kernel["taken"]
    assert kernel["intensity"] == pytest.approx(kernel["operations"] / kernel["bytes"])
    assert kernel["seconds"] == pytest.approx(kernel["operations"] / kernel["gop_per_s"]["median"] / 1e9)
    assert kernel["gb_per_s"] == pytest.approx(kernel["bytes"] / kernel["seconds"] / 1e9)
    roofs = [kernel["read_gb_per_s"] * kernel["intensity"]] + [
        rate for rate in (kernel["int8_gop_per_s"], kernel["bf16_gop_per_s"], kernel["f32_gop_per_s"]) if rate > 0]
    assert kernel["roof_gop_per_s"] == pytest.approx(min(roofs))


def test_kernels_are_measured_beside_their_roofs(tmp_path):
    path = tmp_path / "k.json"
    done = weir("bench", "kernels", "--type", "q4_1", "--shape", "256x512", "--rows", "1,3,32", "--set", "1MB",
                "--quick", "--json", path)
    run = json.loads(path.read_text())
    assert [kernel["rows"] for kernel in run["kernels"]] == [1, 3, 32]
    for kernel in run["kernels"]:
        check_kernel(kernel)
        assert kernel["type"] == "Q4_1" and (kernel["outputs"], kernel["columns"]) == (256, 512)
        assert kernel["operations"] == 2 * 256 * 512 * kernel["rows"]
        assert kernel["bytes"] == 256 * 512 * 5 / 8, "a panel has the bytes of its file"
        assert kernel["int8_gop_per_s"] > 0 and kernel["f32_gop_per_s"] == 0
    assert "Q4_1" in done.stdout and "256 x 512" in done.stdout
    load = run["load"]
    assert sum(load.values()) == pytest.approx(1) and min(load.values()) >= 0


def test_plain_weights_are_compared_with_floats():
    run = json.loads(weir("bench", "kernels", "--type", "f16", "--shape", "64x64", "--set", "64KiB", "--quick",
                          "--quiet", "--threads", 1, "--json", "-").stdout)
    [kernel] = run["kernels"]
    check_kernel(kernel)
    assert run["threads"] == 1 and kernel["f32_gop_per_s"] > 0 and kernel["int8_gop_per_s"] == 0


@pytest.mark.parametrize("arguments, code, said", [
    (["--type", "q9"], 2, "--type q9: no type of weights; there are F32, F16, BF16, Q4_0"),
    (["--type", "i8"], 2, "--type i8: no type of weights"),
    (["--shape", "64"], 2, "--shape 64: write OUTPUTSxCOLUMNS"),
    (["--shape", "0x64"], 2, "each 1 to 1048576"),
    (["--shape", "64x2000000"], 2, "each 1 to 1048576"),
    (["--shape", "64x64x"], 2, "--shape"),
    (["--type", "q6_k"], 5, "its rows must be blocks of 256"),
    (["--rows", "0"], 2, "--rows must be 1 to 4096, but it is 0"),
    (["--rows", "1,5000"], 2, "--rows must be 1 to 4096, but it is 5000"),
    (["--rows", "many"], 2, "--rows"),
    (["--threads", "257"], 2, "--threads"),
    (["--set", "1"], 2, "--set must be at least"),
    (["--set", "much"], 2, "is no size"),
    (["--set", "900TiB"], 6, "not enough memory: copies of the matrix, activations and outputs 990 TB + "),
    (["--type", "f32", "--shape", "1048576x1048576"], 6, "are available; lower --shape"),
])
def test_what_cannot_be_measured_is_refused_with_its_name(arguments, code, said):
    given = arguments if "--shape" in arguments else ["--shape", "64x64", *arguments]
    done = weir("bench", "kernels", *given, code=code)
    assert said in done.stderr + done.stdout


def test_the_machine_is_measured_and_the_planner_knows_it(tmp_path):
    files = {kind: tmp_path / f"r.{kind}" for kind in ("json", "svg", "html")}
    done = weir("bench", "roofline", "--quick", "--json", files["json"], "--svg", files["svg"], "--html", files["html"],
                home=tmp_path)
    run = json.loads(files["json"].read_text())
    assert run["model"] is None
    machine = run["machine"]
    roofs = {(roof["resource"], roof["threads"]): roof for roof in machine["roofs"]}
    for threads in {1, machine["threads"]}:
        for resource in ("memory_read", "weights_read", "triad", "l3_read", "l2_read", "int8_dot", "f32_fma"):
            check_spread(roofs[resource, threads])
    assert machine["buffer_bytes"] >= machine["weight_set_bytes"] >= 90e6
    assert ("barrier", 1) not in roofs, "one thread waits for nobody"
    picture = ElementTree.parse(files["svg"]).getroot()
    assert picture.tag == SVG + "svg" and len(picture.findall(SVG + "path")) >= 3
    assert "<svg" in files["html"].read_text()

    written = tmp_path / "weir/roofline.yaml"
    assert str(written) in done.stderr
    batch = json.loads(weir("plan", "batch", "--model", "smollm2-135m", "--device", "here", "--json",
                            home=tmp_path).stdout)
    bandwidth = typical(roofs["memory_read", machine["threads"]]) * 1e9
    assert batch["values"]["weights_read"]["value"] == pytest.approx(134.5e6 * 2 / bandwidth, rel=1e-3)

    written.unlink()
    weir("bench", "roofline", "--quick", "--quiet", "--no-save", "--threads", 1, home=tmp_path)
    assert not written.exists()


@needs_model
def test_a_models_kernels_stand_under_the_roofs(tmp_path):
    path, svg = tmp_path / "r.json", tmp_path / "r.svg"
    done = weir("bench", "roofline", MODEL, "--quick", "--json", path, "--svg", svg, home=tmp_path)
    run = json.loads(path.read_text())
    found = run["model"]
    # 30 layers of Q4_1 (5 bits a weight) and a head of Q8_0 (8.5 bits).
    q41 = 30 * (960 * 576 + 576 * 576 + 3072 * 576 + 576 * 1536)
    q80 = 49152 * 576
    assert found["weight_bytes_per_step"] == q41 * 5 / 8 + q80 * 8.5 / 8
    assert found["operations_per_row"] == 2 * (q41 + q80)
    assert found["kv_bytes_per_position"] == pytest.approx(2 * 30 * 3 * 64 * 2, rel=0.1)
    products = [kernel for kernel in found["kernels"] if kernel["outputs"] > 0]
    assert {(k["type"], k["outputs"], k["columns"]): k["calls_per_step"] for k in products} == {
        ("Q4_1", 960, 576): 30, ("Q4_1", 576, 576): 30, ("Q4_1", 3072, 576): 30, ("Q4_1", 576, 1536): 30,
        ("Q8_0", 49152, 576): 1}
    assert [k["rows"] for k in products] == BATCHES * 5
    assert [k["rows"] for k in found["kernels"] if k["outputs"] == 0] == [1, 32]
    for kernel in found["kernels"]:
        check_kernel(kernel)

    roofs = {roof["resource"]: typical(roof) for roof in run["machine"]["roofs"]
             if roof["threads"] == run["machine"]["threads"]}
    bits = found["weight_bytes_per_step"] * 8 / (found["operations_per_row"] / 2)
    assert found["crossover_formula"] == pytest.approx(bits / 16 * roofs["int8_dot"] / roofs["weights_read"])
    beside = {name: statistics.median(k[name] for k in products) for name in ("read_gb_per_s", "int8_gop_per_s")}
    assert found["crossover_beside"] == pytest.approx(bits / 16 * beside["int8_gop_per_s"] / beside["read_gb_per_s"])

    def seconds(kernel):
        clean = kernel["taken"] - kernel["disturbed"] >= 3
        return kernel["calls_per_step"] * kernel["operations"] / typical(kernel["gop_per_s"], clean)

    def step(rows):
        return sum(seconds(kernel) for kernel in products if kernel["rows"] == rows)
    assert found["crossover_measured"] == pytest.approx(step(1) / (step(128) / 128))
    assert "compute-bound here at a batch of" in done.stdout
    picture = ElementTree.parse(svg).getroot()
    assert len(picture.findall(SVG + "circle")) == len(found["kernels"])


def test_a_model_that_is_not_there_is_not_found(tmp_path):
    assert "none.gguf" in weir("bench", "roofline", tmp_path / "none.gguf", code=3).stderr


@pytest.mark.parametrize("command, taught", [("roofline", "weir plan fit"), ("kernels", "--rows 1,4,8,16,32,128")])
def test_help_teaches_by_examples(command, taught):
    assert taught in weir("bench", command, "--help").stdout
