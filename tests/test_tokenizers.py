"""Weir's tokens are the reference's tokens, on a megabyte of everything, for every family.

Small tokenizers of each family are trained on the fly by the `tokenizers` and `sentencepiece`
packages; the real models' tokenizers are rebuilt for those packages from the files' own metadata."""

import json
import os
import pathlib
import struct
import subprocess

import numpy as np
import pytest
import sentencepiece
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors,
                        trainers)

import gguf
import text_corpus

TOOL = pathlib.Path(os.environ["WEIR_TEST_BIN_DIR"]) / "tokenize_tool"
DOCUMENTS = text_corpus.documents()
# Marks and punctuation newer than the category tables the package's punctuation and BERT steps use (Unicode 8).
NEWER = {chr(c) for c in (0x061D, 0x09FD, 0x09FE, 0x20BF)}
OLDER_DOCUMENTS = [d for d in DOCUMENTS if not NEWER.intersection(d)]
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")


def weir(path, records, *flags):
    """[(ids, decoded bytes)] for each record of bytes."""
    stdin = b"".join(struct.pack("<I", len(r)) + r for r in records)
    run = subprocess.run([TOOL, str(path), *flags], input=stdin, capture_output=True, check=False)
    assert run.returncode == 0, run.stderr.decode()
    out, at, answers = run.stdout, 0, []
    for _ in records:
        (n,) = struct.unpack_from("<I", out, at)
        ids = np.frombuffer(out, dtype="<i4", count=n, offset=at + 4).tolist()
        at += 4 + 4 * n
        (n,) = struct.unpack_from("<I", out, at)
        answers.append((ids, out[at + 4:at + 4 + n]))
        at += 4 + n
    return answers


def first_difference(text, want, have, tokenizer=None):
    at = next((i for i, (a, b) in enumerate(zip(want, have)) if a != b), min(len(want), len(have)))
    name = (lambda i: tokenizer.id_to_token(i)) if tokenizer else (lambda i: i)
    return (f"{text[:60]!r}: token {at}: reference {[name(i) for i in want[max(0, at - 2):at + 4]]} "
            f"weir {[name(i) for i in have[max(0, at - 2):at + 4]]}")


def same_ids(path, tokenizer, documents, *flags):
    encodings = tokenizer.encode_batch(documents, add_special_tokens="--special" in flags)
    answers = weir(path, [d.encode() for d in documents], *flags)
    wrong = [first_difference(d, e.ids, a[0], tokenizer) for d, e, a in zip(documents, encodings, answers)
             if e.ids != a[0]]
    assert not wrong, f"{len(wrong)} of {len(documents)} documents differ; " + "\n".join(wrong[:5])
    return encodings, answers


def check(folder, tokenizer, round_trip, same_text=True, documents=DOCUMENTS):
    """Identical ids with special tokens read in the text and not; what comes back."""
    path = folder / "tokenizer.json"
    tokenizer.save(str(path))
    encodings, answers = same_ids(path, tokenizer, documents, "--trusted", "--special")
    tokenizer.encode_special_tokens = True
    encodings, answers = same_ids(path, tokenizer, documents)
    specials = {i for i, t in tokenizer.get_added_tokens_decoder().items() if t.special and "unk" not in t.content}
    for document, (ids, decoded) in zip(documents, answers):
        assert not specials.intersection(ids), f"a control token from user text: {document[:60]!r}"
        if round_trip:
            assert decoded == round_trip(document).encode(), document[:60]
    if same_text:
        texts = tokenizer.decode_batch([e.ids for e in encodings])
        for document, text, (_, decoded) in zip(documents, texts, answers):
            assert decoded.decode("utf-8", "replace") == text, document[:60]


def train(model, trainer, **parts):
    tokenizer = Tokenizer(model)
    for name, part in parts.items():
        setattr(tokenizer, name, part)
    tokenizer.train_from_iterator(DOCUMENTS[::3], trainer)
    return tokenizer


def byte_bpe(pre_tokenizer, normalizer=None, **options):
    trainer = trainers.BpeTrainer(vocab_size=3000, special_tokens=SPECIAL, show_progress=False,
                                  max_token_length=100, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    parts = {"pre_tokenizer": pre_tokenizer, "decoder": decoders.ByteLevel()}
    if normalizer:
        parts["normalizer"] = normalizer
    return train(models.BPE(**options), trainer, **parts)


def split(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def same(text):
    return text


def test_gpt2(tmp_path):
    tokenizer = byte_bpe(pre_tokenizers.ByteLevel(add_prefix_space=False))
    check(tmp_path, tokenizer, same)


def test_byte_level_with_a_prefix_space_and_added_tokens_of_every_kind(tmp_path):
    tokenizer = byte_bpe(pre_tokenizers.ByteLevel(add_prefix_space=True))
    tokenizer.add_tokens([AddedToken("river", single_word=True), AddedToken("mill", lstrip=True),
                          AddedToken("row", rstrip=True, normalized=False), AddedToken("the old", normalized=True)])
    tokenizer.add_special_tokens([AddedToken("<unk>", lstrip=True, rstrip=True), "<|tool|>"])
    check(tmp_path, tokenizer, None, same_text=False)


def test_llama3(tmp_path):
    tokenizer = byte_bpe(split(LLAMA3))
    described = json.loads(tokenizer.to_str())
    described["model"]["ignore_merges"] = True
    tokenizer = Tokenizer.from_str(json.dumps(described))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<|endoftext|> $A", special_tokens=[("<|endoftext|>", tokenizer.token_to_id("<|endoftext|>"))])
    check(tmp_path, tokenizer, same)


def test_qwen2(tmp_path):
    nfc = normalizers.NFC()
    check(tmp_path, byte_bpe(split(QWEN2), nfc), nfc.normalize_str)


def test_smollm(tmp_path):
    tokenizer = byte_bpe(pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)]))
    check(tmp_path, tokenizer, same)


@pytest.mark.parametrize("behavior", ["isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous"])
def test_splits_and_punctuation_of_every_behaviour(tmp_path, behavior):
    tokenizer = byte_bpe(pre_tokenizers.Sequence([
        pre_tokenizers.Punctuation(behavior), pre_tokenizers.Split("e", behavior),
        pre_tokenizers.Split(Regex(r"[aeiou]\d?|\s"), behavior, invert=behavior == "removed"),
        pre_tokenizers.Digits(individual_digits=False),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]))
    check(tmp_path, tokenizer, None, documents=OLDER_DOCUMENTS)


def test_normalizers_in_sequence_and_words(tmp_path):
    tokenizer = byte_bpe(
        pre_tokenizers.Sequence([pre_tokenizers.Whitespace(),
                                 pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]),
        normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase(), normalizers.Replace(Regex(r"\d+"), "7"),
                              normalizers.Replace("mill", "Mühle"), normalizers.Strip()]))
    check(tmp_path, tokenizer, None)


BYTES = [f"<0x{b:02X}>" for b in range(256)]


def char_bpe(normalizer, **parts):
    trainer = trainers.BpeTrainer(vocab_size=4000, special_tokens=["<unk>", "<s>", "</s>"] + BYTES,
                                  show_progress=False, limit_alphabet=600)
    tokenizer = train(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True), trainer,
                      normalizer=normalizer, pre_tokenizer=pre_tokenizers.Metaspace(prepend_scheme="never"))
    described = json.loads(tokenizer.to_str())
    # The byte tokens are no added tokens in the real files; words are cut only for training.
    described["added_tokens"] = [t for t in described["added_tokens"] if not t["content"].startswith("<0x")]
    described["pre_tokenizer"] = None
    tokenizer = Tokenizer.from_str(json.dumps(described))
    for name, part in parts.items():
        setattr(tokenizer, name, part)
    return tokenizer


def test_llama2(tmp_path):
    tokenizer = char_bpe(
        normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]),
        decoder=decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                   decoders.Strip(" ", 1, 0)]))
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    check(tmp_path, tokenizer, lambda text: text.replace("▁", " "))


def test_gemma(tmp_path):
    tokenizer = char_bpe(
        normalizers.Replace(" ", "▁"),
        decoder=decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]))
    tokenizer.add_tokens([AddedToken("\n\n", normalized=False), AddedToken("  ", normalized=False)])
    check(tmp_path, tokenizer, lambda text: text.replace("▁", " "))


def test_unknown_characters_without_byte_fallback(tmp_path):
    trainer = trainers.BpeTrainer(vocab_size=1500, special_tokens=["<unk>"], show_progress=False, limit_alphabet=200)
    for fuse in (True, False):
        tokenizer = train(models.BPE(unk_token="<unk>", fuse_unk=fuse), trainer,
                          pre_tokenizer=pre_tokenizers.Metaspace())
        tokenizer.save(str(tmp_path / "tokenizer.json"))
        tokenizer.encode_special_tokens = True
        same_ids(tmp_path / "tokenizer.json", tokenizer, DOCUMENTS)


def with_exact_scores(tokenizer):
    """Its scores in whole 1024ths. Training ends in other last bits each time, so that segmentations of equal sums
    ("7" "77" and "77" "7") would be told apart by rounding; sums of these are exact, and the first found must stay."""
    content = json.loads(tokenizer.to_str())
    for entry in content["model"]["vocab"]:
        entry[1] = round(entry[1] * 1024) / 1024
    return Tokenizer.from_str(json.dumps(content))


@pytest.mark.parametrize("scheme", ["always", "first", "never"])
def test_unigram(tmp_path, scheme):
    trainer = trainers.UnigramTrainer(vocab_size=3000, special_tokens=["[unk]", "[s]"], unk_token="[unk]",
                                      show_progress=False)
    tokenizer = Tokenizer(models.Unigram())
    steps = [normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    if scheme != "first":  # The package takes a text whose first character was dropped for one that goes on.
        steps.insert(0, normalizers.Nmt())
    tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme=scheme)
    tokenizer.train_from_iterator(DOCUMENTS[::6], trainer)
    check(tmp_path, with_exact_scores(tokenizer), None, same_text=False)


@pytest.mark.parametrize("lowercase", [True, False])
def test_word_piece(tmp_path, lowercase):
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=4000, special_tokens=specials, show_progress=False)
    tokenizer = train(models.WordPiece(unk_token="[UNK]"), trainer,
                      normalizer=normalizers.BertNormalizer(lowercase=lowercase),
                      pre_tokenizer=pre_tokenizers.BertPreTokenizer(), decoder=decoders.WordPiece())
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    same_ids(tmp_path / "tokenizer.json", tokenizer, OLDER_DOCUMENTS, "--trusted", "--special")


# --- SentencePiece itself, against GGUF files -------------------------------------------------------


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    """One field of a protocol buffer: bytes, float or integer."""
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    return varint(number << 3) + varint(value)


def sentencepiece_model(tokens, scores, types, kind, prefix, unknown, byte_fallback):
    """A SentencePiece ModelProto with these pieces: what the original model file said."""
    pieces = b"".join(field(1, field(1, t.encode()) + field(2, float(s)) + field(3, int(k)))
                      for t, s, k in zip(tokens, scores, types))
    trainer = field(3, kind) + field(35, int(byte_fallback)) + field(40, unknown) + field(41, 2**64 - 1) + \
        field(42, 2**64 - 1) + field(43, 2**64 - 1)
    normalizer = field(1, b"identity") + field(3, int(prefix)) + field(4, 0) + field(5, 1)
    return sentencepiece.SentencePieceProcessor(
        model_proto=pieces + field(2, trainer) + field(3, normalizer))


def metadata(path):
    fields = gguf.GGUFReader(path).fields
    return {k.removeprefix("tokenizer.ggml."): f.contents() for k, f in fields.items() if k.startswith("tokenizer.ggml.")}


def proto_field(message, number):
    """The bytes of the first field `number` of a protocol buffer; empty if there is none."""
    at = 0

    def read_varint():
        nonlocal at
        n = shift = 0
        while True:
            byte, at = message[at], at + 1
            n |= (byte & 127) << shift
            if byte < 128:
                return n
            shift += 7

    while at < len(message):
        tag = read_varint()
        if tag & 7 == 2:
            size = read_varint()
            if tag >> 3 == number:
                return message[at:at + size]
            at += size
        elif tag & 7 == 5:
            at += 4
        else:
            read_varint()
    return b""


def write_gguf(path, model, tokens, scores, types, prefix, charsmap=b"", collapse_spaces=False):
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_tokenizer_model(model)
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_scores(scores)
    writer.add_token_types(types)
    writer.add_unk_token_id(0)
    writer.add_bool("tokenizer.ggml.add_space_prefix", prefix)
    writer.add_remove_extra_whitespaces(collapse_spaces)
    if charsmap:
        writer.add_precompiled_charsmap(charsmap)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def same_as_sentencepiece(path, processor, documents):
    answers = weir(path, [d.encode() for d in documents])
    wanted = processor.encode(documents, num_threads=2)
    wrong = [first_difference(d, w, a[0]) for d, w, a in zip(documents, wanted, answers) if w != a[0]]
    assert not wrong, f"{len(wrong)} of {len(documents)} documents differ; " + "\n".join(wrong[:5])
    return answers


# All documents in one: sums of scores far beyond where SentencePiece counts from zero again.
SENTENCEPIECE_DOCUMENTS = DOCUMENTS + ["  ".join(DOCUMENTS)]


@pytest.mark.parametrize("kind,prefix,rules,collapse", [
    ("bpe", True, "identity", False), ("bpe", False, "identity", False), ("bpe", True, "identity", True),
    ("unigram", True, "identity", False), ("unigram", False, "identity", True),
    ("unigram", True, "nmt_nfkc", True), ("unigram", True, "nmt_nfkc_cf", False)])
def test_sentencepiece(tmp_path, kind, prefix, rules, collapse):
    # White space, a prefix of another, and what the rules would change were it no symbol.
    symbols = ["<tool>", "▁▁", "\n\n", "\n\n\n", "\t", "é", "½", "ﬁ"]
    if kind == "unigram":  # For BPE, GGUF files write U+2581 in a symbol as a space.
        symbols += ["  \n", "a  b"]
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(d for d in DOCUMENTS[::5] if "\x00" not in d), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(corpus), model_prefix=str(tmp_path / "m"), model_type=kind, vocab_size=2500, byte_fallback=True,
        normalization_rule_name=rules, remove_extra_whitespaces=collapse, add_dummy_prefix=prefix,
        character_coverage=0.98, user_defined_symbols=symbols, minloglevel=2, num_threads=2,
        max_sentence_length=100000, hard_vocab_limit=False)
    processor = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "m.model"))
    count = processor.vocab_size()
    types = [2 if processor.is_unknown(i) else 3 if processor.is_control(i) else 6 if processor.is_byte(i) else
             4 if processor.id_to_piece(i) in symbols else 1 for i in range(count)]
    path = tmp_path / "m.gguf"
    write_gguf(path, "llama" if kind == "bpe" else "t5", [processor.id_to_piece(i) for i in range(count)],
               [processor.get_score(i) for i in range(count)], types, prefix,
               proto_field(proto_field((tmp_path / "m.model").read_bytes(), 3), 2), collapse)
    answers = same_as_sentencepiece(path, processor, SENTENCEPIECE_DOCUMENTS)
    if kind == "bpe" and not collapse:
        for document, (_, decoded) in zip(SENTENCEPIECE_DOCUMENTS, answers):
            assert decoded == document.replace("▁", " ").encode(), document[:60]


# --- The real models --------------------------------------------------------------------------------


def model_path(variable):
    path = os.environ.get(variable)
    if not path or not pathlib.Path(path).exists():
        if os.environ.get("WEIR_REQUIRE_MODELS") == "1":
            pytest.fail(f"{variable} names no model")
        pytest.skip(f"{variable} names no model")
    return path


def smollm2_reference(path):
    data = metadata(path)
    tokenizer = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(data["tokens"])},
                                     merges=[tuple(m.split(" ")) for m in data["merges"]]))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                                       pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([t for t, k in zip(data["tokens"], data["token_type"]) if k == 3])
    return tokenizer


def test_smollm2(tmp_path):
    path = model_path("WEIR_TEST_SMOLLM2")
    tokenizer = smollm2_reference(path)
    same_ids(path, tokenizer, DOCUMENTS, "--trusted")
    tokenizer.encode_special_tokens = True
    encodings, answers = same_ids(path, tokenizer, DOCUMENTS)
    # The vocabulary lacks a token for some bytes that no text has; both drop them.
    lost = set(pre_tokenizers.ByteLevel.alphabet()) - set(tokenizer.get_vocab())
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    for document, (_, decoded) in zip(DOCUMENTS, answers):
        if document and not lost.intersection(level.pre_tokenize_str(document)[0][0]):
            assert decoded == document.encode()
    # The same tokenizer by way of tokenizer.json.
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert weir(tmp_path / "tokenizer.json", [d.encode() for d in DOCUMENTS]) == answers


def gemma3_reference(path):
    """The same vocabulary as the `tokenizers` package holds it, with the merges its converter makes."""
    data = metadata(path)
    tokens = [t.replace(" ", "▁") if k == 4 else t for t, k in zip(data["tokens"], data["token_type"])]
    vocab = {t: i for i, t in enumerate(tokens)}
    merges = []
    for token, score, kind in zip(tokens, data["scores"], data["token_type"]):
        if kind == 1:
            pairs = [(token[:i], token[i:]) for i in range(1, len(token)) if token[:i] in vocab and token[i:] in vocab]
            merges += [(-score, pair) for pair in sorted(pairs, key=lambda p: (vocab[p[0]], vocab[p[1]]))]
    merges.sort(key=lambda m: m[0])
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[m[1] for m in merges], unk_token="<unk>", fuse_unk=True,
                                     byte_fallback=True))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    return tokenizer


def test_gemma3_is_sentencepiece():
    path = model_path("WEIR_TEST_GEMMA3")
    data = metadata(path)
    # The converter wrote the user-defined runs of U+2581 as spaces.
    pieces = [t.replace(" ", "▁") if k == 4 else t for t, k in zip(data["tokens"], data["token_type"])]
    processor = sentencepiece_model(pieces, data["scores"], data["token_type"], 2, False, 3, True)
    answers = same_as_sentencepiece(path, processor, DOCUMENTS)
    for document, (_, decoded) in zip(DOCUMENTS, answers):
        assert decoded == document.replace("▁", " ").encode(), document[:60]


def test_minilm(tmp_path):
    path = pathlib.Path(model_path("WEIR_TEST_MINILM"))
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    encodings, answers = same_ids(path, tokenizer, OLDER_DOCUMENTS, "--trusted", "--special")
    texts = tokenizer.decode_batch([e.ids for e in encodings])
    for text, (_, decoded) in zip(texts, answers):
        assert decoded.decode() == text


# --- Bytes that are not UTF-8 -----------------------------------------------------------------------


def runs(data):
    """The text of a document as the header of tokenizer.h promises to read it: (text, None) or (None, bytes)."""
    at, out = 0, []
    while at < len(data):
        try:
            out.append((data[at:].decode(), None))
            break
        except UnicodeDecodeError as error:
            if error.start:
                out.append((data[at:at + error.start].decode(), None))
            bad = data[at + error.start:at + error.end]
            if out and out[-1][1] is not None:
                out[-1] = (None, out[-1][1] + bad)
            else:
                out.append((None, bad))
            at += error.end
    return out


def test_bytes_that_are_not_utf8_survive_byte_level_bpe(tmp_path):
    tokenizer = byte_bpe(split(LLAMA3))
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    tokenizer.encode_special_tokens = True
    alphabet = {}  # Byte to the character that stands for it, learnt from the package.
    for b in range(256):
        if b < 128:
            alphabet[b] = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(chr(b))[0][0]
    free = [c for c in sorted(pre_tokenizers.ByteLevel.alphabet()) if c not in alphabet.values()]
    alphabet.update({b: chr(b) for b in range(128, 256) if chr(b) in free})
    moved = [c for c in free if ord(c) > 255]
    for b in range(128, 256):
        if b not in alphabet:
            alphabet[b] = moved.pop(0)
    documents = text_corpus.invalid_documents()
    for document, (ids, decoded) in zip(documents, weir(path, documents)):
        want = []
        for text, bad in runs(document):
            if bad is None:
                want += tokenizer.encode(text, add_special_tokens=False).ids
            else:
                want += [t.id for t in tokenizer.model.tokenize("".join(alphabet[b] for b in bad))]
        assert ids == want, document
        assert decoded == document


def test_bytes_that_are_not_utf8_survive_byte_fallback():
    path = model_path("WEIR_TEST_GEMMA3")
    documents = [d for d in text_corpus.invalid_documents() if "▁".encode() not in d]
    for document, (_, decoded) in zip(documents, weir(path, documents)):
        assert decoded == document
