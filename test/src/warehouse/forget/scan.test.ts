// A deleted value that a database file still holds is found; two values side by side that read like one are not.
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { DEFAULT_MEMORY, memoryPlan } from "../../../../src/core/config/memory-plan.ts";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { formOf, matchesIn, scanFor } from "../../../../src/warehouse/forget/scan.ts";
import { asNobody } from "../../../support/as-nobody.ts";
import { tempDir } from "../temp-dir.ts";

// Matches are found wherever the chunks end, each with the bytes around it.

async function* inChunks(text: string, size: number): AsyncIterable<Buffer> {
  for (let at = 0; at < text.length; at += size) yield Buffer.from(text.slice(at, at + size));
}
const found = async (text: string, size: number, words = false) =>
  (await matchesIn(inChunks(text, size), [formOf("contact-21")], { words })).map((hex) =>
    Buffer.from(hex, "hex").toString(),
  );

test("every match is found once, with eight bytes before and after, however the text is cut", async () => {
  const text = "contact-21 abcdefgh contact-21contact-21 and the end contact-21";
  const whole = await found(text, text.length);
  expect(whole).toEqual([
    "contact-21 abcdefg",
    "bcdefgh contact-21contact-",
    "ntact-21contact-21 and the",
    "the end contact-21",
  ]);
  for (let size = 1; size < text.length; size += 1) expect(await found(text, size), `${size}`).toEqual(whole);
});

test("words: a match beside a letter or a digit does not count", async () => {
  const text = "contact-213 (contact-21) xcontact-21 contact-21";
  for (const size of [1, 7, text.length]) expect(await found(text, size, true), `${size}`).toHaveLength(2);
});

test("a text is found in every form of JSON and of a URL; a short one is not searched for", async () => {
  const matches = async (text: string, searched: string) =>
    (await matchesIn(inChunks(text, 5), [formOf(searched)], { words: true })).length;
  for (const form of [
    'a"b c/ü',
    'a\\"b c\\/\\u00fc',
    "a%22b%20c%2F%C3%BC",
    "a%22b+c%2f%c3%bc",
    "a%2522b%2520c%252F%25C3%25BC",
  ])
    expect([form, await matches(`%2Fcontacts%2F${form} `, 'a"b c/ü')]).toEqual([form, 1]);
  expect(await matches("%41a%22b+c%2fü", 'a"b c/ü')).toBe(0);
  expect(await matches("12345", "12345")).toBe(0);
});

const ERASED = "contact-21";
const PERSON = { id: ERASED, hash: "", traces: [{ kind: "id", text: ERASED }] } as const;
const MEANS = { tempDir: "", memory: memoryPlan(DEFAULT_MEMORY, 2 ** 32) };

/** What a search finds in a database after `statements`, each of them written to the file. */
const leftAfter = async (statements: readonly string[]) => {
  const folder = tempDir();
  const file = join(folder, "warehouse.duckdb");
  const database = await openDatabase(file);
  for (const statement of statements) {
    await database.run(statement);
    await database.run("CHECKPOINT");
  }
  await database.close();
  const { left, files } = await scanFor([PERSON], [folder], { ...MEANS, tempDir: join(folder, "tmp") });
  return { files, times: left.map(({ table, kind, times }) => [table, kind, times]) };
};

// DuckDB writes the values of a block from its end: the second stands before the first.
const NEIGHBOURS = "CREATE TABLE keys AS SELECT unnest(['1839', 'contact-2']) AS key";
const ERASED_AND_DELETED = [
  `CREATE TABLE contacts AS SELECT '${ERASED}' AS id, 'somebody' AS name UNION ALL SELECT 'contact-35', 'else'`,
  `DELETE FROM contacts WHERE id = '${ERASED}'`,
];

test("an id that two neighbouring values form is no trace", async () => {
  expect(await leftAfter([NEIGHBOURS])).toEqual({ files: 1, times: [] });
});

test("an id in a deleted row that the file still holds is a trace, also beside neighbours that form it", async () => {
  expect(await leftAfter(ERASED_AND_DELETED)).toEqual({ files: 1, times: [[null, "id", 1]] });
  expect(await leftAfter([NEIGHBOURS, ...ERASED_AND_DELETED])).toEqual({ files: 1, times: [[null, "id", 1]] });
});

const NO_TRACE = { id: ERASED, hash: "", traces: [] };
const searched = async (locked: string) => {
  const folder = tempDir();
  chmodSync(folder, 0o755);
  mkdirSync(join(folder, locked));
  chmodSync(join(folder, locked), 0);
  writeFileSync(join(folder, "exports.ndjson"), "");
  return asNobody(() => scanFor([NO_TRACE], [folder], { ...MEANS, tempDir: join(folder, "tmp") }));
};

test("a folder that cannot be read is an error, because a search without it proves nothing", async () => {
  await expect(searched("export")).rejects.toMatchObject({ code: "EACCES" });
});

test("what the file system made at the root of a disk does not keep the other files from being searched", async () => {
  expect((await searched("lost+found")).files).toBe(1);
});

/** What is left, and what is only a mention, of the contact `1042` in a database with these tables. */
const foundOfShortId = async (...statements: readonly string[]) => {
  const folder = tempDir();
  const database = await openDatabase(join(folder, "warehouse.duckdb"));
  for (const statement of statements) await database.run(statement);
  await database.close();
  writeFileSync(join(folder, "requests.ndjson"), '{"url":"/v1/signals/104233"}');
  const traces = ["1042", "104233"].map((text) => ({ kind: "id", text }) as const);
  const { left, mentions } = await scanFor([{ id: "1042", hash: "", traces }], [folder], {
    ...MEANS,
    tempDir: join(folder, "tmp"),
  });
  return { left: left.map(({ table }) => table), mentions: mentions.map(({ table }) => table) };
};

test("a short id that is something else's, too, keeps no erasure from ending", async () => {
  expect(
    await foundOfShortId(
      "CREATE TABLE companies AS SELECT '1042' AS id",
      "CREATE TABLE requests AS SELECT '/v1/accounts/1042' AS url",
      "CREATE TABLE contacts AS SELECT 'other' AS id, '+44 1042' AS phone",
    ),
  ).toEqual({ left: [], mentions: [null, "main.companies", "main.requests"] });
});

test("a short id in the contacts' own tables is a trace", async () => {
  expect(await foundOfShortId("CREATE TABLE contacts AS SELECT '1042' AS id, 'x' AS phone")).toMatchObject({
    left: ["main.contacts"],
  });
});

test("a short id in an export of the contacts is a trace, too", async () => {
  const folder = tempDir();
  const database = await openDatabase(":memory:");
  for (const name of ["history.contacts", "companies"])
    await database.run(`COPY (SELECT '1042' AS id) TO '${join(folder, `${name}.parquet`)}' (FORMAT parquet)`);
  await database.close();
  const person = { id: "1042", hash: "", traces: [{ kind: "id", text: "1042" }] } as const;
  const { left, mentions } = await scanFor([person], [folder], { ...MEANS, tempDir: join(folder, "tmp") });
  expect([left, mentions].map((hits) => hits.map(({ file }) => basename(file)))).toEqual([
    ["history.contacts.parquet"],
    ["companies.parquet"],
  ]);
});

test.each([
  ["ada.lovelace@example.com", "ada.lovelace%40example.com"],
  ["urn:person:778899", "urn%3aperson%3A778899"],
  ["c/slash id", "c%2fslash+id"],
  ["c/slash id", "c\\/slash id"],
])("%s that is written %s is a trace, in a cell, in an export and in a file", async (id, form) => {
  const folder = tempDir();
  const database = await openDatabase(join(folder, "warehouse.duckdb"));
  await database.run("CREATE TABLE usage_requests AS SELECT $1 AS endpoint", [`GET %2Fv1%2Fcontacts%2F${form}`]);
  await database.run(`COPY usage_requests TO '${join(folder, "usage_requests.parquet")}' (FORMAT parquet)`);
  await database.close();
  writeFileSync(join(folder, "requests.ndjson"), `{"url":"/v1/contacts/${form}"}`);
  writeFileSync(join(folder, "others.ndjson"), `{"url":"/v1/contacts/other${form}"}`);
  const person = { id, hash: "", traces: [{ kind: "id", text: id }] } as const;
  const { left, mentions } = await scanFor([person], [folder], { ...MEANS, tempDir: join(folder, "tmp") });
  expect(left.map(({ file, table, times }) => [basename(file), table, times])).toEqual([
    ["requests.ndjson", null, 1],
    ["usage_requests.parquet", null, 1],
    ["warehouse.duckdb", "main.usage_requests", 1],
  ]);
  expect(mentions).toEqual([]);
});

test("many people are searched for at once", async () => {
  const folder = tempDir();
  const database = await openDatabase(join(folder, "warehouse.duckdb"));
  await database.run("CREATE TABLE usage_requests AS SELECT '/v1/contacts/person%40119.example' AS endpoint");
  await database.close();
  const traces = Array.from({ length: 120 }, (_, at) => ({ kind: "id", text: `person@${at}.example` }) as const);
  const { left } = await scanFor([{ id: "", hash: "", traces }], [folder], { ...MEANS, tempDir: join(folder, "tmp") });
  expect(left.map(({ table, times }) => [table, times])).toEqual([["main.usage_requests", 1]]);
});
