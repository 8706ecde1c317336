"""Files by URL, and archives taken apart."""

import hashlib
import os
import stat
import sys
import tempfile

_CHUNK = 1 << 20
_PATIENCE = 30  # seconds without a sign of life
_LARGEST = 8 << 30  # bytes of what is in an archive
_MOST = 200_000  # members of an archive


def download_url_to_file(url, dst, hash_prefix=None, progress=True):
    """Downloads to a path, which is written only when all has arrived and the checksum is right.

    Args:
        url: http, https or file.
        dst: the path.
        hash_prefix: what the SHA-256 of the contents has to begin with, if given.
        progress: whether to show how far it is, in a terminal.
    """
    from urllib.request import Request, urlopen

    dst = os.path.expanduser(os.fspath(dst))
    if not url.lower().startswith(("http://", "https://", "file://")):
        raise ValueError(f"download_url_to_file(): expected a URL of http, https or file, got {url!r}")
    descriptor, aside = tempfile.mkstemp(dir=os.path.dirname(dst) or ".", prefix=".download-")
    try:
        with (
            open(descriptor, "wb") as file,
            urlopen(Request(url, headers={"User-Agent": "wisp.hub"}), timeout=_PATIENCE) as source,
        ):
            digest = _copy(source, file, progress)
        if hash_prefix is not None and not digest.startswith(hash_prefix.lower()):
            raise RuntimeError(
                f'invalid hash value (expected "{hash_prefix}", got "{digest[: len(hash_prefix)]}") of {url}'
            )
        os.chmod(aside, 0o644)
        os.replace(aside, dst)
    finally:
        if os.path.exists(aside):
            os.unlink(aside)


def _copy(source, file, progress):
    """Copies all; returns the SHA-256 of it."""
    total = int(source.headers.get("Content-Length") or 0)
    digest, done, shown = hashlib.sha256(), 0, progress and sys.stderr is not None and sys.stderr.isatty()
    while chunk := source.read(_CHUNK):
        file.write(chunk)
        digest.update(chunk)
        done += len(chunk)
        if shown:
            print(
                f"\r{done / 1e6:.1f} of {total / 1e6:.1f} MB" if total else f"\r{done / 1e6:.1f} MB",
                end="",
                file=sys.stderr,
            )
    if shown:
        print(file=sys.stderr)
    if total and done != total:
        raise RuntimeError(f"the download ended after {done} of {total} bytes")
    return digest.hexdigest()


# --- archives


def unpack(archive, folder):
    """Takes a zip or tar archive apart. Members that would leave the folder, and links and devices, are refused."""
    import tarfile
    import zipfile

    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            members = [(info.filename, info.is_dir(), info.file_size, info) for info in opened.infolist()]
            if any(stat.S_ISLNK(info.external_attr >> 16) for info in opened.infolist()):
                raise RuntimeError(f"{archive} is refused: it contains links")
            _unpack(members, opened.open, archive, folder)
    elif tarfile.is_tarfile(archive):
        with tarfile.open(archive) as opened:
            members = [(info.name, info.isdir(), info.size, info) for info in opened]
            if not all(info.isfile() or info.isdir() for info in (member[3] for member in members)):
                raise RuntimeError(f"{archive} is refused: it contains links or devices")
            _unpack(members, opened.extractfile, archive, folder)
    else:
        raise RuntimeError(f"{archive} is neither a zip nor a tar archive")


def _unpack(members, open_member, archive, folder):
    if len(members) > _MOST or sum(size for _, _, size, _ in members) > _LARGEST:
        raise RuntimeError(f"{archive} is refused: its contents are too large")
    for name, is_folder, size, info in members:
        path = _inside(folder, name, archive)
        os.makedirs(path if is_folder else os.path.dirname(path), exist_ok=True)
        if not is_folder:
            with open(path, "xb") as file, open_member(info) as source:
                _copy_exactly(source, file, size, archive)


def _inside(folder, name, archive):
    """The place of a member, which has to be inside the folder."""
    parts = name.replace("\\", "/").split("/")
    if name.startswith("/") or ".." in parts or ":" in parts[0] or "\0" in name:
        raise RuntimeError(f"{archive} is refused: its member {name!r} would leave the folder")
    return os.path.join(folder, *(part for part in parts if part not in ("", ".")))


def _copy_exactly(source, file, size, archive):
    """Copies a member; what is longer than it said is a trap."""
    done = 0
    while chunk := source.read(_CHUNK):
        done += len(chunk)
        if done > size:
            raise RuntimeError(f"{archive} is refused: a member is larger than it says")
        file.write(chunk)
