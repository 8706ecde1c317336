"""Where downloads are kept, and which folders have been trusted."""

import hashlib
import os

_chosen = None


def home():
    """The folder of everything that is kept: ``$WISP_HOME``, else ``~/.cache/wisp``."""
    cache = os.environ.get("XDG_CACHE_HOME", os.path.join("~", ".cache"))
    return os.path.expanduser(os.environ.get("WISP_HOME", os.path.join(cache, "wisp")))


def get_dir():
    """The folder of downloads: what set_dir() said, else ``$WISP_HOME/hub``, else ``~/.cache/wisp/hub``."""
    return os.path.join(home(), "hub") if _chosen is None else _chosen


def set_dir(d):
    """Sets the folder of downloads."""
    global _chosen
    _chosen = os.path.expanduser(os.fspath(d))


# --- trust


def contents_hash(folder):
    """A checksum of all files of a folder and their names; compiled files of Python's aside."""
    digest = hashlib.sha256()
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            path = os.path.join(place, name)
            with open(path, "rb") as file:
                contents = hashlib.file_digest(file, "sha256") if hasattr(hashlib, "file_digest") else _digest(file)
            digest.update(f"{os.path.relpath(path, folder)}\0{contents.hexdigest()}\n".encode())
    return digest.hexdigest()


def _digest(file):
    digest = hashlib.sha256()
    while chunk := file.read(1 << 20):
        digest.update(chunk)
    return digest


def _trusted_list():
    return os.path.join(get_dir(), "trusted_list")


def is_trusted(digest):
    try:
        with open(_trusted_list(), encoding="utf-8") as file:
            return any(line.split(" ")[0] == digest for line in file)
    except FileNotFoundError:
        return False


def trust(digest, name):
    """Remembers contents as trusted."""
    os.makedirs(get_dir(), exist_ok=True)
    with open(_trusted_list(), "a", encoding="utf-8") as file:
        file.write(f"{digest} {name}\n")


def check_trust(folder, name, trust_repo):
    """Fails unless the code in a folder may be run."""
    if trust_repo not in (True, False, None, "check"):
        raise ValueError(f"trust_repo must be True, False or 'check', got {trust_repo!r}")
    digest = contents_hash(folder)
    if trust_repo is not False and is_trusted(digest):
        return
    if trust_repo is not True:
        _ask(folder, name)
    if not is_trusted(digest):
        trust(digest, name)


def _ask(folder, name):
    question = (
        f"{name} is about to run code that has not been run here before; it is in {folder}. Do you trust it (y/N)? "
    )
    try:
        answer = input(question).strip().lower()
    except EOFError:
        raise RuntimeError(
            f"Untrusted repository: {name}. There is nobody to ask; pass trust_repo=True if you trust it"
        ) from None
    if answer in ("", "n", "no"):
        raise RuntimeError(f"Untrusted repository: {name}")
    if answer not in ("y", "yes"):
        raise ValueError(f"Unrecognized response {answer}.")
