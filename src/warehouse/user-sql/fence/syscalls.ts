// THE table of system calls that the process of a user's SQL may make, with their numbers on x64 and arm64. Node and DuckDB read files,
// map memory, run threads and wait; every other call fails as if the kernel did not have it.

// The table of system calls as a filter program (classic BPF) for seccomp. PURE.

export type Architecture = "x64" | "arm64";

const AUDIT_ARCH = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;
const [LOAD, EQUAL, ANY_BIT, AND, RETURN] = [0x20, 0x15, 0x45, 0x54, 0x06];
const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
/** The call fails with ENOSYS: the C library then does without it, or takes an older call. */
const REFUSE = 0x00050000 | 38;
/** Offsets in `struct seccomp_data`: number of the call, architecture, arguments of 8 bytes each. */
const [NUMBER, ARCHITECTURE] = [0, 4];
const lowOf = (argument: number) => 16 + argument * 8;
const highOf = (argument: number) => lowOf(argument) + 4;

interface Instruction {
  readonly code: number;
  readonly value: number;
  /** Instructions to skip where the comparison holds, and where it does not. */
  readonly yes?: number;
  readonly no?: number;
}

const refuse: Instruction = { code: RETURN, value: REFUSE };
const allow: Instruction = { code: RETURN, value: ALLOW };

/** The high half must be zero, or the low half would not be the argument. Flags may have no high bits either. */
const holds = (condition: Condition, ownId: number): readonly Instruction[] => {
  const { argument } = condition;
  const load = [
    { code: LOAD, value: highOf(argument) },
    { code: EQUAL, value: 0, yes: 1, no: 0 },
    refuse,
    { code: LOAD, value: lowOf(argument) },
  ];
  if ("all" in condition) {
    return [
      ...load,
      { code: ANY_BIT, value: condition.none, yes: 0, no: 1 },
      refuse,
      { code: AND, value: condition.all },
      { code: EQUAL, value: condition.all, yes: 1, no: 0 },
      refuse,
      allow,
    ];
  }
  const values = "own" in condition ? [ownId] : condition.oneOf;
  return [...load, ...values.flatMap((value) => [{ code: EQUAL, value, yes: 0, no: 1 }, allow]), refuse];
};

const forCall = (syscall: Syscall, number: number, ownId: number): readonly Instruction[] => {
  const body = syscall.condition === undefined ? [allow] : holds(syscall.condition, ownId);
  return [{ code: EQUAL, value: number, yes: 0, no: body.length }, ...body];
};

/** The filter as an array of `struct sock_filter`, 8 bytes each. `ownId`: of the process that it will be set for. */
export const filterFor = (architecture: Architecture, ownId: number): Buffer => {
  const instructions: readonly Instruction[] = [
    { code: LOAD, value: ARCHITECTURE },
    { code: EQUAL, value: AUDIT_ARCH[architecture], yes: 1, no: 0 },
    { code: RETURN, value: KILL },
    { code: LOAD, value: NUMBER },
    // Numbers of the x32 interface are larger than any here, so none of them matches.
    ...SYSCALLS.flatMap((syscall) => {
      const number = syscall[architecture];
      return number === null ? [] : forCall(syscall, number, ownId);
    }),
    refuse,
  ];
  const program = Buffer.alloc(instructions.length * 8);
  instructions.forEach(({ code, value, yes = 0, no = 0 }, index) => {
    program.writeUInt16LE(code, index * 8);
    program.writeUInt8(yes, index * 8 + 2);
    program.writeUInt8(no, index * 8 + 3);
    program.writeUInt32LE(value >>> 0, index * 8 + 4);
  });
  return program;
};

/** A condition on one argument. The call is refused where it does not hold. */
export type Condition =
  /** The argument is one of these numbers. */
  | { readonly argument: number; readonly oneOf: readonly number[] }
  /** The argument is the process's own id. */
  | { readonly argument: number; readonly own: true }
  /** The bits of `all` are set, and none of `none`. */
  | { readonly argument: number; readonly all: number; readonly none: number };

export interface Syscall {
  readonly name: string;
  /** Numbers by Node's name of the architecture; null: not there. */
  readonly x64: number | null;
  readonly arm64: number | null;
  readonly condition?: Condition;
}

const call = (name: string, x64: number | null, arm64: number | null, condition?: Condition): Syscall =>
  condition === undefined ? { name, x64, arm64 } : { name, x64, arm64, condition };

const CLONE_THREAD = 0x1_0000;
/** CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const NEW_NAMESPACES = 0x7e02_0080;
const [MAP_SHARED, MAP_PRIVATE, MAP_GROWSDOWN, MAP_HUGETLB] = [0x1, 0x2, 0x100, 0x4_0000];
/** TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX. */
const IOCTLS = [0x5401, 0x5413, 0x541b, 0x5421, 0x5450, 0x5451];
/** F_DUPFD, GETFD, SETFD, GETFL, SETFL, GETLK, SETLK, SETLKW, OFD locks, DUPFD_CLOEXEC; not SETOWN, which sends signals. */
const FCNTLS = [0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030];
/** PR_SET_NAME, PR_GET_NAME, PR_SET_VMA. */
const PRCTLS = [15, 16, 0x5356_4d41];

/** Sources: the kernel's arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h. */
export const SYSCALLS: readonly Syscall[] = [
  call("read", 0, 63),
  call("write", 1, 64),
  call("open", 2, null),
  call("close", 3, 57),
  call("stat", 4, null),
  call("fstat", 5, 80),
  call("lstat", 6, null),
  call("poll", 7, null),
  call("ppoll", 271, 73),
  call("lseek", 8, 62),
  // The limit of memory counts only what is private and does not grow by itself.
  call("mmap", 9, 222, { argument: 3, all: MAP_PRIVATE, none: MAP_SHARED | MAP_GROWSDOWN | MAP_HUGETLB }),
  call("mprotect", 10, 226),
  call("munmap", 11, 215),
  call("brk", 12, 214),
  call("rt_sigaction", 13, 134),
  call("rt_sigprocmask", 14, 135),
  call("rt_sigreturn", 15, 139),
  call("ioctl", 16, 29, { argument: 1, oneOf: IOCTLS }),
  call("pread64", 17, 67),
  call("readv", 19, 65),
  call("writev", 20, 66),
  call("preadv", 295, 69),
  call("access", 21, null),
  call("faccessat", 269, 48),
  call("faccessat2", 439, 439),
  call("pipe2", 293, 59),
  call("sched_yield", 24, 124),
  call("mremap", 25, 216),
  call("mincore", 27, 232),
  call("madvise", 28, 233),
  call("dup", 32, 23),
  call("dup3", 292, 24),
  call("nanosleep", 35, 101),
  call("getpid", 39, 172),
  call("clone", 56, 220, { argument: 0, all: CLONE_THREAD, none: NEW_NAMESPACES }),
  // The launcher becomes Node by it; the fence lets no other file be run.
  call("execve", 59, 221),
  call("exit", 60, 93),
  call("kill", 62, 129, { argument: 0, own: true }),
  call("tgkill", 234, 131, { argument: 0, own: true }),
  call("uname", 63, 160),
  call("fcntl", 72, 25, { argument: 1, oneOf: FCNTLS }),
  call("getcwd", 79, 17),
  call("readlink", 89, null),
  call("readlinkat", 267, 78),
  call("gettimeofday", 96, 169),
  call("getrlimit", 97, 163),
  call("getrusage", 98, 165),
  call("sysinfo", 99, 179),
  call("times", 100, 153),
  call("getuid", 102, 174),
  call("getgid", 104, 176),
  call("geteuid", 107, 175),
  call("getegid", 108, 177),
  call("getppid", 110, 173),
  call("capget", 125, 90),
  call("sigaltstack", 131, 132),
  call("sched_getparam", 143, 121),
  call("sched_getscheduler", 145, 120),
  call("sched_getaffinity", 204, 123),
  call("prctl", 157, 167, { argument: 0, oneOf: PRCTLS }),
  call("arch_prctl", 158, null),
  call("gettid", 186, 178),
  call("futex", 202, 98),
  call("epoll_create1", 291, 20),
  call("epoll_ctl", 233, 21),
  call("epoll_wait", 232, null),
  call("epoll_pwait", 281, 22),
  call("getdents64", 217, 61),
  call("set_tid_address", 218, 96),
  call("fadvise64", 221, 223),
  call("clock_gettime", 228, 113),
  call("clock_getres", 229, 114),
  call("clock_nanosleep", 230, 115),
  call("exit_group", 231, 94),
  call("openat", 257, 56),
  call("newfstatat", 262, 79),
  call("statx", 332, 291),
  call("statfs", 137, 43),
  call("fstatfs", 138, 44),
  call("set_robust_list", 273, 99),
  call("get_robust_list", 274, 100),
  call("eventfd2", 290, 19),
  // Limits can be read, not changed: the new ones are NULL.
  call("prlimit64", 302, 261, { argument: 2, oneOf: [0] }),
  call("getcpu", 309, 168),
  call("getrandom", 318, 278),
  call("membarrier", 324, 283),
  call("pkey_mprotect", 329, 288),
  call("pkey_alloc", 330, 289),
  call("pkey_free", 331, 290),
  call("rseq", 334, 293),
];
