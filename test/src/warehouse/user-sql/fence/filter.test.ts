// The filter of system calls, run instruction by instruction as the kernel does it, for both architectures: each number of the kernel's
// tables gets the verdict that the list of names says, and each condition holds for any arguments.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Architecture,
  type Condition,
  filterFor,
  SYSCALLS,
} from "../../../../../src/warehouse/user-sql/fence/syscalls.ts";

const OWN_ID = 4_242;
const AUDIT_ARCH = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;
const [KILL, ENOSYS, ALLOW] = [0x80000000, 0x00050026, 0x7fff0000];
/** Numbers of the x32 interface have this bit. */
const X32 = 0x40000000;

interface Called {
  readonly number: number;
  readonly arguments: readonly bigint[];
  readonly auditArch: number;
}

/** `struct seccomp_data`: number, architecture, address of the instruction, six arguments. */
const bytesOf = ({ number, auditArch, arguments: given }: Called): Buffer => {
  const bytes = Buffer.alloc(64);
  bytes.writeUInt32LE(number, 0);
  bytes.writeUInt32LE(auditArch, 4);
  for (const [index, value] of given.entries()) bytes.writeBigUInt64LE(BigInt.asUintN(64, value), 16 + index * 8);
  return bytes;
};

/** Runs a program of classic BPF: loads of 32 bits, comparisons, AND, RETURN. Throws on anything else, and past its end. */
const run = (program: Buffer, called: Called): number => {
  const input = bytesOf(called);
  let accumulator = 0;
  for (let at = 0; ; at += 1) {
    const [code, yes, no] = [
      program.readUInt16LE(at * 8),
      program.readUInt8(at * 8 + 2),
      program.readUInt8(at * 8 + 3),
    ];
    const value = program.readUInt32LE(at * 8 + 4);
    if (code === 0x06) return value;
    if (code === 0x20) accumulator = input.readUInt32LE(value);
    else if (code === 0x54) accumulator = (accumulator & value) >>> 0;
    else if (code === 0x15) at += accumulator === value ? yes : no;
    else if (code === 0x45) at += (accumulator & value) !== 0 ? yes : no;
    else throw new TypeError(`instruction ${code.toString(16)}`);
  }
};

/** The kernel's name → number, for an architecture. */
const tableOf = (architecture: Architecture): ReadonlyMap<string, number> => {
  const lines = readFileSync(join(import.meta.dirname, "kernel-calls.txt"), "utf8")
    .split("\n")
    .slice(1, -1);
  return new Map(
    lines.flatMap((line) => {
      const [name = "", x64 = "-", arm64 = "-"] = line.split(" ");
      const number = architecture === "x64" ? x64 : arm64;
      return number === "-" ? [] : [[name, Number(number)] as const];
    }),
  );
};

/** What the condition says in words, without a program. */
const holds = (condition: Condition | undefined, given: readonly bigint[]): boolean => {
  if (condition === undefined) return true;
  const value = BigInt.asUintN(64, given[condition.argument] ?? 0n);
  if ("own" in condition) return value === BigInt(OWN_ID);
  if ("oneOf" in condition) return condition.oneOf.some((one) => value === BigInt(one));
  if (value >= 2n ** 32n) return false;
  return (value & BigInt(condition.all)) === BigInt(condition.all) && (value & BigInt(condition.none)) === 0n;
};

/** Calls that lead out of the fence, or into others. */
const FORBIDDEN =
  "socket connect bind listen accept4 sendto sendmsg sendmmsg recvmsg socketpair execveat ptrace process_vm_readv process_vm_writev unshare setns mount umount2 pivot_root chroot io_uring_setup io_uring_enter io_uring_register bpf perf_event_open userfaultfd keyctl add_key request_key seccomp landlock_restrict_self fchmodat fchmod fchownat fchown utimensat setxattr truncate ftruncate unlinkat mkdirat mknodat symlinkat linkat renameat2 pidfd_open pidfd_send_signal pidfd_getfd tkill rt_sigqueueinfo rt_tgsigqueueinfo kexec_load init_module finit_module setuid setresuid setrlimit sched_setaffinity setpriority memfd_create shmget msgget semget mq_open inotify_init1 fanotify_init open_by_handle_at openat2 copy_file_range splice sendfile vmsplice clone3 personality capset".split(
    " ",
  );

const args = fc.array(
  fc.oneof(
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    fc.constantFrom(
      0n,
      1n,
      2n,
      3n,
      0x10000n,
      0x3d0f00n,
      BigInt(OWN_ID),
      0x5413n,
      0x22n,
      15n,
      2n ** 32n,
      2n ** 32n + 15n,
    ),
    ...SYSCALLS.flatMap(({ condition }) =>
      condition !== undefined && "oneOf" in condition ? [fc.constantFrom(...condition.oneOf.map(BigInt))] : [],
    ),
  ),
  { minLength: 6, maxLength: 6 },
);

describe.each(["x64", "arm64"] as const)("on %s", (architecture) => {
  const program = filterFor(architecture, OWN_ID);
  const auditArch = AUDIT_ARCH[architecture];
  const kernel = tableOf(architecture);
  const listed = new Map(SYSCALLS.flatMap((call) => (call[architecture] === null ? [] : [[call[architecture], call]])));
  const verdict = (number: number, given: readonly bigint[] = [0n, 0n, 0n, 0n, 0n, 0n]) =>
    run(program, { number, arguments: given, auditArch });

  test("each name of the list has the kernel's number", () => {
    const own = SYSCALLS.flatMap((call) => (call[architecture] === null ? [] : [[call.name, call[architecture]]]));
    expect(own).toEqual(own.map(([name]) => [name, kernel.get(String(name))]));
    // What is null does not exist there.
    const missing = SYSCALLS.filter((call) => call[architecture] === null).map(({ name }) => name);
    expect(missing.filter((name) => kernel.has(name))).toEqual([]);
  });

  test("every number has the verdict of the list, and every other one none but a refusal", () => {
    fc.assert(
      fc.property(args, (given) => {
        for (let number = 0; number < 1_024; number += 1) {
          const call = listed.get(number);
          const allowed = call !== undefined && holds(call.condition, given);
          if (verdict(number, given) !== (allowed ? ALLOW : ENOSYS)) return false;
          if (verdict(X32 + number, given) !== ENOSYS) return false;
        }
        return true;
      }),
      { numRuns: 30 },
    );
  });

  test("what leads out of the fence is refused with any arguments", () => {
    const numbers = FORBIDDEN.flatMap((name) => kernel.get(name) ?? []);
    expect(numbers.length).toBeGreaterThan(70);
    fc.assert(fc.property(args, (given) => numbers.every((number) => verdict(number, given) === ENOSYS)));
  });

  test("a call of another architecture ends the process", () => {
    const others = [AUDIT_ARCH[architecture === "x64" ? "arm64" : "x64"], 0x40000003, 0x40000028];
    for (const other of others) {
      for (let number = 0; number < 1_024; number += 1)
        expect(run(program, { number, arguments: [], auditArch: other })).toBe(KILL);
    }
  });
});
