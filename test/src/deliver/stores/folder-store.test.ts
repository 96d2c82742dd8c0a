// A folder as a store of a set: conditions, links, and what is left after a failure.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folderStore } from "../../../../src/deliver/stores/folder-store.ts";
import { aFolder } from "../../../support/cli.ts";

const { signal } = new AbortController();
const rig = () => {
  const dir = join(aFolder(), "set");
  return { dir, store: folderStore("files", dir) };
};
const etagOf = async (store: ReturnType<typeof folderStore>, key: string) => (await store.get(key, signal))?.etag ?? "";
const fileOf = (text: string) => {
  const path = join(aFolder(), "part");
  writeFileSync(path, text);
  return { path, bytes: text.length, sha256: createHash("sha256").update(text).digest("hex") };
};

test("what was put is got again; what was never put, or lies below a file, is missing", async () => {
  const { store } = rig();
  expect(await store.get("a.json", signal)).toBeNull();
  await store.put("a.json", "1", null, signal);
  expect((await store.get("a.json", signal))?.text).toBe("1");
  expect(await store.get("a.json/b", signal)).toBeNull();
});

test("a write under a condition happens only if nothing, or the same text, is there", async () => {
  const { store } = rig();
  expect(await store.put("a", "1", { ifNoneMatch: "*" }, signal)).toBe(true);
  expect(await store.put("a", "2", { ifNoneMatch: "*" }, signal)).toBe(false);
  const etag = await etagOf(store, "a");
  expect(await store.put("a", "2", { ifMatch: etag }, signal)).toBe(true);
  expect(await store.put("a", "3", { ifMatch: etag }, signal)).toBe(false);
  expect(await store.put("missing", "3", { ifMatch: etag }, signal)).toBe(false);
  expect((await store.get("a", signal))?.text).toBe("2");
});

test("of several writes at once under one condition, one at most happens", async () => {
  const { store } = rig();
  await store.put("a", "0", null, signal);
  const etag = await etagOf(store, "a");
  const done = await Promise.all(["1", "2", "3"].map((text) => store.put("a", text, { ifMatch: etag }, signal)));
  expect(done.filter((written) => written)).toHaveLength(1);
});

test("a file that is sent is there whole, in folders that are made for it, and can be fetched", async () => {
  const { store, dir } = rig();
  await store.upload("t/p/x.parquet", fileOf("rows"), signal);
  expect(readFileSync(join(dir, "t", "p", "x.parquet"), "utf8")).toBe("rows");
  expect(readdirSync(join(dir, "t", "p"))).toEqual(["x.parquet"]);
  const target = join(aFolder(), "copy");
  expect(await store.download("t/p/x.parquet", target, signal)).toBe(true);
  expect(readFileSync(target, "utf8")).toBe("rows");
  expect(await store.download("t/p/y.parquet", join(aFolder(), "copy"), signal)).toBe(false);
});

test("a file that cannot be sent leaves nothing behind", async () => {
  const { store, dir } = rig();
  const missing = { ...fileOf("rows"), path: join(aFolder(), "none") };
  await expect(store.upload("t/x", missing, signal)).rejects.toMatchObject({ code: "DESTINATION_FAILED" });
  expect(readdirSync(join(dir, "t"))).toEqual([]);
  await store.put("folder/x", "1", null, signal);
  await expect(store.put("folder", "2", null, signal)).rejects.toMatchObject({ code: "DESTINATION_FAILED" });
  expect(readdirSync(dir).sort()).toEqual(["folder", "t"]);
});

test("files are listed by their keys, and deleted by them; what is missing is no failure", async () => {
  const { store } = rig();
  const keys = async () => {
    const found: string[] = [];
    for await (const { key } of store.list(signal)) found.push(key);
    return found.sort();
  };
  expect(await keys()).toEqual([]);
  await store.put("a", "1", null, signal);
  await store.put("t/b", "1", null, signal);
  expect(await keys()).toEqual(["a", "t/b"]);
  await store.delete(["t/b", "t/c"], signal);
  expect(await keys()).toEqual(["a"]);
});

test.each(["../out", "t/../../out", ".."])("a key that leads out of the folder is refused: %s", async (key) => {
  const { store, dir } = rig();
  const outside = join(dir, "..", "out");
  writeFileSync(outside, "mine");
  for (const step of [
    () => store.get(key, signal),
    () => store.put(key, "x", null, signal),
    () => store.upload(key, fileOf("x"), signal),
    () => store.delete([key], signal),
  ])
    await expect(step()).rejects.toMatchObject({ code: "EXPORT_FOLDER" });
  expect(readFileSync(outside, "utf8")).toBe("mine");
});

test("a link below the folder is not followed: neither written nor deleted through", async () => {
  const { store, dir } = rig();
  const elsewhere = aFolder();
  mkdirSync(dir);
  symlinkSync(elsewhere, join(dir, "t"));
  writeFileSync(join(elsewhere, "x"), "mine");
  await expect(store.put("t/new", "x", null, signal)).rejects.toThrow();
  await expect(store.delete(["t/x"], signal)).rejects.toThrow();
  expect(readdirSync(elsewhere)).toEqual(["x"]);
});

test("an abort stops before anything is written", async () => {
  const { store, dir } = rig();
  const reason = new Error("INTERRUPTED");
  await expect(store.put("a", "1", null, AbortSignal.abort(reason))).rejects.toBe(reason);
  expect(existsSync(join(dir, "a"))).toBe(false);
});

test("other machines know no address of a folder", () => {
  expect(rig().store.address("a")).toBeNull();
});
