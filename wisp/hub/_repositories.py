"""Repositories as folders on this machine, and the functions in them."""

import os
import re
import shutil
import sys
import tempfile
from contextlib import contextmanager

from wisp.hub._download import download_url_to_file, unpack
from wisp.hub._folders import check_trust, get_dir

_GITHUB = "https://github.com"
_CONFIG = "hubconf.py"


def fetched(repository, source, force_reload, verbose, trust_repo):
    """The folder of a repository, downloaded if need be, and trusted."""
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    repository = os.fspath(repository)
    if source == "local":
        folder = os.path.realpath(os.path.expanduser(repository))
        if trust_repo is False:
            check_trust(folder, repository, False)
        return folder
    if re.match(r"(https?|file)://", repository, re.IGNORECASE):
        folder = _archive(repository, force_reload, verbose)
    else:
        folder = _from_github(repository, force_reload, verbose)
    check_trust(folder, repository, trust_repo)
    return folder


def _archive(url, force_reload, verbose, name=None):
    """The folder of an archive by its URL; ``#sha256=...`` behind it is compared with what arrives."""
    import hashlib
    from urllib.parse import unquote, urlparse

    url, _, fragment = url.partition("#")
    if fragment and not re.fullmatch(r"sha256=[0-9a-fA-F]{6,64}", fragment):
        raise ValueError(f"expected #sha256=... behind the URL, got #{fragment}")
    digest = fragment.removeprefix("sha256=").lower() or None
    if name is None:
        stem = re.sub(r"[^A-Za-z0-9_.-]", "_", os.path.basename(unquote(urlparse(url).path)).split(".")[0])
        name = f"{stem}_{hashlib.sha256(f'{url}#{digest}'.encode()).hexdigest()[:12]}"
    folder = os.path.join(get_dir(), name)
    if os.path.isdir(folder) and not force_reload:
        if verbose:
            print(f"Using cache found in {folder}", file=sys.stderr)
        return folder
    os.makedirs(get_dir(), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=get_dir(), prefix=".unpacking-") as aside:
        download_url_to_file(url, os.path.join(aside, "archive"), digest, progress=verbose)
        unpack(os.path.join(aside, "archive"), os.path.join(aside, "contents"))
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(_top(os.path.join(aside, "contents")), folder)
    return folder


def _top(folder):
    """Archives often contain one folder with everything in it."""
    os.makedirs(folder, exist_ok=True)
    inside = os.listdir(folder)
    if len(inside) == 1 and inside[0] != _CONFIG and os.path.isdir(os.path.join(folder, inside[0])):
        return os.path.join(folder, inside[0])
    return folder


def _from_github(repository, force_reload, verbose):
    match = re.fullmatch(r"([\w.-]+)/([\w.-]+)(?::([\w./-]+))?", repository)
    if not match:
        raise ValueError(
            f'expected "owner/name", "owner/name:ref" or a URL, got {repository!r}; source="local" is for folders'
        )
    owner, name, ref = match.groups()
    for candidate in [ref] if ref else ["main", "master"]:
        folder = re.sub(r"[^\w.-]", "_", f"{owner}_{name}_{candidate}")
        try:
            return _archive(f"{_GITHUB}/{owner}/{name}/zipball/{candidate}", force_reload, verbose, folder)
        except OSError as error:
            failure = error
    raise RuntimeError(f"cannot download {repository} from {_GITHUB}: {failure}") from failure


# --- functions


def entry_points(folder):
    """The names of all functions that make a model."""
    config = _config(folder)
    return [name for name, value in vars(config).items() if callable(value) and not name.startswith("_")]


def entry_point(folder, name):
    """A function by its name, its dependencies checked."""
    if not isinstance(name, str):
        raise ValueError("Invalid input: model should be a string of function name")
    found = getattr(_config(folder), name, None)
    if not callable(found) or name.startswith("_"):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return found


def _config(folder):
    """The module hubconf of a folder."""
    from importlib.util import module_from_spec, spec_from_file_location

    path = os.path.join(folder, _CONFIG)
    if not os.path.isfile(path):
        raise FileNotFoundError(f"there is no {_CONFIG} in {folder}")
    spec = spec_from_file_location(_CONFIG, path)
    module = module_from_spec(spec)
    with neighbours(folder):
        spec.loader.exec_module(module)
    _check_dependencies(module)
    return module


@contextmanager
def neighbours(folder):
    """While code of a folder runs, it finds the modules next to it."""
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def _check_dependencies(module):
    from importlib.util import find_spec

    missing = [name for name in getattr(module, "dependencies", None) or () if find_spec(name) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
