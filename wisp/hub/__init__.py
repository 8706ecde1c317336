"""Models that others publish as a folder with a file ``hubconf.py``, and files of weights by URL.

Every public function of a ``hubconf.py`` makes a model. Its code is run only if it is yours (``source="local"``) or you
have said that you trust it; what was trusted is remembered by its contents, so that a changed folder is asked about
anew.
"""

import os
import re
from urllib.parse import unquote, urlparse

from wisp.hub._download import download_url_to_file
from wisp.hub._folders import get_dir, home, set_dir
from wisp.hub._repositories import entry_point, entry_points, fetched, neighbours

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

_get_torch_home = home  # what libraries call it

# Where the name of a file says its checksum: name-<sha256 or its beginning>.ext.
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")


def load(repo_or_dir, model, *args, source="github", trust_repo="check", force_reload=False, verbose=True,
         skip_validation=False, **kwargs):  # fmt: skip
    """The model that a function of a repository's hubconf.py makes.

    Args:
        repo_or_dir: "owner/name" or "owner/name:ref" on GitHub; the URL (http, https or file) of a zip or tar archive,
            with ``#sha256=...`` behind it to have its checksum compared; or a folder, with source="local".
        model: the name of the function.
        args, kwargs: what to call it with.
        source: "github" (also for URLs) or "local".
        trust_repo: "check" asks before running code that has not been trusted before; True trusts it; False asks always.
        force_reload: whether to download anew what has been downloaded before.
        verbose: whether to say so when it has been.
        skip_validation: accepted and ignored.
    """
    folder = fetched(repo_or_dir, source, force_reload, verbose, trust_repo)
    with neighbours(folder):
        return entry_point(folder, model)(*args, **kwargs)


def list(github, force_reload=False, skip_validation=False, trust_repo="check", verbose=True):
    """The names of the functions in a repository's hubconf.py. Arguments are those of load(); a folder is one too."""
    folder = fetched(github, "local" if os.path.isdir(github) else "github", force_reload, verbose, trust_repo)
    return entry_points(folder)


def help(github, model, force_reload=False, skip_validation=False, trust_repo="check"):
    """The documentation of a function in a repository's hubconf.py. Arguments are those of load()."""
    folder = fetched(github, "local" if os.path.isdir(github) else "github", force_reload, True, trust_repo)
    return entry_point(folder, model).__doc__


def load_state_dict_from_url(url, model_dir=None, map_location=None, progress=True, check_hash=False, file_name=None,
                             weights_only=False):  # fmt: skip
    """What wisp.load() makes of a file by its URL, which is downloaded once.

    Args:
        url: http, https or file.
        model_dir: where files are kept; by default a folder of get_dir().
        map_location, weights_only: those of wisp.load().
        progress: whether to show how far the download is, in a terminal.
        check_hash: whether the name of the file, ``name-<sha256 or its beginning>.ext``, says its checksum.
        file_name: what to call the file, if not as in the URL.
    """
    from wisp.serialization import load as load_file

    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else os.fspath(model_dir)
    os.makedirs(folder, exist_ok=True)
    name = os.path.basename(file_name or unquote(urlparse(url).path))
    if not name:
        raise ValueError(f"load_state_dict_from_url(): {url} names no file; give file_name")
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        digest = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, digest[1] if digest else None, progress)
    return load_file(path, map_location=map_location, weights_only=weights_only)
