// The kernel's numbers of system calls, for an architecture.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Architecture } from "../../../../../src/warehouse/user-sql/fence/syscalls.ts";

/** Name → number: of the filter's list, and of calls that lead out of the fence or into others. */
export const kernelCalls = (architecture: Architecture) => {
  const text = readFileSync(join(import.meta.dirname, "kernel-calls.txt"), "utf8");
  const [listed, forbidden] = text.split("\n# Lead out of").map((part) => {
    const rows = [...part.matchAll(/^(\w+) (\d+|-) (\d+|-)$/gm)];
    const numbers = rows.map(([, name = "", x64, arm64]) => [name, architecture === "x64" ? x64 : arm64] as const);
    return new Map(numbers.flatMap(([name, number]) => (number === "-" ? [] : [[name, Number(number)] as const])));
  });
  if (listed === undefined || forbidden === undefined) throw new TypeError("kernel-calls.txt lacks a part");
  return { listed, forbidden };
};
