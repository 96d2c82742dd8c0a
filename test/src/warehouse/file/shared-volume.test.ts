// A volume that another user owns and the process's group may write, as Kubernetes' fsGroup makes it.
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

const GROUP = 54_321;
/** Users that the system has no names for. */
const USER = 60_001;
const NEXT_USER = 60_002;

const SCRIPT = `
  import { systemClock } from "./src/core/clock.ts";
  import { openWarehouse } from "./src/warehouse/file/warehouse.ts";
  const warehouse = await openWarehouse({ dataDir: process.argv[1], clock: systemClock });
  await warehouse.publish();
  await warehouse.close();
`;

/** Opens, publishes and closes the mirror of the volume, as this user where only root can become one. */
const publishAs = (volume: string, uid: number): void => {
  execFileSync(process.execPath, ["--import", "tsx", "--input-type=module", "--eval", SCRIPT, volume], {
    cwd: new URL("../../../../", import.meta.url),
    env: { ...process.env, HOME: volume, TMPDIR: volume },
    stdio: "pipe",
    ...(process.getuid?.() === 0 ? { uid, gid: GROUP } : {}),
  });
};

test("a user without a name makes its mirror in a volume that its group may write, leaves the volume's rights, and another user of the group goes on", () => {
  // Not in the tests' own folder, which only their user may enter.
  const volume = mkdtempSync("/tmp/duckmirror-volume-");
  onTestFinished(() => rmSync(volume, { recursive: true, force: true }));
  const dirs = [volume, join(volume, "state")];
  mkdirSync(join(volume, "state"));
  // Only root can give files away; another user owns the volume itself.
  const isRoot = process.getuid?.() === 0;
  for (const dir of isRoot ? dirs : []) chownSync(dir, 0, GROUP);
  for (const dir of dirs) chmodSync(dir, 0o2775);
  publishAs(volume, USER);
  expect(statSync(join(volume, "warehouse.duckdb")).size).toBeGreaterThan(0);
  expect(statSync(join(volume, "state")).mode & 0o777).toBe(isRoot ? 0o775 : 0o700);
  // What the volume's driver does when another pod mounts it.
  for (const name of readdirSync(volume, { recursive: true, encoding: "utf8" })) {
    if (isRoot) chownSync(join(volume, name), USER, GROUP);
    const { mode } = statSync(join(volume, name));
    chmodSync(join(volume, name), mode | 0o060 | (mode & 0o100 ? 0o010 : 0));
  }
  const before = statSync(join(volume, "warehouse.duckdb")).ino;
  publishAs(volume, NEXT_USER);
  expect(statSync(join(volume, "warehouse.duckdb")).ino).not.toBe(before);
});
