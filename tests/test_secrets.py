from __future__ import annotations

import json
import threading
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote, unquote

import pytest

from fathom.safety.address import check_address
from fathom.safety.secrets import (
    hide_in_address,
    hide_in_command,
    hide_in_text,
    hide_secrets,
    redact,
    remember,
    remember_command,
)
from fathom.types import FathomError, Json


@pytest.mark.parametrize(
    ("setting", "shown"),
    [
        ({"api_key": "abc"}, {"api_key": "***"}),
        ({"a": [{"b": {"token": "x"}}]}, {"a": [{"b": {"token": "***"}}]}),
        ({"a": [["Authorization", "x"], ["size", "y"]]}, {"a": [["Authorization", "***"], ["size", "y"]]}),
        ({"a": [{"name": "X-Api-Key", "value": "x"}]}, {"a": [{"name": "X-Api-Key", "value": "***"}]}),
        ({"a": ["Authorization: Bearer abc1"]}, {"a": ["Authorization: ***"]}),
        ({"a": "http://me:pw@host/v1?api_key=abc"}, {"a": "http://***@host/v1?api_key=***"}),
        ({"a": "sk-proj-0123456789abcdefgh"}, {"a": "***"}),
        ({"max_tokens": 5, "top_p": 0.5, "stop": None}, {"max_tokens": 5, "top_p": 0.5, "stop": None}),
        ({"a": "a basic understanding"}, {"a": "a basic understanding"}),
    ],
)
def test_settings_are_hidden_by_name_and_form(setting: dict[str, Json], shown: dict[str, Json]) -> None:
    assert hide_secrets(setting) == shown


def test_a_secret_is_found_by_its_value_in_every_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SERVICE_TOKEN", 'quoted"and/slashed')
    assert redact('say quoted"and/slashed') == "say ***"
    assert redact('{"say": "quoted\\"and/slashed"}') == '{"say": "***"}'
    assert redact("say?it=quoted%22and%2Fslashed") == "say?it=***"
    remember({"extra": [["password", "longer-than-that"]]}, "http://user:pass%20word@host/v1")
    assert redact("longer-than-that, pass%20word, pass word, dXNlcjpwYXNzIHdvcmQ=") == "***, ***, ***, ***"
    assert hide_in_text("Bearer abcdefgh1, x-api-key: abc") == "Bearer ***, x-api-key: ***"


def test_a_secret_is_found_however_it_is_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    key = "Zr3/Lw0+Xn5:Vb2=="
    monkeypatch.setenv("MY_SERVICE_TOKEN", key)
    data, once = key.encode(), quote(key, safe="")
    for encoded in (
        *(once, once.lower(), quote(once, safe=""), "".join(f"%{byte:02x}" for byte in data)),
        *("".join(form.format(ord(letter)) for letter in key) for form in ("\\u{:04x}", "\\\\u{:04X}", "\\x{:02x}")),
        *("".join(form.format(ord(letter)) for letter in key) for form in ("&#{};", "&#x{:X};")),
        *(key.replace("/", "\\/"), json.dumps(json.dumps({"a": key})), data.hex(), key.replace("=", "\\u003d")),
        *(b64encode(before + data + b"\n").decode() for before in (b"", b"u:", b"user:", b"Bearer ")),
        urlsafe_b64encode(b"x" + data).decode(),
    ):
        shown = redact(f"50% of C:\\dir <{encoded}> \\n %41")
        assert "***" in shown, encoded
        assert shown.startswith("50% of C:\\dir <")
        assert shown.endswith("> \\n %41")
        rest = unquote(unquote(shown)).replace("\\", "")
        assert not any(key[at : at + 4] in rest or b64encode(data)[at : at + 6].decode() in rest for at in range(12))
    for hostile in ("\\" * 50_000, "%25" * 20_000, "&#x0" * 20_000):
        assert redact(hostile) == hostile


def test_the_beginning_of_a_long_key_is_a_secret_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SERVICE_TOKEN", "q8Zr3Lw0Xn5Vb2Tc7Yd1")
    monkeypatch.setenv("SHORTER_TOKEN", "k1k2k3k4k5k6k7k8k9k")
    monkeypatch.setenv("WORDS_PASSWORD", "correct horse battery staple 1")
    assert redact("say 'q8Zr3Lw0Xn5V', q8Zr3Lw0Xn5Vb2Tc...") == "say '***', ***"
    assert redact("q8Zr3Lw0Xn5Vb2Tc7Yd1, then q8Zr3Lw0Xn5") == "***, then q8Zr3Lw0Xn5"
    assert redact("k1k2k3k4k5k6k7 and correct horse") == "k1k2k3k4k5k6k7 and correct horse"
    # As servers say which key was refused: with its first and last characters.
    assert hide_in_text("key provided: q8Zr*****d1. See docs, q8Zr3...Yd1") == "key provided: ***. See docs, ***"
    assert hide_in_text("three***stars and more... words") == "three***stars and more... words"


@pytest.mark.slow
def test_a_long_text_is_searched_in_a_time_that_grows_with_its_length() -> None:
    worker = threading.Thread(target=hide_in_text, args=("a." * 500_000,), daemon=True)
    worker.start()
    worker.join(60)  # the square of the length would take an hour
    assert not worker.is_alive()


def test_addresses_are_shown_bare() -> None:
    assert hide_in_address("https://me:secret@host:1/v1?k=v") == "https://host:1/v1?***"
    assert hide_in_address("http://[::1") == "***"
    assert hide_in_address(None) is None


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000/v1", "https://host", "http://[::1]:80/v1", "http://me:pw@h/"])
def test_addresses_of_servers(url: str) -> None:
    check_address(url)


@pytest.mark.parametrize(
    "url",
    [
        "", "localhost:8000", "127.0.0.1", "http://", "http://:80", "http://[::1", "http://h:99999", "http://h:x", "http://h:-1",
        "http://h:0", "ftp://h", "http://a b/", "http://h/\x00", "http://" + "a" * 300, "//h/v1", "http://..",
    ],
)  # fmt: skip
def test_what_is_no_address_is_told(url: str) -> None:
    with pytest.raises(FathomError, match=r"`model_base_url` .*; expected an address such as http://127\.0\.0\.1"):
        check_address(url)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("vllm serve m --api-key a1 b2 --port 80", "vllm serve m --api-key *** --port 80"),
        ("serve --max-num-batched-tokens 8192 --tokenizer /t", "serve --max-num-batched-tokens 8192 --tokenizer /t"),
        ("HF_TOKEN=abc serve --admin-api-key='a b'", "HF_TOKEN=*** serve --admin-api-key=***"),
        (
            "docker run -e HF_TOKEN=a -eMY_SECRET=b -e PORT=1 x",
            "docker run -e HF_TOKEN=*** -eMY_SECRET=*** -e PORT=1 x",
        ),
        (
            "docker run --env 'THE_PASSWORD=d e' --env=A_KEY=f x",
            "docker run --env 'THE_PASSWORD=***' --env=A_KEY=*** x",
        ),
        ("bash -c 'serve --api-key abc --port 80'", "bash -c 'serve --api-key *** --port 80'"),
        ("llama-server -hft abc \\\n  -c 5 --api-key-file /keys", "llama-server -hft *** -c 5 --api-key-file /keys"),
        ('serve --hf-overrides \'{"hf_token": "abc"}\'', "serve --hf-overrides '{\"hf_token\": ***}'"),
        ("serve -H 'Authorization: Bearer abc'", "serve -H 'Authorization: ***'"),
        ("serve -H 'Authorization: Bearer abcdefgh1'", "serve -H 'Authorization: ***'"),
        ("serve http://me:pw@host/ sk-proj-0123456789abcdefgh", "serve http://***@host/ ***"),
    ],
)
def test_command_lines_are_shown_without_keys(line: str, shown: str) -> None:
    assert hide_in_command(line) == shown
    assert hide_in_command(shown) == shown


def test_the_keys_of_a_command_line_are_known_afterwards() -> None:
    remember_command("MY_TOKEN='first of them' serve --api-key second-of-all 'third-of-all'")
    remember_command("serve -H 'Authorization: Bearer fourth-of-all'")
    assert redact("said second-of-all, third-of-all, fourth-of-all, serve") == "said ***, ***, ***, serve"


@pytest.mark.slow
@pytest.mark.parametrize("part", ["a.", "a-", "--key ", "token=", "'", "key=' "])
def test_a_long_command_line_is_searched_in_a_time_that_grows_with_its_length(part: str) -> None:
    worker = threading.Thread(target=hide_in_command, args=(part * 100_000,), daemon=True)
    worker.start()
    worker.join(60)
    assert not worker.is_alive()
