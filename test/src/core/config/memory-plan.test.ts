// What DuckDB gets of the process's memory: never less than is safe, never all that the machine has.
import { mkdirSync, writeFileSync } from "node:fs";
import { totalmem } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  DEFAULT_MEMORY,
  largeInFlight,
  machineMemory,
  memoryPlan,
  parseMemory,
} from "../../../../src/core/config/memory-plan.ts";
import { aFolder } from "../../../support/cli.ts";

const MIB = 2 ** 20;
const GIB = 2 ** 30;

test.each([
  ["25%", { kind: "share", share: 0.25 }],
  ["12.5 %", { kind: "share", share: 0.125 }],
  ["512MiB", { kind: "size", bytes: 512 * MIB }],
  ["2 GB", { kind: "size", bytes: 2e9 }],
])("%s is a setting", (text, setting) => {
  expect(parseMemory(text)).toEqual(setting);
});

test.each(["", "0%", "100%", "-5%", "511MiB", "64MB", "much"])("%j is none", (text) => {
  expect(parseMemory(text)).toBeNull();
});

describe("of the default", () => {
  test.each([
    [24 * GIB, 6 * GIB - 256 * MIB],
    [8 * GIB, 2 * GIB - 256 * MIB],
    // A quarter would be too little for large tables.
    [2 * GIB, 768 * MIB],
    [GIB, Math.floor(0.8 * GIB) - 256 * MIB],
    // Too small a machine: what is safe.
    [256 * MIB, 256 * MIB],
  ])("a machine of %i bytes leaves DuckDB %i", (machine, ceilingBytes) => {
    expect(memoryPlan(DEFAULT_MEMORY, machine)).toEqual({ startBytes: 256 * MIB, ceilingBytes });
  });
});

test("whatever the setting, DuckDB starts with what is safe, and the ceiling lies below the machine's memory", () => {
  const setting = fc.oneof(
    fc.record({ kind: fc.constant("size"), bytes: fc.integer({ min: 512 * MIB, max: 1024 * GIB }) }),
    fc.record({ kind: fc.constant("share"), share: fc.double({ min: 0.001, max: 0.99, noNaN: true }) }),
  );
  fc.assert(
    fc.property(setting, fc.integer({ min: 640 * MIB, max: 512 * GIB }), (chosen, machine) => {
      const { startBytes, ceilingBytes } = memoryPlan(chosen, machine);
      expect(startBytes).toBe(256 * MIB);
      expect(ceilingBytes).toBeGreaterThanOrEqual(startBytes);
      expect(ceilingBytes).toBeLessThan(machine);
    }),
  );
});

test("fewer large responses are in flight on a machine of 1 GiB than on one of 2 GiB", () => {
  expect(largeInFlight(memoryPlan(DEFAULT_MEMORY, GIB))).toBe(2);
  expect(largeInFlight(memoryPlan(DEFAULT_MEMORY, 2 * GIB))).toBe(8);
  expect(largeInFlight(memoryPlan({ kind: "size", bytes: 512 * MIB }, 8 * GIB))).toBe(2);
});

// Memory of the machine, or of the container: limits of control groups of both versions, on the group or above it.

/** A file system with these files. */
const aRoot = (files: Readonly<Record<string, string>>): string => {
  const root = aFolder();
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  return root;
};

test.each([
  ["no control group", {}, 8 * GIB],
  [
    "version 2, the group itself",
    { "proc/self/cgroup": "0::/a.slice/b.scope\n", "sys/fs/cgroup/a.slice/b.scope/memory.max": `${GIB}\n` },
    GIB,
  ],
  [
    "version 2, a group above it",
    {
      "proc/self/cgroup": "0::/a.slice/b.scope\n",
      "sys/fs/cgroup/a.slice/b.scope/memory.max": "max\n",
      "sys/fs/cgroup/a.slice/memory.max": `${2 * GIB}\n`,
    },
    2 * GIB,
  ],
  ["version 2, in a container", { "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": `${GIB}\n` }, GIB],
  [
    "version 1, in a container",
    {
      "proc/self/cgroup": "9:cpu,memory:/docker/x\n1:name=systemd:/\n",
      "sys/fs/cgroup/memory/memory.limit_in_bytes": `${GIB}\n`,
    },
    GIB,
  ],
  [
    "version 1 without a limit",
    { "proc/self/cgroup": "9:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n" },
    8 * GIB,
  ],
])("%s", (_, files, expected) => {
  expect(machineMemory(aRoot(files), 8 * GIB)).toBe(expected);
});

test("this machine has no more than its memory", () => {
  expect(machineMemory()).toBeGreaterThan(0);
  expect(machineMemory()).toBeLessThanOrEqual(totalmem());
});
