// The filter of system calls, run instruction by instruction as the kernel does it, for both architectures: each number
// gets the verdict that the list of names says, and each condition holds for any arguments.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Condition, filterFor, SYSCALLS } from "../../../../../src/warehouse/user-sql/fence/syscalls.ts";
import { kernelCalls } from "./kernel-calls.ts";

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

/** What the condition says in words, without a program. */
const holds = (condition: Condition | undefined, given: readonly bigint[]): boolean => {
  if (condition === undefined) return true;
  const value = BigInt.asUintN(64, given[condition.argument] ?? 0n);
  if ("own" in condition) return value === BigInt(OWN_ID);
  if ("oneOf" in condition) return condition.oneOf.some((one) => value === BigInt(one));
  if (value >= 2n ** 32n) return false;
  return (value & BigInt(condition.all)) === BigInt(condition.all) && (value & BigInt(condition.none)) === 0n;
};

const args = fc.array(
  fc.oneof(
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    fc.constantFrom(...[0, 1, 2, 3, 15, 0x22, 0x5413, 0x10000, 0x3d0f00, OWN_ID, 2 ** 32, 2 ** 32 + 15].map(BigInt)),
    ...SYSCALLS.flatMap(({ condition }) =>
      condition !== undefined && "oneOf" in condition ? [fc.constantFrom(...condition.oneOf.map(BigInt))] : [],
    ),
  ),
  { minLength: 6, maxLength: 6 },
);

describe.each(["x64", "arm64"] as const)("on %s", (architecture) => {
  const program = filterFor(architecture, OWN_ID);
  const auditArch = AUDIT_ARCH[architecture];
  const kernel = kernelCalls(architecture);
  const listed = new Map(SYSCALLS.flatMap((call) => (call[architecture] === null ? [] : [[call[architecture], call]])));
  const verdict = (number: number, given: readonly bigint[] = [0n, 0n, 0n, 0n, 0n, 0n]) =>
    run(program, { number, arguments: given, auditArch });

  test("each name of the list has the kernel's number", () => {
    const own = SYSCALLS.flatMap((call) => (call[architecture] === null ? [] : [[call.name, call[architecture]]]));
    expect(own).toEqual(own.map(([name]) => [name, kernel.listed.get(String(name))]));
    // What is null does not exist there.
    const missing = SYSCALLS.filter((call) => call[architecture] === null).map(({ name }) => name);
    expect(missing.filter((name) => kernel.listed.has(name))).toEqual([]);
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
    const numbers = [...kernel.forbidden.values()];
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
