"""What comes in stays data: text is escaped where it goes out, and servers are not trusted blindly.

That no code of ours runs data or skips a check is for the linter (rules S of ruff).
"""

from __future__ import annotations

import html
import re
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from qrt.text.formats import escape_latex, escape_markdown, to_latex, to_markdown
from qrt_study.data.download import TransferSettings, download, refuse_error_status
from qrt_study.data.openml_source import _kinds
from qrt_study.data.raw_table import SourceUnavailable
from support.hostile_words import quick, words

LATEX_COMMANDS = re.compile(r"\\(textbackslash|textasciitilde|textasciicircum|textless|textgreater)\{\}|\\[&%$#_{}]")


@quick
@given(words)
def test_no_special_character_of_latex_survives(text: str) -> None:
    escaped = escape_latex(text)
    assert not set(LATEX_COMMANDS.sub("", escaped)) & set("\\&%$#_{}~^\n\r")
    assert "\n" not in escaped


@quick
@given(words)
def test_no_markup_and_no_html_survive_in_markdown(text: str) -> None:
    escaped = escape_markdown(text)
    assert not set(re.sub(r"\\[\\`*_\[\]|#~]", "", escaped)) & set("\\`*_[]|#~<>\n\r")
    assert not re.search(r"&(?!amp;|lt;|gt;)", escaped)
    assert html.unescape(re.sub(r"\\([\\`*_\[\]|#~])", r"\1", escaped)) == " ".join(text.split())


@quick
@given(st.lists(st.tuples(words, words), min_size=1, max_size=3), words)
def test_table_keeps_its_shape_whatever_its_cells_hold(cells: list[tuple[str, str]], caption: str) -> None:
    table = pd.DataFrame(cells, columns=["a", "b"], dtype=object)
    rows = to_markdown(table, caption).splitlines()[2:]
    assert len(rows) == len(cells) + 2
    assert all(len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) == 3 for row in rows)
    body = to_latex(table, caption, "table:x").splitlines()[6:-1]
    assert len(body) == len(cells)
    assert all(len(re.findall(r"(?<!\\)&", row)) == 1 for row in body)


LAUGHS = """<?xml version="1.0"?><!DOCTYPE lol [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<oml:data_features xmlns:oml="http://openml.org/openml">&b;</oml:data_features>"""


def test_answer_of_a_server_that_defines_entities_is_refused() -> None:
    calls = SimpleNamespace(_perform_api_call=lambda *_: LAUGHS)
    client: Any = SimpleNamespace(_api_calls=calls, exceptions=SimpleNamespace(OpenMLServerException=KeyError))
    with pytest.raises(ValueError, match="defines entities"):
        _kinds(client, 1)


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for the loopback address that nobody vouches for, with its key."""
    path, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    )
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    subprocess.run([*command.split(), "-out", str(path), "-keyout", str(key)], check=True, capture_output=True)
    path.write_text(path.read_text() + key.read_text())
    return path


@pytest.fixture
def encrypted_server(certificate: Path) -> Iterator[str]:
    """The address of a server that speaks TLS with that certificate."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "4")
            self.end_headers()
            self.wfile.write(b"1,2\n")

        def log_message(self, *_: Any) -> None:
            """Nothing to the terminal."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"https://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


ONCE = TransferSettings(attempts=1, connect_seconds=5, read_seconds=5)


def test_server_that_nobody_vouches_for_is_refused(encrypted_server: str, tmp_path: Path) -> None:
    with pytest.raises(SourceUnavailable, match="certificate verify failed"):
        download(f"{encrypted_server}/data", tmp_path / "file", tmp_path / "slots", ONCE)
    assert not (tmp_path / "file").exists()


def test_way_from_https_to_http_is_not_followed_unseen(
    encrypted_server: str, certificate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    assert download(f"{encrypted_server}/data", tmp_path / "file", tmp_path / "slots", ONCE).size == 4
    answer = requests.Response()
    answer.status_code, answer.url = 200, "http://127.0.0.1:9/data"
    with pytest.raises(SourceUnavailable, match="not https"):
        refuse_error_status(f"{encrypted_server}/data", answer)
