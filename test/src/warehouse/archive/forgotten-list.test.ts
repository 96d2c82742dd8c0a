// The list of erased contacts: it identifies nobody without its key, and is never taken for empty when it is not.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  keyedForgotten,
  readForgotten,
  refuseUnfinished,
  writeForgotten,
} from "../../../../src/warehouse/archive/forgotten-list.ts";
import { tempDir } from "../temp-dir.ts";

const place = async () => {
  const state = tempDir();
  const dir = join(state, "archive");
  await mkdir(dir);
  return { dir, key: join(state, "forget.key"), list: join(dir, "forgotten.json") };
};
const entryOf = (hash: string, done = true) => ({ hash, forgotten_at: "2026-01-01T00:00:00.000Z", done });

test("a contact on the list is found by its id, finished or not, and no other", async () => {
  const { dir, list } = await place();
  const { hashOf } = await keyedForgotten(dir);
  await writeForgotten(dir, [entryOf(hashOf("p_1")), entryOf(hashOf("p_2"), false)]);
  const read = await readForgotten(dir);
  expect([read.find("p_1"), read.find("p_2"), read.find("p_3")]).toEqual([hashOf("p_1"), hashOf("p_2"), null]);
  expect(readFileSync(list, "utf8")).not.toContain("p_1");
});

test("the key is made once; another data directory has another one", async () => {
  const { dir } = await place();
  const first = (await keyedForgotten(dir)).hashOf("p_1");
  expect((await keyedForgotten(dir)).hashOf("p_1")).toBe(first);
  expect((await keyedForgotten((await place()).dir)).hashOf("p_1")).not.toBe(first);
});

test("without a list nobody is erased, with or without a key", async () => {
  const { dir } = await place();
  expect((await readForgotten(dir)).find("p_1")).toBeNull();
  await keyedForgotten(dir);
  expect((await readForgotten(dir)).entries).toEqual([]);
});

test("a list whose key is gone or damaged, or that cannot be read, stops: a sync would store erased people again", async () => {
  const { dir, key, list } = await place();
  await writeForgotten(dir, [entryOf((await keyedForgotten(dir)).hashOf("p_1"))]);
  const unreadable = { code: "FORGOTTEN_UNREADABLE" };
  writeFileSync(key, "short");
  await expect(readForgotten(dir)).rejects.toMatchObject(unreadable);
  rmSync(key);
  await expect(readForgotten(dir)).rejects.toMatchObject(unreadable);
  await expect(keyedForgotten(dir)).rejects.toMatchObject(unreadable);
  for (const text of ["", "{", '{"version":2,"contacts":[]}', '{"version":1,"contacts":[{"hash":"x"}]}']) {
    writeFileSync(list, text);
    await expect(readForgotten(dir)).rejects.toMatchObject(unreadable);
  }
});

test("a key whose list is gone stops as well", async () => {
  const { dir, list } = await place();
  await keyedForgotten(dir);
  rmSync(list);
  await expect(readForgotten(dir)).rejects.toMatchObject({ code: "FORGOTTEN_UNREADABLE" });
});

test("an erasure that was interrupted stops what would read the half-erased mirror", async () => {
  const { dir } = await place();
  const list = await keyedForgotten(dir);
  refuseUnfinished({ ...list, entries: [entryOf("a")] });
  const half = { ...list, entries: [entryOf("a"), entryOf("b", false)] };
  expect(() => refuseUnfinished(half)).toThrow(expect.objectContaining({ code: "FORGET_UNFINISHED" }));
});
