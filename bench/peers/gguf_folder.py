"""Writes the weights of a GGUF file as a folder in Hugging Face's form, in BF16: what vLLM's CPU build can read.

usage: gguf_folder.py MODEL.gguf FOLDER     (family llama; run it in vLLM's environment)

The quantised weights are read back exactly as every other engine reads them and rounded once to BF16, so all engines
compute with the same matrices to within 8 bits of mantissa, and this one reads three times the bytes.
"""

import pathlib
import sys

import gguf
import torch
from safetensors.torch import save_file
from transformers import AutoConfig, AutoTokenizer

TENSORS = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
LAYER = {"attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
         "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm",
         "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}


def hub_name(name):
    parts = name.removesuffix(".weight").split(".")
    if parts[0] == "blk":
        return f"model.layers.{int(parts[1])}.{LAYER[parts[2]]}.weight"
    return TENSORS[parts[0]] + ".weight"


def in_halves(rows, heads):
    """GGUF keeps the rows of Q and K with the two that RoPE turns together side by side; the hub keeps them half a
    head apart."""
    return rows.reshape(heads, rows.shape[0] // heads // 2, 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def main():
    source, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    reader = gguf.GGUFReader(source)
    field = lambda name: reader.fields[name].contents()
    if field("general.architecture") != "llama":
        raise SystemExit(f"{source.name} is of the family {field('general.architecture')}; this reads llama only")
    heads = {"attn_q": field("llama.attention.head_count"), "attn_k": field("llama.attention.head_count_kv")}
    weights = {}
    for tensor in reader.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).reshape([int(n) for n in reversed(tensor.shape)])
        kind = tensor.name.split(".")[-2]
        if kind in heads:
            values = in_halves(values, heads[kind])
        weights[hub_name(tensor.name)] = torch.from_numpy(values.copy()).to(torch.bfloat16)
    config = AutoConfig.from_pretrained(str(source.parent), gguf_file=source.name)
    config.architectures, config.dtype = ["LlamaForCausalLM"], torch.bfloat16
    config.tie_word_embeddings = "lm_head.weight" not in weights
    folder.mkdir(parents=True, exist_ok=True)
    config.save_pretrained(folder)
    AutoTokenizer.from_pretrained(str(source.parent), gguf_file=source.name).save_pretrained(folder)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


if __name__ == "__main__":
    main()
