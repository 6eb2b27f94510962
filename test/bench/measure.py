# SPDX-License-Identifier: MIT
"""Runs a command and everything it starts, and learns what all of it together cost."""
import ctypes
import json
import os
import resource
import signal
import sys
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def _prctl(option, value):
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _descendants(root):
    """The processes below `root`, by what /proc says of everyone's parent."""
    children = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % entry) as stat:
                parent = int(stat.read().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(entry))
    found, todo = [], [root]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


class _OutOfTime(Exception):
    pass


def _interrupt(signum, frame):
    raise _OutOfTime


def _reap_all(first):
    """Waits for all children, those inherited too; the status of the first."""
    status = None
    while True:
        try:
            pid, value = os.wait()
        except ChildProcessError:
            return status
        if pid == first:
            status = value


def _kill_all():
    while True:
        for pid in _descendants(os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.01)


def _supervise(command, environment, directory, limit, memory):
    os.setsid()
    _prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGALRM, _interrupt)
    signal.signal(signal.SIGTERM, _interrupt)
    os.chdir(directory)
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    files = [(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
             (os.POSIX_SPAWN_OPEN, 1, "stdout", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
             (os.POSIX_SPAWN_OPEN, 2, "stderr", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)]
    answer = {"late": False, "status": None}
    signal.setitimer(signal.ITIMER_REAL, limit)
    start = time.monotonic()
    try:
        pid = os.posix_spawnp(command[0], command, environment, file_actions=files,
                              setsigdef=[signal.SIGPIPE, signal.SIGXFSZ])
        answer["status"] = _reap_all(pid)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except _OutOfTime:
        answer["late"] = True
    answer["end"] = time.monotonic()
    answer["wall"] = answer["end"] - start
    if answer["late"]:
        _kill_all()
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer["cpu"] = usage.ru_utime + usage.ru_stime
    return answer


class Run:
    """A command that has been started in `directory`, where it leaves its stdout and stderr.

    A process of ours in between adopts what the command leaves behind, so that wall and CPU time are those of all its
    processes.  What runs longer than `limit` seconds is killed.  `memory`: most address space for each process.
    """

    def __init__(self, command, environment, directory, limit, memory=None):
        read, write = os.pipe()
        self.limit = limit
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(read)
                answer = _supervise(command, environment, directory, limit, memory)
                os.write(write, json.dumps(answer).encode())
            except OSError as error:
                os.write(write, json.dumps({"error": str(error)}).encode())
            finally:
                os._exit(0)
        os.close(write)
        self.answer = os.fdopen(read)

    def wait(self):
        """wall, cpu (seconds), end (CLOCK_MONOTONIC), status (as of waitpid), late; or error."""
        try:
            text = self.answer.read()
        except BaseException:
            self.stop()
            raise
        self.answer.close()
        os.waitpid(self.pid, 0)
        return json.loads(text)

    def stop(self):
        os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)


def clean_environment():
    """What the runs start from: nothing preloaded, no network, the same hashes each time."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("MEMTRACK", "LD_", "DEBUGINFOD", "MALLOC", "PYTHON", "PERL"))}
    environment.update(LC_ALL="C", PYTHONHASHSEED="0", PYTHONDONTWRITEBYTECODE="1", PERL_HASH_SEED="0",
                       PERL_PERTURB_KEYS="0")
    return environment
