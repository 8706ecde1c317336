"""wisp.distributed: stores of keys and values."""

import gc
import pickle
import socket
import struct
import threading
import time
from contextlib import suppress
from datetime import timedelta

import pytest

from tests import fresh
from wisp import distributed
from wisp.distributed import DistNetworkError, DistStoreError, HashStore, PrefixStore, QueueEmptyError, TCPStore

MOMENT = timedelta(milliseconds=50)


def tcp():
    return TCPStore("127.0.0.1", 0, is_master=True)


MAKERS = {
    "hash": HashStore,
    "tcp": tcp,
    "prefix": lambda: PrefixStore("a", HashStore()),
    "both": lambda: PrefixStore("b", tcp()),
}


@pytest.fixture(params=MAKERS)
def store(request):
    return MAKERS[request.param]()


def test_values(store):
    store.set("text", "abc")
    store.set("raw", b"\x00\xff")
    store.set("empty", "")
    assert store.get("text") == b"abc"
    assert store.get("raw") == b"\x00\xff"
    assert store.get("empty") == b""
    store.set("text", "other")
    assert store.get("text") == b"other"
    assert store.check(["text", "raw"]) is True
    assert store.check(["text", "nothing"]) is False
    assert store.num_keys() == 3
    assert len(store.list_keys()) == 3
    assert store.delete_key("text") is True
    assert store.delete_key("text") is False


def test_counters(store):
    assert store.add("n", 5) == 5
    assert store.add("n", -7) == -2
    assert store.get("n") == b"-2"
    store.set("text", "abc")
    with pytest.raises(DistStoreError, match="is not a number"):
        store.add("text", 1)
    assert store.get("text") == b"abc"


def test_comparing_and_appending(store):
    assert store.compare_set("k", "old", "new") == b"old"
    assert not store.check(["k"])
    assert store.compare_set("k", "", "first") == b"first"
    assert store.compare_set("k", "first", "second") == b"second"
    assert store.compare_set("k", "first", "third") == b"second"
    store.append("list", "1")
    store.append("list", "2")
    assert store.get("list") == b"12"
    store.multi_set(["x", "y"], ["1", b"2"])
    assert store.multi_get(["y", "x"]) == [b"2", b"1"]
    with pytest.raises(ValueError, match="2 keys and 1 values"):
        store.multi_set(["x", "y"], ["1"])
    assert store.has_extended_api()


def test_queues(store):
    store.queue_push("q", "1")
    store.queue_push("q", "2")
    assert store.queue_len("q") == 2
    assert store.check(["q"])
    assert [store.queue_pop("q"), store.queue_pop("q")] == [b"1", b"2"]
    assert store.queue_len("q") == store.queue_len("never") == 0
    with pytest.raises(QueueEmptyError):
        store.queue_pop("q", block=False)
    store.set_timeout(MOMENT)
    with pytest.raises(QueueEmptyError):
        store.queue_pop("q")


def test_waiting_ends_in_time(store):
    begin = time.monotonic()
    with pytest.raises(DistStoreError, match="timeout after 50ms"):
        store.wait(["never"], MOMENT)
    store.set_timeout(MOMENT)
    assert store.timeout == MOMENT
    with pytest.raises(DistStoreError):
        store.get("never")
    with pytest.raises(DistStoreError):
        store.multi_get(["never"])
    assert time.monotonic() - begin < 20
    store.set("now", "1")
    store.wait(["now"])


def test_waiting_ends_when_somebody_writes():
    store = tcp()
    other = store.clone()
    threading.Timer(0.1, lambda: other.set("late", "1")).start()
    assert store.get("late") == b"1"


def test_what_is_not_a_key_or_a_value(store):
    with pytest.raises(TypeError, match="values of a store are str or bytes, got int"):
        store.set("k", 1)
    with pytest.raises(TypeError, match="keys of a store are str, got int"):
        store.set(1, "k")
    with pytest.raises(TypeError):
        store.get(None)


def test_prefixes_keep_stores_apart():
    base = HashStore()
    one, two = PrefixStore("one", base), PrefixStore("two", base)
    one.set("k", "1")
    two.set("k", "2")
    assert (one.get("k"), two.get("k")) == (b"1", b"2")
    assert base.get("one/k") == b"1"
    assert one.underlying_store is base
    assert PrefixStore("in", one.clone()).clone().check(["k"]) is False
    assert sorted(base.list_keys()) == ["one/k", "two/k"]


def test_several_clients_see_one_table():
    master = TCPStore("127.0.0.1", 0, is_master=True, world_size=3, wait_for_workers=False)
    workers = [TCPStore("127.0.0.1", master.port, 3) for _ in range(2)]
    assert [w.add("n", 1) for w in workers] == [1, 2]
    assert master.num_keys() == 2  # and the one that counts the workers
    threads = [threading.Thread(target=lambda s=s: [s.add("sum", 1) for _ in range(100)]) for s in (master, *workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert master.get("sum") == b"300"


def test_the_master_waits_for_workers():
    with pytest.raises(DistStoreError, match="1/2 clients joined"):
        TCPStore("127.0.0.1", 0, 2, True, timeout=MOMENT)


def test_nobody_listens():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(DistNetworkError, match="timed out after 50ms while trying to connect"):
        TCPStore("127.0.0.1", port, timeout=MOMENT)


def test_a_port_is_free_again_when_its_store_is_gone():
    port = tcp().port
    for _ in range(3):
        gc.collect()
        store = TCPStore("127.0.0.1", port, is_master=True)
        with pytest.raises(DistNetworkError, match="failed to listen"):
            TCPStore("127.0.0.1", port, is_master=True)
        del store


def test_a_store_that_is_gone_is_an_error_not_a_hang():
    master = tcp()
    other = TCPStore("127.0.0.1", master.port)
    del master
    gc.collect()
    with pytest.raises(DistNetworkError, match="failed"):
        other.get("k")


JUNK = [
    b"GET / HTTP/1.0\r\n\r\n",
    struct.pack(">I", 1 << 31),
    struct.pack(">I", 9) + b"lxxxxxxxx",
    struct.pack(">I", 5) + b"z\0\0\0\0",
    struct.pack(">I", 5) + b"n\0\0\0\0",
    b"\0\0\0\0",
    struct.pack(">I", 50_000) + b"".join(b"l" + struct.pack(">I", 50_000 - 5 * i) for i in range(1, 10_001)),
]


@pytest.mark.parametrize("junk", JUNK)
def test_strangers_do_no_harm(junk):
    store = tcp()
    with socket.create_connection(("127.0.0.1", store.port)) as stranger, suppress(ConnectionResetError):
        stranger.sendall(junk)
        with suppress(OSError):  # if it has been turned away already
            stranger.shutdown(socket.SHUT_WR)
        stranger.settimeout(5)
        assert stranger.recv(10) == b""
    store.set("k", "1")
    assert store.get("k") == b"1"


def test_only_methods_of_stores_can_be_called():
    store = tcp()
    with pytest.raises(distributed.DistError, match="no method '__init__'"):
        store._ask("__init__")
    with pytest.raises(distributed.DistError):
        store._ask("add")
    assert store.num_keys() == 0


def test_stores_cannot_be_pickled():
    for store in (HashStore(), tcp()):
        with pytest.raises(TypeError, match="cannot pickle"):
            pickle.dumps(store)


def test_processes_share_a_store():
    store = tcp()
    store.set("parent", "there")
    printed = fresh.python(f"""
from wisp.distributed import TCPStore
store = TCPStore("127.0.0.1", {store.port})
store.set("child", "here")
print(store.get("parent").decode())
""")
    assert printed.strip() == "there"
    assert store.get("child") == b"here"


def test_training_over_processes_is_not_there():
    assert distributed.is_available() is False
    with pytest.raises(AttributeError, match="init_process_group"):
        distributed.init_process_group  # noqa: B018


@pytest.mark.parametrize("make", ["HashStore", "TCPStore"])
def test_answers_are_those_of_pytorch(make):
    theirs = pytest.importorskip("torch.distributed")

    def ask(lib):
        store = lib.HashStore() if make == "HashStore" else lib.TCPStore("127.0.0.1", 0, 1, True)
        store.set("a", "b")
        return [
            store.get("a"), store.add("c", 5), store.get("c"), store.compare_set("a", "b", "z"),
            store.compare_set("n", "", "y"), store.compare_set("m", "q", "y"), store.num_keys(), store.delete_key("a"),
            store.delete_key("a"), store.check(["c"]), store.check(["z"]),
        ]  # fmt: skip

    assert ask(distributed) == ask(theirs)
