// System calls, through koffi, with which a process limits its own resources and gives up its rights (Landlock, seccomp). Only the launcher
// of a user's SQL (launcher.ts) uses it.
import koffi from "koffi";

/** A step that the kernel refused. */
export class FenceError extends Error {}

const libc = koffi.load(null);
const syscall = libc.func("long syscall(long number, ...)");
const prctl = libc.func("int prctl(int option, ...)");
const fcntl = libc.func("int fcntl(int fd, int command, ...)");
const setrlimit = libc.func("int setrlimit(int resource, const void *limit)");
const execve = libc.func("int execve(const char *path, const char **argv, const char **env)");

const check = (step: string, result: unknown): number => {
  const value = Number(result);
  if (value < 0) throw new FenceError(`${step}: errno ${koffi.errno()}`);
  return value;
};

const [CREATE_RULESET, ADD_RULE, RESTRICT_SELF, CLOSE_RANGE] = [444, 445, 446, 436];
const [SET_PDEATHSIG, SET_SECCOMP, SET_NO_NEW_PRIVS] = [1, 22, 38];
const SIGKILL = 9;

/** Numbers of limits, the same on x64 and arm64: processor time, size of a file, writable memory, core file, descriptors. */
const [CPU, FSIZE, DATA, CORE, NOFILE] = [0, 1, 2, 4, 7];

/** From now on this process has these limits, and can raise none. No file may grow. Throws FenceError. */
export const limitResources = ({ cpuSeconds, memoryBytes }: { cpuSeconds: number; memoryBytes: number }): void => {
  // Each pipe holds memory of the kernel, so descriptors are few.
  const most = [
    [CPU, cpuSeconds],
    [FSIZE, 0],
    [DATA, memoryBytes],
    [CORE, 0],
    [NOFILE, 256],
  ] as const;
  for (const [resource, value] of most) {
    const limit = Buffer.from(new BigUint64Array([BigInt(value), BigInt(value)]).buffer);
    check("limit", setrlimit(resource, limit));
  }
};

/** Version of Landlock, from 1. Throws FenceError where the kernel has none. */
export const landlockVersion = (): number =>
  check("Landlock", syscall(CREATE_RULESET, "void *", null, "size_t", 0, "uint32_t", 1));

/** Rights of a file or folder in Landlock. */
export const RIGHTS = { execute: 1, write: 2, readFile: 4, readFolder: 8 } as const;

/** Everything that this version of Landlock can forbid. */
const everythingIn = (version: number): Buffer => {
  const fileRights = [13, 14, 15, 15, 16][Math.min(version, 5) - 1] ?? 13;
  const attributes = Buffer.alloc(version >= 6 ? 24 : version >= 4 ? 16 : 8);
  attributes.writeBigUInt64LE((1n << BigInt(fileRights)) - 1n, 0);
  // Binding and connecting by TCP; abstract sockets and signals of others.
  if (version >= 4) attributes.writeBigUInt64LE(3n, 8);
  if (version >= 6) attributes.writeBigUInt64LE(3n, 16);
  return attributes;
};

export interface FileRule {
  /** Descriptor of a file or folder. */
  readonly fd: number;
  readonly rights: number;
}

/** From now on this thread, and what it becomes, has these rights on these files, and none on others. Throws FenceError. */
export const restrictFiles = (version: number, rules: readonly FileRule[]): void => {
  const attributes = everythingIn(version);
  const ruleset = check(
    "ruleset",
    syscall(CREATE_RULESET, "void *", attributes, "size_t", attributes.length, "uint32_t", 0),
  );
  for (const { fd, rights } of rules) {
    const rule = Buffer.alloc(12);
    rule.writeBigUInt64LE(BigInt(rights), 0);
    rule.writeInt32LE(fd, 8);
    check("rule", syscall(ADD_RULE, "int", ruleset, "int", 1, "void *", rule, "uint32_t", 0));
  }
  check("restriction", syscall(RESTRICT_SELF, "int", ruleset, "uint32_t", 0));
};

/** Nothing that this process becomes gets rights by its file; it ends when its parent ends. Throws FenceError. */
export const renounceRights = (): void => {
  const zeros = ["ulong", 0, "ulong", 0, "ulong", 0] as const;
  check("no new privileges", prctl(SET_NO_NEW_PRIVS, "ulong", 1, ...zeros));
  check("end with the parent", prctl(SET_PDEATHSIG, "ulong", SIGKILL, ...zeros));
};

/** Sets the filter of system calls for good. Throws FenceError. */
export const restrictCalls = (filter: Buffer): void => {
  const program = Buffer.alloc(16);
  program.writeUInt16LE(filter.length / 8, 0);
  program.writeBigUInt64LE(BigInt(koffi.address(filter)), 8);
  check("filter of system calls", prctl(SET_SECCOMP, "ulong", 2, "void *", program, "ulong", 0, "ulong", 0));
};

/** Keeps descriptors 0 to 3 and closes all others when the process becomes another program. Throws FenceError. */
export const keepStandardFiles = (): void => {
  check("descriptors", syscall(CLOSE_RANGE, "uint32_t", 4, "uint32_t", 0xffffffff, "uint32_t", 4));
  for (const fd of [0, 1, 2, 3]) check("descriptor", fcntl(fd, 2, "int", 0));
};

/** Replaces this process with a program. Returns only by throwing FenceError. */
export const become = (path: string, argv: readonly string[], env: readonly string[]): never => {
  execve(path, [...argv, null], [...env, null]);
  throw new FenceError(`start of ${path}: errno ${koffi.errno()}`);
};
