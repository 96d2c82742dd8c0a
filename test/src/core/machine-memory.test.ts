// Memory of the machine, or of the container: limits of control groups of both versions, on the group or above it.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, totalmem } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { machineMemory } from "../../../src/core/config/memory-plan.ts";

const GIB = 2 ** 30;

/** A file system with these files. */
const aRoot = (files: Readonly<Record<string, string>>): string => {
  const root = mkdtempSync(join(tmpdir(), "duckmirror-machine-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
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
