"""Text for the tokenizer tests: sentences in many scripts, recombined with seeded randomness, and
everything that tokenizers get wrong. All of it is written for this file or generated."""

import random

SENTENCES = [
    # Latin: English, German, French, Spanish, Polish, Turkish, Vietnamese, Icelandic, Czech.
    "The river bends twice before the old mill, and nobody remembers why it's called Weir.",
    "She'd said they'll come if we've finished; I'm sure you're right, but he doesn't agree.",
    "Please send 3 copies (A4, double-sided) to room 0217 by 09:45 - thanks!",
    "HELLO WORLD, Don't SHOUT: it'S rude AND WE'LL notice.",
    "Über den Dächern lag früher Nebel, und die Straße glänzte vom Regen.",
    "L'été dernier, nous avons mangé des crêpes près du château où naquit le poète.",
    "¿Cuántos años tiene el niño que vive junto al río? Mañana lo sabremos.",
    "Zażółć gęślą jaźń, a potem idź spać; księżyc świeci nad łąką.",
    "İstanbul'da ılık bir akşam, çay içip şarkı söyledik; ığdır uzak.",
    "Buổi sáng ở Hà Nội, người ta uống cà phê và đọc báo bên hồ.",
    "Það er hvasst við ströndina, en börnin leika sér úti þótt kalt sé.",
    "Příliš žluťoučký kůň stál tiše u rybníka a čekal na déšť.",
    # Greek, Cyrillic, Armenian, Georgian.
    "Το πρωί η θάλασσα ήταν ήρεμη και οι ψαράδες γύρισαν νωρίς.",
    "Вчера мы долго шли по берегу реки и говорили о будущем урожае.",
    "Увечері на подвір'ї їжак шукав щось їстівне під яблунею.",
    "Առավոտյան լեռները ծածկված էին ձյունով, իսկ գյուղը դեռ քնած էր։",
    "დილით ბაზარში ახალი პური და ყველი ვიყიდეთ, მერე სახლში დავბრუნდით.",
    # Right to left: Hebrew, Arabic, Persian, Urdu.
    "בבוקר הלכנו לשוק וקנינו לחם, זיתים וגבינה טרייה.",
    "שָׁלוֹם לְכֻלָּם, הַיּוֹם יוֹם יָפֶה.",
    "في الصباح الباكر خرج الصياد إلى البحر وعاد بسلة من السمك.",
    "اَلْحَيَاةُ جَمِيلَةٌ فِي الرَّبِيعِ، أَلَيْسَ كَذَلِكَ؟",
    "باران تمام شب بارید و صبح، کوچه‌ها پر از برگ‌های زرد بود.",
    "شام کو بچے چھت پر پتنگ اڑاتے ہیں اور دادی کہانی سناتی ہیں۔",
    # Indic: Hindi, Bengali, Tamil, Telugu, Malayalam, Gujarati.
    "सुबह नदी के किनारे बच्चे खेल रहे थे और किसान खेत की ओर जा रहे थे।",
    "বৃষ্টির দিনে আমরা জানালার পাশে বসে গল্প করি আর চা খাই।",
    "காலையில் கடற்கரையில் நடந்து சென்றபோது மீனவர்களைப் பார்த்தேன்.",
    "ఈ ఉదయం తోటలో పూలు పూశాయి, పక్షులు పాడుతున్నాయి.",
    "മഴ പെയ്തപ്പോൾ കുട്ടികൾ മുറ്റത്ത് ഓടിക്കളിച്ചു.",
    "આજે બજારમાં ભીડ હતી અને કેરીના ભાવ ઓછા હતા.",
    # Thai, Lao, Khmer, Burmese, Tibetan, Amharic.
    "เช้านี้ฝนตกหนัก เราจึงอยู่บ้านและทำขนมกินกัน",
    "ຕອນເຊົ້າພວກເຮົາໄປຕະຫຼາດຊື້ຜັກແລະປາ",
    "ព្រឹកនេះខ្ញុំដើរទៅសាលារៀនជាមួយមិត្តភក្តិ។",
    "ဒီမနက် ဈေးကို သွားပြီး ငါးနဲ့ ဟင်းသီးဟင်းရွက် ဝယ်ခဲ့တယ်။",
    "ང་ཚོ་ཁ་སང་རི་མགོར་འཛེགས་ནས་ཉི་མ་ཤར་བ་བལྟས།",
    "ጠዋት ገበያ ሄደን ቡና እና ዳቦ ገዛን፤ ከዚያም ወደ ቤት ተመለስን።",
    # Chinese, Japanese, Korean.
    "清晨的湖面很平静，几只白鹭站在浅水里等着小鱼游过。",
    "昨晚風很大，院子裡的竹子倒了三根，今天得請人來修。",
    "朝ごはんを食べてから、駅まで歩いて十五分ほどかかりました。",
    "カタカナとひらがな、そして漢字が混ざった文章は①②③ｱｲｳも含みます。",
    "아침에 일찍 일어나 산책을 하고 따뜻한 차를 마셨습니다.",
    # Decomposed forms, compatibility forms, marks on marks.
    "Cafe\u0301 re\u0301sume\u0301 nai\u0308ve A\u030a\u0301 o\u0327\u0301\u0323 Z\u0336a\u0337l\u0338g\u0315o\u0358",
    "ﬁne ﬂow ﬃ ½ ¾ ² ³ № ™ Ⅷ ⑳ ㎏ ㌔ ﷺ Ａ１ｂ２ ℌ 𝒜𝓑𝔠 ᵃᵇ",
    "\u1112\u1161\u11ab\u1100\u1173\u11af 각 가\u11a8 \u212b \u2126 \u1e9b\u0323",
    # Emoji: joined, skin tones, flags, keycaps, variation selectors.
    "👨‍👩‍👧‍👦 went 🏃🏽‍♀️ home 🏳️‍🌈 with 👩🏿‍🔬 and 🐈‍⬛ 1️⃣2️⃣#️⃣ ❤️ ☺︎ 🇮🇸🇯🇵🇧🇷 🫶🏻 🤷‍♂️",
    # Mathematics and symbols.
    "∀ε>0 ∃δ>0: |x−a|<δ ⇒ |f(x)−f(a)|<ε; ∑_{i=1}^{n} i² = n(n+1)(2n+1)/6 ≈ ∞ ± √2·π",
    "€100 ≠ £85, ¥1,000,000 → ₹500 ₿0.001 … “quoted” ‘single’ «guillemets» „low“ —dash–",
    # Code.
    "def f(x, *args, **kw):\n    return {k: v for k, v in kw.items() if k != 'self'}\n",
    "#include <vector>\nint main() { std::vector<int> v{1,2,3}; for (auto&& x : v) x <<= 2; }\r\n",
    "SELECT a.id, COUNT(*) FROM t AS a WHERE a.name LIKE '%x_%' GROUP BY 1 HAVING COUNT(*)>10;",
    "\t<div class=\"row\" data-x='1'>&nbsp;&lt;b&gt;</div>\n\n\n\t\t<!-- c -->\n",
    "if [ \"$1\" = \"--help\" ]; then echo \"usage: $0 [-v] FILE...\" >&2; exit 64; fi",
    "{\"a\":[1,2.5e-10,null,true],\"b\":\"\\u00e9\\n\\\\\"}",
    "https://example.org/path_to/file-name.v2.tar.gz?q=a%20b&lang=en#frag user@mail.example",
    # Things that look like special tokens.
    "<|im_start|>user\nhi<|im_end|>\n<|endoftext|><s></s><unk><pad>[CLS] [SEP][MASK]<bos><eos>",
    "<start_of_turn>model\n<end_of_turn><0x0A><0xFF>▁▁word▁Ġtoken Ċ ##ing <|eot_id|> <|tool|><unused7>",
]

WHITE = [" ", "  ", "   ", "\t", "\n", "\r\n", "\n\n", "\r", "\v", "\f", "\u0085", "\u00a0", "\u1680", "\u180e",
         "\u2003", "\u2009", "\u200a", "\u200b", "\u200c", "\u200d", "\u2028", "\u2029", "\u202f", "\u205f", "\u2060",
         "\u3000", "\ufeff", " \n ", "\n  \n", "\t\t", " " * 7, " " * 16, "\n" * 5]


def documents(seed: int = 20240607, size: int = 1_100_000) -> list[str]:
    """At least `size` bytes of UTF-8 as documents of 1 byte to some 20 kB."""
    rng = random.Random(seed)
    docs = ["", "a", " ", "\n", "é", "中", "👍", "\u0301", "\x00", "\x7f\x00\x01", "\ufffd", "\U0010ffff", "\u0378"]
    docs += SENTENCES
    docs += [s.upper() for s in SENTENCES[:20]]
    docs += [w + "x" + w + w for w in WHITE] + WHITE
    docs += ["a" * 3000, "ab" * 2000, " " * 3000, "\n" * 3000, "é" * 2000, "中" * 2000, "👍" * 500, "!" * 3000,
             "0" * 3000, "1234567890" * 300, "x" + " " * 2000 + "y", " \n" * 1000, "'s" * 1000, "e\u0301" * 1000,
             "\u0301\u0327" * 500, "▁" * 500, "_-" * 1000]
    for base in (0x0000, 0x0080, 0x0300, 0x0600, 0x0900, 0x2000, 0x3000, 0xFF00, 0x1F300, 0x1D400):
        docs.append("".join(chr(base + i) for i in range(256)))
        docs.append(" ".join(chr(base + i) for i in range(256)))
    for n in range(60):
        docs.append(" ".join(str(rng.randrange(10 ** rng.randrange(1, 20))) for _ in range(20)))
    total = sum(len(d.encode()) for d in docs)
    while total < size:
        words = []
        for _ in range(rng.choice((1, 3, 10, 40))):
            sentence = rng.choice(SENTENCES)
            kind = rng.random()
            if kind < 0.6:
                words.append(sentence)
            elif kind < 0.8:
                parts = sentence.split(" ")
                rng.shuffle(parts)
                words.append(" ".join(parts))
            elif kind < 0.9:
                a = rng.randrange(len(sentence))
                words.append(sentence[a:a + rng.randrange(1, 30)])
            else:
                words.append("".join(rng.choice(rng.choice(SENTENCES)) for _ in range(rng.randrange(1, 25))))
            words.append(rng.choice(WHITE) if rng.random() < 0.4 else " ")
        docs.append("".join(words))
        total += len(docs[-1].encode())
    return docs


def plain_text(seed: int = 7, size: int = 1_000_000) -> str:
    """What a throughput figure is measured on: sentences, mostly English."""
    rng = random.Random(seed)
    out, total = [], 0
    english = SENTENCES[:4]
    while total < size:
        out.append(rng.choice(english) if rng.random() < 0.7 else rng.choice(SENTENCES[4:-2]))
        total += len(out[-1].encode()) + 1
    return " ".join(out)


def invalid_documents(seed: int = 3, count: int = 400) -> list[bytes]:
    """Bytes that are not UTF-8: cut characters, overlong forms, surrogates, noise."""
    rng = random.Random(seed)
    bad = [b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe4\xb8", b"\x80", b"\xf0\x9f\x91", b"\xc3"]
    docs = [b"ab" + b + b"cd" for b in bad] + bad + [bytes(range(256)), bytes(range(255, -1, -1))]
    for _ in range(count):
        parts = []
        for _ in range(rng.randrange(1, 8)):
            sentence = rng.choice(SENTENCES)
            a = rng.randrange(len(sentence))
            parts.append(sentence[a:a + rng.randrange(1, 12)].encode())
            if rng.random() < 0.7:
                parts.append(rng.choice(bad))
            if rng.random() < 0.2:
                parts.append(rng.randbytes(rng.randrange(1, 6)))
        docs.append(b"".join(parts))
    return docs
