"""Check a lock of SlowLab against a checkout. Needs Python alone: ``check_lock.py REPOSITORY``.

Prints the id of the lock and every locked file that is missing or differs, and ends with code 1 if
there is one.
"""

import hashlib
import json
import sys
from pathlib import Path


def canonical_id(manifest):
    """SHA-256 of the canonical JSON of a manifest."""
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def content_hash(path):
    """SHA-256 of a file; text with CRLF read as LF."""
    content = path.read_bytes()
    try:
        if b"\0" not in content and content.decode("utf-8"):
            content = content.replace(b"\r\n", b"\n")
    except UnicodeDecodeError:
        pass
    return hashlib.sha256(content).hexdigest()


def problems(root):
    """What does not fit: the chain of amendments first, then every file."""
    folder = root / "preregistration"
    lock = json.loads((folder / "lock.json").read_bytes())
    last = None
    for place in sorted((folder / "amendments").glob("[0-9]*"))[: lock["amendment"]]:
        before, after = (
            json.loads((place / f"{n}.json").read_bytes()) for n in ("before", "after")
        )
        if after["parent"] != canonical_id(before) or last not in (None, canonical_id(before)):
            yield f"{place}: does not amend the lock before it"
        last = canonical_id(after)
    if last not in (None, canonical_id(lock)) or (last is None) != (lock["parent"] is None):
        yield "lock.json: is not the last amendment"
    for name, locked in lock["files"].items():
        if not (root / name).is_file():
            yield f"{name}: missing"
        elif content_hash(root / name) != locked:
            yield f"{name}: changed"


if __name__ == "__main__":
    repository = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    held = json.loads((repository / "preregistration" / "lock.json").read_bytes())
    print(f"lock {canonical_id(held)}, study {held['study']}, {len(held['files'])} files")
    found = list(problems(repository))
    print("\n".join(found) or "everything is as it was locked")
    sys.exit(1 if found else 0)
