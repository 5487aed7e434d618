"""Download of files from the KNMI Data Platform.

The Open Data API answers ``GET {base}/datasets/{name}/versions/{version}/files/{file}/url`` (key
in the ``Authorization`` header) with a JSON object whose ``temporaryDownloadUrl`` gives the file
without a key. Files appear under their final name only when complete; each is recorded with size
and SHA-256 in ``manifest.json``, so that a later call goes on where an earlier one stopped.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from urllib.parse import quote

from slowlab.io import atomic_write_bytes, atomic_write_text
from slowlab.weather.series import WeatherError

BASE_URL = "https://api.dataplatform.knmi.nl/open-data/v1"
KEY_VARIABLE = "KNMI_API_KEY"
MANIFEST = "manifest.json"
_NETCDF_MAGIC = (b"\x89HDF", b"CDF\x01", b"CDF\x02")
_LONGEST_WAIT_S = 300.0


class DownloadError(WeatherError):
    """A file could not be fetched; the message says which and why."""


class _Again(Exception):
    """A failure that may pass; ``wait_s`` is what the server asked for, if anything."""

    def __init__(self, reason: str, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


def quiet(line: str) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class Downloader:
    """Fetches files of one platform into one folder.

    Attributes:
        folder: where files and manifest go.
        api_key: sent only to the platform itself, never to the address of a file.
        base_url: address of the Open Data API.
        attempts: tries for each file before giving up.
        first_wait_s: pause after the first failure; doubled after each further one.
        timeout_s: longest silence of the server.
        sleep: how to pause; replaced in tests.
    """

    folder: Path
    api_key: str = field(repr=False)
    base_url: str = BASE_URL
    attempts: int = 6
    first_wait_s: float = 1.0
    timeout_s: float = 60.0
    sleep: Callable[[float], None] = time.sleep

    def fetch(
        self,
        dataset: str,
        version: str,
        names: Iterable[str],
        report: Callable[[str], None] = quiet,
    ) -> dict[str, str]:
        """Fetch the files that are not there yet and return name -> SHA-256.

        Files already recorded in the manifest are hashed again; changed ones are fetched anew.

        Args:
            dataset: name of the dataset on the platform.
            version: its version, e.g. ``v1.0``.
            names: file names.
            report: called with one line a file.

        Raises:
            DownloadError: the key is refused, a file does not exist, or all attempts failed.
        """
        hashes = {}
        for name in names:
            recorded = read_manifest(self.folder).get(name)
            if recorded and _matches(self.folder / name, recorded):
                report(f"{name}: present")
            else:
                recorded = self._fetch_one(dataset, version, name)
                report(f"{name}: {recorded['bytes']} bytes")
            hashes[name] = str(recorded["sha256"])
        return hashes

    def _fetch_one(self, dataset: str, version: str, name: str) -> dict[str, str | int]:
        parts = [quote(part, safe="") for part in (dataset, version, name)]
        address = "{}/datasets/{}/versions/{}/files/{}/url".format(
            self.base_url.rstrip("/"), *parts
        )
        content = self._with_retries(name, lambda: self._file_content(address))
        atomic_write_bytes(self.folder / name, content)
        entry = {
            "bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
            "dataset": dataset,
            "version": version,
        }
        manifest = read_manifest(self.folder) | {name: entry}
        text = json.dumps(manifest, indent=1, sort_keys=True) + "\n"
        atomic_write_text(self.folder / MANIFEST, text)
        return entry

    def _with_retries(self, name: str, action: Callable[[], bytes]) -> bytes:
        wait_s, reason = self.first_wait_s, ""
        for attempt in range(self.attempts):
            try:
                return action()
            except _Again as failure:
                reason = str(failure)
                asked = failure.wait_s if failure.wait_s is not None else wait_s
                if attempt + 1 < self.attempts:
                    self.sleep(min(asked, _LONGEST_WAIT_S))
                wait_s *= 2.0
            except DownloadError as failure:
                raise DownloadError(f"{name}: {failure}") from failure
        raise DownloadError(f"{name}: {self.attempts} attempts failed; the last: {reason}")

    def _file_content(self, address: str) -> bytes:
        answer, _ = self._get(address, with_key=True)
        url, n_bytes = _download_url(answer)
        content, headers = self._get(url, with_key=False)
        _check_content(content, headers, n_bytes)
        return content

    def _get(self, address: str, *, with_key: bool) -> tuple[bytes, HTTPMessage]:
        """One GET; what may pass becomes ``_Again``, the rest ``DownloadError``."""
        request = urllib.request.Request(address)
        if with_key:  # never sent on to where the platform may redirect
            request.add_unredirected_header("Authorization", self.api_key)
        try:
            with urllib.request.urlopen(request, timeout=self.timeout_s) as response:
                return response.read(), response.headers
        except urllib.error.HTTPError as error:
            with error:
                raise _from_status(error, with_key) from error
        except (OSError, HTTPException) as error:
            raise _Again(f"no complete answer: {error!r}") from error


def key_from_environment() -> str:
    """The API key in the environment.

    Raises:
        DownloadError: the variable is not set.
    """
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not key:
        raise DownloadError(
            f"set {KEY_VARIABLE} to an API key of the KNMI Data Platform (Open Data API)"
        )
    return key


def read_manifest(folder: Path) -> dict[str, dict[str, str | int]]:
    """Entries of the folder's manifest by file name; empty if there is none.

    Raises:
        DownloadError: the manifest is not what this module writes.
    """
    path = folder / MANIFEST
    if not path.exists():
        return {}
    try:
        manifest = json.loads(path.read_text("utf-8"))
        if not all("sha256" in entry for entry in manifest.values()):
            raise ValueError("an entry has no sha256")
    except (ValueError, AttributeError, TypeError) as error:
        raise DownloadError(f"{MANIFEST} is damaged ({error}); delete it to start anew") from error
    return manifest


def check_hashes(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """SHA-256 of the files, compared with the folder's manifest where it lists them.

    Raises:
        WeatherError: a file differs from its entry in the manifest.
    """
    manifest, hashes = read_manifest(folder), {}
    for name in names:
        hashes[name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        if name in manifest and manifest[name]["sha256"] != hashes[name]:
            raise WeatherError(f"{name} is not the file that was downloaded (its SHA-256 differs)")
    return hashes


def _matches(path: Path, recorded: Mapping[str, str | int]) -> bool:
    if not path.is_file():
        return False
    return hashlib.sha256(path.read_bytes()).hexdigest() == recorded["sha256"]


def _download_url(answer: bytes) -> tuple[str, int | None]:
    """Temporary address of the file and its size, if the platform says it."""
    try:
        content = json.loads(answer)
        url, size = content["temporaryDownloadUrl"], content.get("size")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _Again(f"no download address in the answer {answer[:60]!r}") from error
    if not isinstance(url, str) or not url.startswith(("https://", "http://")):
        raise _Again(f"download address {url!r} is not a web address")
    return url, int(size) if str(size).isdigit() else None


def _check_content(content: bytes, headers: HTTPMessage, n_bytes: int | None) -> None:
    """Refuse a body that is cut or is not NetCDF; both may pass at the next attempt."""
    if n_bytes is not None and n_bytes != len(content):
        raise _Again(f"{len(content)} of {n_bytes} bytes arrived")
    if not content.startswith(_NETCDF_MAGIC):
        kind = headers.get_content_type()
        raise _Again(f"the answer is not NetCDF but {kind}, beginning {content[:40]!r}")


def _from_status(error: urllib.error.HTTPError, with_key: bool) -> Exception:
    if not with_key and 400 <= error.code < 500:
        return _Again(f"HTTP {error.code} at the temporary address")
    if error.code in (401, 403):
        said = error.read(200).decode("utf-8", "replace").strip()
        return DownloadError(f"the platform refuses the request (HTTP {error.code}): {said}")
    if error.code == 404:
        return DownloadError("the platform does not have this file (HTTP 404)")
    if error.code in (408, 425, 429) or error.code >= 500:
        return _Again(f"HTTP {error.code}", _retry_after_s(error.headers.get("Retry-After")))
    return DownloadError(f"unexpected answer HTTP {error.code}")


def _retry_after_s(text: str | None) -> float | None:
    """Seconds to wait from a Retry-After header, a number or a date."""
    if text is None:
        return None
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError):
        return None
