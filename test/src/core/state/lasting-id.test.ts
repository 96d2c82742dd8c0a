// An id that is made once and stays.
import { chmodSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lastingId } from "../../../../src/core/state/lasting-id.ts";
import { asNobody } from "../../../support/as-nobody.ts";
import { tempDir } from "../../warehouse/temp-dir.ts";

test("the same for ever, also if several ask for it at once", async () => {
  const dataDir = tempDir();
  const ids = await Promise.all(Array.from({ length: 5 }, () => lastingId(dataDir, "id")));
  expect(new Set(ids).size).toBe(1);
  expect(ids[0]).toMatch(/^[0-9a-f]{16}$/);
  expect(await lastingId(dataDir, "id")).toBe(ids[0]);
  expect(await lastingId(dataDir, "other")).not.toBe(ids[0]);
  expect(readdirSync(join(dataDir, "state")).sort()).toEqual(["id", "other"]);
});

test("a file that holds no id is replaced; a link in its place stops", async () => {
  const dataDir = tempDir();
  mkdirSync(join(dataDir, "state"));
  writeFileSync(join(dataDir, "state", "id"), "");
  const id = await lastingId(dataDir, "id");
  expect(readFileSync(join(dataDir, "state", "id"), "utf8")).toBe(`${id}\n`);
  symlinkSync(join(dataDir, "state", "id"), join(dataDir, "state", "linked"));
  await expect(lastingId(dataDir, "linked")).rejects.toMatchObject({ code: "DATA_DIR_UNWRITABLE" });
});

test("an id that cannot be read for a moment stays what it is, because destinations know the mirror by it", async () => {
  const dataDir = tempDir();
  const id = await lastingId(dataDir, "id");
  const [state, file] = [join(dataDir, "state"), join(dataDir, "state", "id")];
  chmodSync(dataDir, 0o755);
  chmodSync(state, 0o777);
  chmodSync(file, 0);
  await expect(asNobody(() => lastingId(dataDir, "id"))).rejects.toMatchObject({ code: "EACCES" });
  chmodSync(file, 0o600);
  expect(await lastingId(dataDir, "id")).toBe(id);
});
