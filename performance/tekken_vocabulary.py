"""Writes the vocabulary of the default tokenizer, tekken, as fathom packages it, from that of mistral-common.

python performance/tekken_vocabulary.py            # src/fathom/tokens/tekken.zst
python performance/tekken_vocabulary.py --check    # exit status 1 if the packaged one has other tokens
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import zstandard

OUT = Path(__file__).parents[1] / "src" / "fathom" / "tokens" / "tekken.zst"
SOURCE = "tekken_240911.json"


def packed() -> bytes:
    """One line of JSON, the length of each token in a byte, then all tokens; in the order of their ranks."""
    content = (files("mistral_common") / "data" / SOURCE).read_bytes()
    model = json.loads(content)
    config = model["config"]
    ordinary = model["vocab"][: config["default_vocab_size"] - config["default_num_special_tokens"]]
    assert [entry["rank"] for entry in ordinary] == list(range(len(ordinary)))
    tokens = [base64.b64decode(entry["token_bytes"]) for entry in ordinary]
    header = {
        "source": f"{SOURCE} of mistral-common {version('mistral-common')}, without its special tokens and as bytes",
        "address": "https://github.com/mistralai/mistral-common",
        "licence": "Apache-2.0",
        "copyright": "Copyright 2024 Mistral AI",
        "sha256": hashlib.sha256(content).hexdigest(),
        "tokens": len(tokens),
        "pattern": config["pattern"],
    }
    return b"\n".join([json.dumps(header).encode(), bytes(map(len, tokens)) + b"".join(tokens)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    content = packed()
    if parser.parse_args().check:
        present = zstandard.decompress(OUT.read_bytes())
        raise SystemExit(0 if present.partition(b"\n")[2] == content.partition(b"\n")[2] else f"{OUT} differs")
    OUT.write_bytes(zstandard.ZstdCompressor(level=22, write_checksum=True).compress(content))
    print(f"{OUT}: {OUT.stat().st_size:,} bytes of {len(content):,}")


if __name__ == "__main__":
    main()
