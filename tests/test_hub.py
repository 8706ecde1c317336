"""hub: models and weights by URL, from a server of our own, and the asking before code runs."""

import hashlib
import http.server
import io
import os
import pathlib
import tarfile
import threading
import zipfile

import pytest

import wisp
from wisp import hub

CONFIG = """
dependencies = ["math"]
from helper import scale as _scale

def small(size=2, **kwargs):
    "A small model."
    import wisp, later
    model = wisp.nn.Linear(size, 1, bias=False)
    wisp.nn.init.constant_(model.weight, _scale * later.factor)
    return model

def _hidden():
    pass

VERSION = 3
"""
FILES = {"hubconf.py": CONFIG, "helper.py": "scale = 2.0\n", "later.py": "factor = 5\n"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder for downloads, gone afterwards."""
    monkeypatch.setattr(hub._folders, "_chosen", None)
    hub.set_dir(tmp_path / "hub")
    for name in ("helper", "later"):
        monkeypatch.delitem(__import__("sys").modules, name, raising=False)
    return tmp_path / "hub"


@pytest.fixture
def repository(tmp_path):
    path = tmp_path / "repository"
    path.mkdir()
    for name, text in FILES.items():
        (path / name).write_text(text)
    return path


@pytest.fixture
def server():
    """A server of what is put in its dict; counts requests."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.requests.append(self.path)
            body = self.server.files.get(self.path.partition("?")[0])
            self.send_response(200 if body is not None else 404)
            self.send_header("Content-Length", str(len(body or b"") + self.server.lie))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *args):
            pass

    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.files, made.requests, made.lie, made.url = {}, [], 0, f"http://127.0.0.1:{made.server_port}"
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.fixture
def answers(monkeypatch):
    """What the user answers; asked is how often."""

    class Answers(list):
        asked = 0

    given = Answers()

    def answer(question):
        given.asked += 1
        given.question = question
        if not given:
            raise EOFError
        return given.pop(0)

    monkeypatch.setattr("builtins.input", answer)
    return given


def zipped(files=FILES, top="repository-main/"):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in files.items():
            archive.writestr(top + name, text)
    return data.getvalue()


def tarred(files=FILES):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    return data.getvalue()


# --- folders


def test_local_folders(folder, repository, answers):
    model = hub.load(str(repository), "small", 3, source="local")
    assert model.weight.tolist() == [[10, 10, 10]]
    assert hub.load(repository, "small", source="local", size=1).weight.tolist() == [[10]]
    assert hub.list(str(repository)) == ["small"]
    assert hub.help(str(repository), "small") == "A small model."
    assert answers.asked == 0
    assert str(repository) not in __import__("sys").path


def test_what_is_wrong_with_folders(folder, repository):
    with pytest.raises(ValueError, match='Unknown source: "elsewhere". Allowed values: "github" | "local".'):
        hub.load(repository, "small", source="elsewhere")
    for name in ("large", "_hidden", "VERSION"):
        with pytest.raises(RuntimeError, match=f"Cannot find callable {name} in hubconf"):
            hub.load(repository, name, source="local")
    with pytest.raises(ValueError, match="string of function name"):
        hub.load(repository, 3, source="local")
    with pytest.raises(FileNotFoundError, match=r"no hubconf.py"):
        hub.load(repository.parent, "small", source="local")
    (repository / "hubconf.py").write_text("dependencies = ['math', 'no_such_package']\ndef f(): pass\n")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_package"):
        hub.load(repository, "f", source="local")
    with pytest.raises(ValueError, match="owner/name"):
        hub.load("not a repository", "f")


def test_the_folder_of_downloads(monkeypatch):
    monkeypatch.setattr(hub._folders, "_chosen", None)
    monkeypatch.setenv("WISP_HOME", "/somewhere")
    assert hub.get_dir() == "/somewhere/hub" and hub._get_torch_home() == "/somewhere"
    monkeypatch.delenv("WISP_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert hub.get_dir() == "/cache/wisp/hub"
    hub.set_dir("~/models")
    assert hub.get_dir() == os.path.expanduser("~/models")


# --- archives and trust


@pytest.mark.parametrize("archive", [zipped(), zipped(top=""), tarred()], ids=["zip", "zip without a folder", "tar"])
def test_archives_by_url(folder, server, answers, archive):
    server.files["/a.b.zip"] = archive
    answers.append("y")
    assert hub.load(f"{server.url}/a.b.zip", "small", 1).weight.item() == 10
    assert answers.asked == 1 and "code that has not been run here before" in answers.question
    assert hub.load(f"{server.url}/a.b.zip", "small", 1, verbose=False).weight.item() == 10
    assert answers.asked == 1 and len(server.requests) == 1
    assert [name for name in os.listdir(folder) if name.startswith(".")] == []


def test_files_by_url(folder, tmp_path, capsys):
    (tmp_path / "r.zip").write_bytes(zipped())
    url = (tmp_path / "r.zip").as_uri()
    assert hub.list(url, trust_repo=True) == ["small"]
    assert hub.help(url, "small") == "A small model."
    assert "Using cache found in" in capsys.readouterr().err


def test_nothing_runs_before_it_is_trusted(folder, server, answers, tmp_path):
    marker = tmp_path / "ran"
    server.files["/r.zip"] = zipped({"hubconf.py": f"open({str(marker)!r}, 'w')\ndef f(): pass"})
    for answer in ("n", "", "No"):
        answers.append(answer)
        with pytest.raises(RuntimeError, match="Untrusted repository"):
            hub.load(f"{server.url}/r.zip", "f")
    answers.append("perhaps")
    with pytest.raises(ValueError, match="Unrecognized response perhaps"):
        hub.list(f"{server.url}/r.zip")
    with pytest.raises(RuntimeError, match="nobody to ask; pass trust_repo=True"):
        hub.help(f"{server.url}/r.zip", "f")
    with pytest.raises(ValueError, match="trust_repo"):
        hub.load(f"{server.url}/r.zip", "f", trust_repo="maybe")
    assert not marker.exists()
    hub.load(f"{server.url}/r.zip", "f", trust_repo=True)
    assert marker.exists()


def test_changed_code_is_asked_about_anew(folder, server, answers):
    server.files["/r.zip"] = zipped()
    url = f"{server.url}/r.zip"
    hub.load(url, "small", trust_repo=True)
    server.files["/r.zip"] = zipped({**FILES, "later.py": "factor = 6\n"})
    answers += ["y", "n"]
    hub.load(url, "small", force_reload=True)
    assert answers.asked == 1
    server.files["/r.zip"] = zipped()  # as it was before, which was trusted
    hub.load(url, "small", force_reload=True)
    assert answers.asked == 1
    with pytest.raises(RuntimeError, match="Untrusted"):
        hub.load(url, "small", trust_repo=False)  # asks always
    assert answers.asked == 2


def test_checksums_of_archives(folder, server):
    data = zipped()
    server.files["/r.zip"] = data
    digest = hashlib.sha256(data).hexdigest()
    assert hub.list(f"{server.url}/r.zip#sha256={digest}", trust_repo=True) == ["small"]
    with pytest.raises(RuntimeError, match="invalid hash value"):
        hub.list(f"{server.url}/r.zip#sha256={'0' * 64}", trust_repo=True)
    with pytest.raises(ValueError, match=r"expected #sha256="):
        hub.list(f"{server.url}/r.zip#md5=1", trust_repo=True)


def test_repositories_on_github(folder, server, monkeypatch):
    monkeypatch.setattr(hub._repositories, "_GITHUB", server.url)
    server.files["/owner/name/zipball/v1.0"] = server.files["/owner/other/zipball/master"] = zipped()
    assert hub.list("owner/name:v1.0", trust_repo=True) == ["small"]
    assert hub.list("owner/other", trust_repo=True) == ["small"]
    assert server.requests[1:] == ["/owner/other/zipball/main", "/owner/other/zipball/master"]
    with pytest.raises(RuntimeError, match="cannot download owner/none"):
        hub.list("owner/none", trust_repo=True)


def hostile_tar(change):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        info = tarfile.TarInfo("hubconf.py")
        change(info)
        archive.addfile(info)
    return data.getvalue()


@pytest.mark.parametrize(
    "archive",
    [
        zipped({"../out.py": ""}, top=""),
        zipped({"a/../../out.py": ""}, top=""),
        zipped({"/tmp/wisp_out.py": ""}, top=""),
        zipped({"C:/out.py": ""}, top=""),
        zipped({"..\\out.py": ""}, top=""),
        hostile_tar(lambda info: setattr(info, "name", "../out.py")),
        hostile_tar(lambda info: (setattr(info, "type", tarfile.SYMTYPE), setattr(info, "linkname", "/etc/passwd"))),
        hostile_tar(lambda info: (setattr(info, "type", tarfile.LNKTYPE), setattr(info, "linkname", "../x"))),
        hostile_tar(lambda info: setattr(info, "type", tarfile.FIFOTYPE)),
        b"no archive at all",
        zipped()[:-30],
    ],
)
def test_hostile_archives(folder, server, archive):
    server.files["/r.zip"] = archive
    with pytest.raises((RuntimeError, zipfile.BadZipFile)):
        hub.list(f"{server.url}/r.zip", trust_repo=True)
    assert not [path for path in folder.parent.rglob("out.py")]
    assert not pathlib.Path("/tmp/wisp_out.py").exists()
    assert os.listdir(folder) == []


def test_links_in_zip_archives(folder, server):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        info = zipfile.ZipInfo("hubconf.py")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    server.files["/r.zip"] = data.getvalue()
    with pytest.raises(RuntimeError, match="contains links"):
        hub.list(f"{server.url}/r.zip", trust_repo=True)


def test_archives_that_are_too_large(folder, server, monkeypatch):
    monkeypatch.setattr(hub._download, "_LARGEST", 100)
    server.files["/r.zip"] = zipped()
    with pytest.raises(RuntimeError, match="too large"):
        hub.list(f"{server.url}/r.zip", trust_repo=True)


# --- files


def test_downloads(tmp_path, server):
    server.files["/f"] = b"contents"
    digest = hashlib.sha256(b"contents").hexdigest()
    hub.download_url_to_file(f"{server.url}/f", str(tmp_path / "f"), digest[:8])
    assert (tmp_path / "f").read_bytes() == b"contents"
    with pytest.raises(RuntimeError, match=r'invalid hash value \(expected "00000000", got "[0-9a-f]{8}"\)'):
        hub.download_url_to_file(f"{server.url}/f", tmp_path / "g", "00000000")
    with pytest.raises(OSError, match="404"):
        hub.download_url_to_file(f"{server.url}/none", tmp_path / "g")
    with pytest.raises(ValueError, match="http, https or file"):
        hub.download_url_to_file("ftp://somewhere", tmp_path / "g")
    assert os.listdir(tmp_path) == ["f"]


def test_downloads_that_end_early(tmp_path, server):
    server.files["/f"], server.lie = b"contents", 10
    with pytest.raises((RuntimeError, OSError)):
        hub.download_url_to_file(f"{server.url}/f", tmp_path / "f")
    assert os.listdir(tmp_path) == []


def test_weights_by_url(folder, server, tmp_path):
    data = io.BytesIO()
    wisp.save({"w": wisp.arange(3)}, data, format="torch")
    digest = hashlib.sha256(data.getvalue()).hexdigest()[:8]
    server.files[f"/weights-{digest}.pth"] = data.getvalue()
    server.files["/weights-00000000.pth"] = data.getvalue()
    for _ in range(2):
        state = hub.load_state_dict_from_url(
            f"{server.url}/weights-{digest}.pth?query", check_hash=True, map_location="cpu"
        )
        assert state["w"].tolist() == [0, 1, 2]
    assert len(server.requests) == 1
    assert (folder / "checkpoints" / f"weights-{digest}.pth").exists()
    with pytest.raises(RuntimeError, match="invalid hash value"):
        hub.load_state_dict_from_url(f"{server.url}/weights-00000000.pth", check_hash=True)
    hub.load_state_dict_from_url(
        f"{server.url}/weights-00000000.pth", model_dir=tmp_path / "here", file_name="mine.pth"
    )
    assert os.listdir(tmp_path / "here") == ["mine.pth"]
    assert wisp.utils.model_zoo.load_url is hub.load_state_dict_from_url
    with pytest.raises(ValueError, match="names no file"):
        hub.load_state_dict_from_url(server.url)
