"""Numbers of system calls, and what the filter does with each. A call that is not listed fails with EPERM."""

from __future__ import annotations

MACHINES = ("x86_64", "aarch64")

# name, number on x86-64, number on aarch64 (- where there is none)
_ALLOWED = """
read 0 63 | write 1 64 | close 3 57 | fstat 5 80 | poll 7 - | lseek 8 62 | munmap 11 215 | brk 12 214
rt_sigaction 13 134 | rt_sigprocmask 14 135 | rt_sigreturn 15 139 | select 23 - | sched_yield 24 124 | mremap 25 216
madvise 28 233 | dup2 33 - | nanosleep 35 101 | getitimer 36 102 | alarm 37 - | setitimer 38 103 | getpid 39 172
sendto 44 206 | recvfrom 45 207 | sendmsg 46 211 | recvmsg 47 212 | exit 60 93 | uname 63 160 | gettimeofday 96 169
getrlimit 97 163 | getrusage 98 165 | sysinfo 99 179 | times 100 153 | getuid 102 174 | getgid 104 176
geteuid 107 175 | getegid 108 177 | getppid 110 173 | sigaltstack 131 132 | gettid 186 178 | time 201 - | futex 202 98
sched_getaffinity 204 123 | restart_syscall 219 128 | clock_gettime 228 113 | clock_getres 229 114
clock_nanosleep 230 115 | exit_group 231 94 | pselect6 270 72 | ppoll 271 73 | set_robust_list 273 99 | dup3 292 24
getcpu 309 168 | getrandom 318 278 | rseq 334 293 | close_range 436 436
"""

_CONDITIONAL = "mmap 9 222 | mprotect 10 226 | fcntl 72 25 | prctl 157 167 | prlimit64 302 261 | clone 56 220"

# Refused with the errno that an honest mistake meets elsewhere, so that it surfaces as the usual Python exception.
_EACCES = """
open 2 - | stat 4 - | lstat 6 - | access 21 - | socket 41 198 | connect 42 203 | socketpair 53 199 | getcwd 79 17
mkdir 83 - | unlink 87 - | readlink 89 - | getdents64 217 61 | openat 257 56 | newfstatat 262 79 | readlinkat 267 78
faccessat 269 48 | statx 332 291 | openat2 437 437 | faccessat2 439 439
"""
_ENOTTY = "ioctl 16 29"
_ENOSYS = "clone3 435 435"

# Never honest: the process dies on the spot.
_FATAL = """
ptrace 101 117 | personality 135 92 | pivot_root 155 41 | chroot 161 51 | mount 165 40 | umount2 166 39 | swapon 167 224
reboot 169 142 | init_module 175 105 | kexec_load 246 104 | add_key 248 217 | request_key 249 218 | keyctl 250 219
unshare 272 97 | perf_event_open 298 241 | name_to_handle_at 303 264 | open_by_handle_at 304 265 | setns 308 268
process_vm_readv 310 270 | process_vm_writev 311 271 | finit_module 313 273 | seccomp 317 277 | bpf 321 280
userfaultfd 323 282 | io_uring_setup 425 425 | io_uring_enter 426 426 | io_uring_register 427 427 | open_tree 428 428
move_mount 429 429 | fsopen 430 430 | fsmount 432 432 | pidfd_getfd 438 438 | process_madvise 440 440
mount_setattr 442 442
"""


def _table(text: str, machine: str) -> dict[str, int]:
    column = MACHINES.index(machine) + 1
    rows = [entry.split() for line in text.split("\n") for entry in line.split("|") if entry.strip()]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}


def tables(machine: str) -> dict[str, dict[str, int]]:
    """Return names and numbers of the calls of each kind: allowed, conditional, eacces, enotty, enosys and fatal."""
    texts = {"allowed": _ALLOWED, "conditional": _CONDITIONAL, "eacces": _EACCES}
    texts |= {"enotty": _ENOTTY, "enosys": _ENOSYS, "fatal": _FATAL}
    return {kind: _table(text, machine) for kind, text in texts.items()}
