"""Downloads from a host on this machine that behaves, and from one that does not."""

import hashlib
import os
import stat
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from companion.data import registry
from companion.data.registry import DataFile, MissingDataError

CONTENT = bytes(range(256)) * 1_000
SHA = hashlib.sha256(CONTENT).hexdigest()


class Host(BaseHTTPRequestHandler):
    """Answers each request by the next word of a script, and by the last one for ever."""

    def do_GET(self):
        server = self.server
        server.asked.append(dict(self.headers))
        word = server.script.pop(0) if len(server.script) > 1 else server.script[0]
        body, start, status = CONTENT, 0, 200
        if "Range" in self.headers and word != "forgets":
            start, status = int(self.headers["Range"].removeprefix("bytes=").rstrip("-")), 206
        if word == "redirects" and self.path == "/file":
            self.send_response(302)
            self.send_header("Location", "/unsafe")
            self.end_headers()
            return
        if word == "gone":
            self.send_error(404)
            return
        body = {"larger": CONTENT + b"!", "other": CONTENT[::-1]}.get(word, body)[start:]
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if word == "stalls":
            self.wfile.write(body[:1_000])
            self.wfile.flush()
            time.sleep(0.6)
            return
        self.wfile.write(body[:100_000] if word == "cuts" else body)

    def log_message(self, *given):
        pass


@pytest.fixture
def host(tmp_path, monkeypatch):
    """A function of a script that starts a host for one data set of one file."""
    servers = []

    def started(*script):
        server = ThreadingHTTPServer(("127.0.0.1", 0), Host)
        server.script, server.asked = list(script), []
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        address = f"http://127.0.0.1:{server.server_port}/"
        monkeypatch.setattr(registry, "_is_safe", lambda url: url.startswith(f"{address}file"))
        file = DataFile("sub/file.bin", SHA, f"{address}file", len(CONTENT))
        monkeypatch.setattr(registry, "DATA", {"bytes": (file,)})
        return server

    monkeypatch.setenv("MI_DATA", str(tmp_path))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(registry.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(registry, "SECONDS", 5)
    yield started
    for server in servers:
        server.shutdown()
        server.server_close()


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_download_is_whole_and_for_everybody_who_may_read_the_folder(host, tmp_path):
    server = host("whole")
    (path,) = registry.fetch("bytes")
    assert path == tmp_path / "sub" / "file.bin" and path.read_bytes() == CONTENT
    assert names_in(path.parent) == ["file.bin"] and stat.S_IMODE(path.stat().st_mode) == 0o644
    assert [one["Accept-Encoding"] for one in server.asked] == ["identity"]


def test_a_file_that_is_there_is_not_fetched_again_and_never_replaced(host):
    server = host("whole")
    (path,) = registry.fetch("bytes")
    registry.fetch("bytes")
    assert len(server.asked) == 1
    path.write_text("mine, and longer")
    with pytest.raises(ValueError, match="it is cut or another version"):
        registry.fetch("bytes")
    assert len(server.asked) == 1 and path.read_text() == "mine, and longer"


def test_a_cut_download_goes_on_where_it_ended(host):
    server = host("cuts", "whole")
    (path,) = registry.fetch("bytes")
    assert path.read_bytes() == CONTENT
    assert [one.get("Range") for one in server.asked] == [None, f"bytes={registry.PIECE}-"]


def test_a_host_that_cannot_go_on_begins_anew(host):
    server = host("cuts", "forgets")
    assert registry.fetch("bytes")[0].read_bytes() == CONTENT
    assert len(server.asked) == 2


def test_a_host_that_says_nothing_is_given_up(host, monkeypatch, tmp_path):
    monkeypatch.setattr(registry, "SECONDS", 0.1)
    monkeypatch.setattr(registry.time, "sleep", lambda seconds: None)
    server = host("stalls")
    began = time.monotonic()
    with pytest.raises(OSError, match="could not be fetched: .*try again, or set MI_DATA"):
        registry.fetch("bytes")
    assert len(server.asked) == registry.TRIES and time.monotonic() - began < 10
    assert names_in(tmp_path / "sub") == []


@pytest.mark.parametrize(
    ("word", "complaint", "asked"),
    [
        ("larger", r"gives more than the 256,000 bytes that sub/file.bin has", 1),
        ("redirects", "leads to .*unsafe, which is not https; not fetched", 2),
        ("other", f"SHA-256 .* instead of {SHA[:12]}.*try again, or set MI_DATA", 3),
        ("gone", "404.*try again, or set MI_DATA to a folder that holds sub/file.bin", 3),
    ],
)
def test_what_is_not_the_file_leaves_nothing_and_says_why(host, tmp_path, word, complaint, asked):
    server = host(word)
    with pytest.raises((ValueError, OSError), match=complaint):
        registry.fetch("bytes")
    assert len(server.asked) == asked and names_in(tmp_path / "sub") == []


def test_another_file_is_not_gone_on_with(host):
    """Bytes with a wrong hash are thrown away, so that the next try begins at the first one."""
    server = host("other", "whole")
    assert registry.fetch("bytes")[0].read_bytes() == CONTENT
    assert "Range" not in server.asked[1]


def test_without_a_network_it_says_what_to_do(host, tmp_path):
    server = host("whole")
    server.shutdown()
    server.server_close()
    with pytest.raises(OSError, match="could not be fetched: .*try again, or set MI_DATA"):
        registry.fetch("bytes")
    assert names_in(tmp_path / "sub") == []


def test_two_processes_do_not_write_to_one_temporary_file(host, monkeypatch):
    host("whole")
    seen = []
    real = registry._go_on
    monkeypatch.setattr(registry, "_go_on", lambda f, part: seen.append(part) or real(f, part))
    registry.fetch("bytes")
    assert str(os.getpid()) in seen[0].name


@pytest.mark.parametrize("terminal", [True, False])
def test_a_bar_is_drawn_on_a_terminal_alone(host, monkeypatch, capsys, terminal):
    host("whole")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    registry.fetch("bytes")
    assert ("B/s" in capsys.readouterr().err) == terminal


def test_what_is_offered_has_an_address_of_https_a_hash_and_a_size():
    with pytest.raises(ValueError, match="http://example.org/a is not an address of https"):
        DataFile("a", SHA, "http://example.org/a", 3)
    for sha, size in (("", 3), ("abc", 3), (SHA, 0)):
        with pytest.raises(ValueError, match="no SHA-256 or no size"):
            DataFile("a", sha, "https://example.org/a", size)
    offered = [file for files in registry.DATA.values() for file in files]
    assert all(len(file.sha256) == 64 for file in offered)
    assert sum(bool(file.url) for file in offered) == 5


def test_what_has_no_address_is_not_fetched(monkeypatch, tmp_path):
    monkeypatch.setenv("MI_DATA", str(tmp_path))
    with pytest.raises(MissingDataError, match=r"imdb_bert.npz has no address .*build-imdb"):
        registry.fetch("imdb")
    assert names_in(tmp_path) == []
