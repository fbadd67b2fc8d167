"""Letting a traced process repeat its exec untraced, so that a set-user-id program gets its rights.

The kernel withholds them from a program that is started under an unprivileged tracer (execve(2)). A shell becomes
its last command by exec, so `sudo` would fail there and nowhere else. The process stands at the end of that exec and
has not run one instruction of the new program: it is made to call execve once more, with the arguments that lie on
its fresh stack (the layout is that of the System V ABI, "Initial Process Stack"), and let go.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct

PTRACE_GETREGSET = 0x4204
PTRACE_SETREGSET = 0x4205
NT_PRSTATUS = 1
AT_EXECFN = 31
WORD_BYTES = 8


class _Machine:
    """Where the registers of one architecture lie in its register set (words), and its system call."""

    __slots__ = ("arguments", "call", "execve", "instruction", "number", "original", "stack", "words")

    def __init__(
        self,
        words: int,
        instruction: bytes,
        execve: int,
        number: int,
        arguments: tuple[int, int, int],
        stack: int,
        call: int,
        original: int | None,
    ) -> None:
        self.words = words
        self.instruction = instruction
        self.execve = execve
        self.number = number
        self.arguments = arguments
        self.stack = stack
        self.call = call
        self.original = original


_MACHINES = {
    "x86_64": _Machine(27, b"\x0f\x05", 59, 10, (14, 13, 12), 19, 16, 15),  # struct user_regs_struct, <sys/user.h>
    "aarch64": _Machine(34, b"\x01\x00\x00\xd4", 221, 8, (0, 1, 2), 31, 32, None),  # struct user_pt_regs
}


class _Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def has_rights_withheld(pid: int) -> bool:
    """Whether the program of a process has more rights than an unprivileged tracer lets it have."""
    if os.geteuid() == 0 or os.uname().machine not in _MACHINES:
        return False
    program = f"/proc/{pid}/exe"
    try:
        if os.stat(program).st_mode & (stat.S_ISUID | stat.S_ISGID):
            return True
        return "security.capability" in os.listxattr(program)
    except OSError:  # no program of ours to look at
        return False


def exec_again(libc: ctypes.CDLL, pid: int) -> None:
    """Set a process, stopped at the end of an exec, to the call of that exec. Raises OSError; it is then as it was."""
    machine = _MACHINES[os.uname().machine]
    registers = (ctypes.c_uint64 * machine.words)()
    vector = _Vector(ctypes.cast(registers, ctypes.c_void_p), ctypes.sizeof(registers))
    _checked(libc.ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, ctypes.byref(vector)))
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        start, end = _vdso(pid)
        memory.seek(start)
        registers[machine.call] = start + memory.read(end - start).index(machine.instruction)
        stack = registers[machine.stack]
        memory.seek(stack)
        (count,) = struct.unpack("=Q", memory.read(WORD_BYTES))
    arguments = (_auxiliary(pid, AT_EXECFN), stack + WORD_BYTES, stack + WORD_BYTES * (count + 2))
    for register, value in zip(machine.arguments, arguments, strict=True):
        registers[register] = value
    registers[machine.number] = machine.execve
    if machine.original is not None:
        registers[machine.original] = 2**64 - 1  # no call is under way that the kernel might restart
    _checked(libc.ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, ctypes.byref(vector)))


def _vdso(pid: int) -> tuple[int, int]:
    """Where the kernel's own code lies in a process (vdso(7)): it holds a system call instruction."""
    with open(f"/proc/{pid}/maps", "rb") as maps:
        for line in maps:
            if line.endswith(b"[vdso]\n"):
                start, _, end = line.split()[0].partition(b"-")
                return int(start, 16), int(end, 16)
    raise OSError("the process has no vdso")


def _auxiliary(pid: int, wanted: int) -> int:
    """A value of the auxiliary vector (getauxval(3), proc(5))."""
    with open(f"/proc/{pid}/auxv", "rb") as file:
        for key, value in struct.iter_unpack("=QQ", file.read()):
            if key == wanted:
                return int(value)
    raise OSError(f"no value {wanted} in the auxiliary vector")


def _checked(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
