"""Several processes that run the same function."""

import multiprocessing
import signal
import sys
import time
from contextlib import suppress
from multiprocessing import connection

from wisp._shared_memory import remove_folder
from wisp.multiprocessing._parent import end_with_parent, expected_parent

__all__ = ["ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException", "SpawnContext",
           "spawn", "start_processes"]  # fmt: skip


class ProcessException(Exception):
    """A process has failed: ``error_index`` says which one, ``error_pid`` has its id."""

    def __init__(self, msg, error_index, pid):
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid, self.pid = msg, error_index, pid, pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process raised an exception, whose traceback is in the message."""

    def __init__(self, msg, error_index, error_pid):
        super().__init__(msg, error_index, error_pid)


class ProcessExitedException(ProcessException):
    """A process ended with ``exit_code``, or was killed by the signal ``signal_name``."""

    def __init__(self, msg, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _run(fn, index, args, report, parent):
    """What a process does: the function, and a report of its exception; "" if there was none."""
    end_with_parent(parent, last_words=remove_folder)
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass  # the parent is interrupted too
    except Exception:  # noqa: BLE001  (the parent raises it)
        import traceback

        report.send(traceback.format_exc()[-30_000:])  # no more than a pipe holds: nobody reads it before the end
        sys.exit(1)
    else:
        with suppress(OSError):  # nobody may want to know
            report.send("")


class ProcessContext:
    """Processes that were started together."""

    def __init__(self, processes, reports):
        self.processes, self._reports = processes, reports
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self):
        """The ids of the processes."""
        return [process.pid for process in self.processes]

    def join(self, timeout=None, grace_period=None):
        """Waits for at most ``timeout`` seconds until one more process has ended. True if all have.

        If one has failed, the others are ended (by force ``grace_period`` seconds later), and its exception is raised.
        """
        if not self.sentinels:
            return True
        failed = None
        for sentinel in connection.wait(self.sentinels, timeout):
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            report, code = self._report(index), self.processes[index].exitcode
            # Nobody is told of exit codes where SIGCHLD is ignored.
            if failed is None and (report != "" if code is None else code != 0):
                failed = index, report
        if failed is None:
            return not self.sentinels
        self._end(grace_period)
        raise self._failure(*failed)

    def _report(self, index):
        """What a process has reported; None if nothing."""
        try:
            return self._reports[index].recv() if self._reports[index].poll() else None
        except EOFError:
            return None

    def _end(self, grace_period):
        """Ends the processes that still run."""
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        deadline = time.monotonic() + (30 if grace_period is None else grace_period)
        for process in self.processes:
            process.join(max(0, deadline - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()

    def _failure(self, index, text):
        process = self.processes[index]
        code = process.exitcode
        if text:
            message = f"\n\n-- Process {index} terminated with the following error:\n{text}"
            return ProcessRaisedException(message, index, process.pid)
        if code is None or code >= 0:
            return ProcessExitedException(f"process {index} terminated with exit code {code}", index, process.pid, code)
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"<Unknown signal {-code}>"
        message = f"process {index} terminated with signal {name}"
        return ProcessExitedException(message, index, process.pid, code, name)


class SpawnContext(ProcessContext):
    """Processes started by spawn()."""


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Runs ``fn(i, *args)`` in processes i = 0, ..., nprocs - 1.

    With ``join`` it waits for all of them, and raises an exception if one fails; else it returns a ProcessContext.
    """
    return _start(ProcessContext, fn, args, nprocs, join, daemon, start_method)


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Runs ``fn(i, *args)`` in new processes i = 0, ..., nprocs - 1, each a fresh interpreter.

    With ``join`` it waits for all of them, and raises an exception if one fails; else it returns a context to join.
    """
    if start_method != "spawn":
        import warnings

        warnings.warn(
            f"spawn() only supports start_method='spawn' (got: {start_method!r}), use start_processes() for others",
            FutureWarning, stacklevel=2)  # fmt: skip
    return _start(SpawnContext, fn, args, nprocs, join, daemon, "spawn")


def _start(kind, fn, args, nprocs, join, daemon, start_method):
    context = multiprocessing.get_context(start_method)
    processes, reports, parent = [], [], expected_parent(context)
    for index in range(nprocs):
        receiving, sending = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(fn, index, args, sending, parent), daemon=daemon)
        process.start()
        sending.close()
        processes.append(process)
        reports.append(receiving)
    started = kind(processes, reports)
    while join and not started.join():
        pass
    return None if join else started
