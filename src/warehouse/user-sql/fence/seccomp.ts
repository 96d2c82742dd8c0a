// The table of system calls as a filter program (classic BPF) for seccomp. PURE.
import { type Condition, SYSCALLS, type Syscall } from "./syscalls.ts";

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
