"""Tracing one child process for its exec and exit events, to learn the directory in which a shell ends."""

from __future__ import annotations

import ctypes
import errno
import os

# ptrace(2), prctl(2); the numbers are the kernel's ABI on every architecture.
PTRACE_CONT = 7
PTRACE_DETACH = 17
PTRACE_SEIZE = 0x4206
PTRACE_LISTEN = 0x4208
PTRACE_SYSCALL = 24
PTRACE_O_TRACESYSGOOD = 0x01
PTRACE_O_TRACEEXEC = 0x10
PTRACE_O_TRACEEXIT = 0x40
PTRACE_OPTIONS = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT
EVENT_EXEC = 4
EVENT_EXIT = 6
EVENT_STOP = 128
STOP_SIGNALS = (19, 20, 21, 22)  # SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU
END_OF_CALL = 5 | 0x80  # SIGTRAP, marked as a system call's by PTRACE_O_TRACESYSGOOD
PR_SET_CHILD_SUBREAPER = 36

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
_libc.ptrace.restype = ctypes.c_long


class Tracer:
    """Traces a child that has not yet become the shell (it execs once, later).

    `directory` is the shell's working directory when it ended or became another program; None until then, when the
    shell was killed, or where `directory_problem` says why. `problem` says why the child can't be traced, None when
    it can.
    """

    def __init__(self, pid: int) -> None:
        self.directory: bytes | None = None
        self.directory_problem: str | None = None
        self.problem: str | None = None
        self._pid = pid
        self._is_shell = False
        if _libc.ptrace(PTRACE_SEIZE, pid, None, PTRACE_OPTIONS) != 0:
            self.problem = os.strerror(ctypes.get_errno())

    def stopped(self, status: int) -> None:
        """Take a stop that waitpid(2) reported, and let the child go on."""
        number, event = os.WSTOPSIG(status), status >> 16
        if event == EVENT_EXEC and not self._is_shell:
            self._is_shell = True
            self._go_on(PTRACE_CONT, 0)
        elif event == EVENT_EXEC:
            self._look()
            self._let_go()
        elif number == END_OF_CALL:
            self._let_go_with_rights()
        elif event == EVENT_EXIT:
            self._look()
            self._go_on(PTRACE_CONT, 0)
        elif event == EVENT_STOP:
            self._go_on(PTRACE_LISTEN if number in STOP_SIGNALS else PTRACE_CONT, 0)
        else:
            self._go_on(PTRACE_CONT, number)

    def _let_go(self) -> None:
        """The shell has become another program, whose directory does not matter."""
        from guilds_wire.exec_again import has_rights_withheld

        self._go_on(PTRACE_SYSCALL if has_rights_withheld(self._pid) else PTRACE_DETACH, 0)

    def _let_go_with_rights(self) -> None:
        from guilds_wire.exec_again import exec_again

        try:
            exec_again(_libc, self._pid)
        except (OSError, ValueError):  # a program that nobody may read: it runs without its rights, as it would traced
            pass
        self._go_on(PTRACE_DETACH, 0)

    def _look(self) -> None:
        """Note where the child is. The kernel appends a word to the path of a deleted directory (proc(5))."""
        link = f"/proc/{self._pid}/cwd"
        try:
            path = os.readlink(link.encode())
            if os.stat(link).st_nlink == 0:
                path = path.removesuffix(b" (deleted)")
        except OSError as problem:
            if problem.errno not in (errno.ENOENT, errno.ESRCH):  # else it was killed meanwhile
                self.directory_problem = problem.strerror
            return
        if path.startswith(b"/"):
            self.directory = path

    def _go_on(self, request: int, number: int) -> None:
        _libc.ptrace(request, self._pid, None, number)


def become_subreaper() -> None:
    """Have orphans below this process become its children rather than init's."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
