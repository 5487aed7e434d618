import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from slowlab.weather.cabauw import fetch_cabauw_years, files_needed
from slowlab.weather.download import (
    Downloader,
    DownloadError,
    check_hashes,
    key_from_environment,
    read_manifest,
)
from slowlab.weather.series import WeatherError

KEY = "secret-key"
DATASET, VERSION = "cesar_surface_meteo_lc1_t10", "v1.0"
NAME = "cesar_surface_meteo_lc1_t10_v1.0_201501.nc"


def body_of(name):
    return b"\x89HDF\r\n\x1a\n" + hashlib.sha256(name.encode()).digest() * 40


class Platform(BaseHTTPRequestHandler):
    """The Open Data API, misbehaving as its server's script says, one entry a request."""

    def do_GET(self):
        kind = "url" if self.path.endswith("/url") else "file"
        self.server.seen.append((kind, self.path, self.headers.get("Authorization")))
        script = self.server.scripts[kind]
        action = script.pop(0) if script else self.normal
        action(self)

    def normal(self, _=None):
        name = self.path.removesuffix("/url").rsplit("/", 1)[-1]
        if self.path.endswith("/url"):
            answer = {
                "contentType": "application/netcdf",
                "size": str(len(body_of(name))),
                "temporaryDownloadUrl": f"{self.server.address}/temporary/{name}",
            }
            self.reply(200, json.dumps(answer).encode(), "application/json")
        else:
            self.reply(200, body_of(name), "application/netcdf")

    def reply(self, status, body, kind="text/plain", length=None, **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def platform():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Platform)
    server.address = f"http://127.0.0.1:{server.server_address[1]}"
    server.seen, server.scripts = [], {"url": [], "file": []}
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def waits():
    return []


@pytest.fixture
def downloader(platform, tmp_path, waits):
    return Downloader(
        tmp_path / "cabauw", KEY, platform.address, attempts=4, timeout_s=5.0, sleep=waits.append
    )


def fetch(downloader, *names):
    return downloader.fetch(DATASET, VERSION, names or (NAME,))


def test_a_file_is_fetched_and_recorded(platform, downloader, waits):
    expected = hashlib.sha256(body_of(NAME)).hexdigest()
    assert fetch(downloader) == {NAME: expected}
    assert (downloader.folder / NAME).read_bytes() == body_of(NAME)
    entry = read_manifest(downloader.folder)[NAME]
    assert entry == {
        "bytes": len(body_of(NAME)),
        "sha256": expected,
        "dataset": DATASET,
        "version": VERSION,
    }
    assert platform.seen[0][1] == f"/datasets/{DATASET}/versions/{VERSION}/files/{NAME}/url"
    assert waits == []


def test_the_key_goes_to_the_platform_only(platform, downloader):
    fetch(downloader)
    assert [(kind, key) for kind, _, key in platform.seen] == [("url", KEY), ("file", None)]
    assert KEY not in repr(downloader)


def test_the_key_does_not_follow_a_redirect(platform, downloader):
    elsewhere = f"{platform.address}/elsewhere/{NAME}/url"
    platform.scripts["url"] = [lambda h: h.reply(302, b"", Location=elsewhere)]
    fetch(downloader)
    assert platform.seen[1] == ("url", f"/elsewhere/{NAME}/url", None)


def test_a_second_call_fetches_only_what_is_missing_or_changed(platform, downloader):
    names = ["a.nc", "b.nc", "c.nc"]
    fetch(downloader, *names[:2])
    (downloader.folder / "b.nc").write_bytes(b"\x89HDF changed")
    platform.seen.clear()
    lines = []
    downloader.fetch(DATASET, VERSION, names, lines.append)
    assert [path.rsplit("/", 1)[-1] for kind, path, _ in platform.seen if kind == "file"] == names[
        1:
    ]
    assert lines[0] == "a.nc: present"
    assert check_hashes(downloader.folder, names)


def too_many(handler):
    handler.reply(429, b"slow down", Retry_After="17")


def too_many_until(handler):
    handler.reply(429, b"slow down", Retry_After="Fri, 31 Dec 2100 23:59:59 GMT")


def broken(handler):
    handler.reply(503, b"broken")


def truncated(handler):
    body = body_of(NAME)
    handler.reply(200, body[:100], "application/netcdf", length=len(body))


def wrong_length(handler):
    body = body_of(NAME)
    handler.reply(200, body, "application/netcdf", length=len(body) - 50)


def html(handler):
    handler.reply(200, b"<html><body>Maintenance</body></html>", "text/html")


def empty(handler):
    handler.reply(200, b"", "application/netcdf")


def expired(handler):
    handler.reply(403, b"Request has expired")


def hang_up(handler):
    handler.close_connection = True


@pytest.mark.parametrize(
    ("where", "failure"),
    [
        ("file", truncated),
        ("file", wrong_length),
        ("file", html),
        ("file", empty),
        ("file", expired),
        ("file", hang_up),
        ("file", broken),
        ("url", broken),
        ("url", html),
        ("url", hang_up),
        ("url", lambda h: h.reply(200, b'{"temporaryDownloadUrl": 5}', "application/json")),
        ("url", lambda h: h.reply(200, b'{"temporaryDownloadUrl": "file:///etc/passwd"}')),
        ("url", lambda h: h.reply(200, b"[]", "application/json")),
    ],
)
def test_what_may_pass_is_tried_again(platform, downloader, waits, where, failure):
    platform.scripts[where] = [failure, failure]
    fetch(downloader)
    assert (downloader.folder / NAME).read_bytes() == body_of(NAME)
    assert waits == [1.0, 2.0]


def test_the_server_says_how_long_to_wait(platform, downloader, waits):
    platform.scripts["url"] = [too_many, too_many_until]
    fetch(downloader)
    assert waits == [17.0, 300.0]


@pytest.mark.parametrize("failure", [truncated, html, broken])
def test_after_all_attempts_nothing_is_left_behind(platform, downloader, waits, failure):
    platform.scripts["file"] = [failure] * 9
    with pytest.raises(DownloadError, match=rf"{NAME}: 4 attempts failed; the last: "):
        fetch(downloader)
    assert len(waits) == 3
    assert not list(downloader.folder.glob("*"))


def test_a_failure_keeps_the_files_before_it(platform, downloader):
    normal = Platform.normal
    platform.scripts["url"] = [normal, lambda h: h.reply(404, b"no such file")]
    with pytest.raises(DownloadError, match=r"b\.nc: the platform does not have this file"):
        fetch(downloader, "a.nc", "b.nc", "c.nc")
    assert sorted(path.name for path in downloader.folder.iterdir()) == ["a.nc", "manifest.json"]
    fetch(downloader, "a.nc", "b.nc", "c.nc")
    assert set(read_manifest(downloader.folder)) == {"a.nc", "b.nc", "c.nc"}


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (401, "refuses the request .HTTP 401.: no, sorry"),
        (403, "refuses the request .HTTP 403."),
        (404, "does not have this file"),
        (400, "unexpected answer HTTP 400"),
    ],
)
def test_what_will_not_pass_is_said_at_once(platform, downloader, waits, status, reason):
    platform.scripts["url"] = [lambda h: h.reply(status, b"no, sorry")]
    with pytest.raises(DownloadError, match=reason) as raised:
        fetch(downloader)
    assert waits == []
    assert KEY not in str(raised.value)


def test_a_server_that_is_not_there(tmp_path, waits):
    downloader = Downloader(
        tmp_path, KEY, "http://127.0.0.1:9", attempts=2, timeout_s=2.0, sleep=waits.append
    )
    with pytest.raises(DownloadError, match=r"2 attempts failed; the last: no complete answer"):
        fetch(downloader)


def test_a_damaged_manifest_is_said(downloader):
    downloader.folder.mkdir()
    (downloader.folder / "manifest.json").write_text('{"a.nc": {"bytes"')
    with pytest.raises(WeatherError, match=r"manifest.json is damaged"):
        fetch(downloader)


def test_the_key_is_taken_from_the_environment(monkeypatch):
    monkeypatch.setenv("KNMI_API_KEY", f" {KEY}\n")
    assert key_from_environment() == KEY
    monkeypatch.setenv("KNMI_API_KEY", "")
    with pytest.raises(DownloadError, match=r"set KNMI_API_KEY"):
        key_from_environment()


def test_the_files_of_two_years_share_a_december(downloader):
    hashes = fetch_cabauw_years(downloader, [2014, 2015])
    assert set(hashes) == set(files_needed(2014)) | set(files_needed(2015))
    assert len(hashes) == 50
