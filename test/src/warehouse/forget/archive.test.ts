// Erasing people from the files of the archive: bodies, noted requests, the journal. Files without them stay as they are.
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createIdEraser } from "../../../../src/core/forgotten.ts";
import { responseRecord } from "../../../../src/warehouse/archive/archive.ts";
import { records } from "../../../../src/warehouse/archive/read-archive.ts";
import { type ArchiveBodies, archivedContacts, cleanArchive } from "../../../../src/warehouse/forget/archive.ts";
import { aFolder } from "../../../support/cli.ts";
import { aHeader } from "../../../support/memory-archive.ts";

const eraser = createIdEraser(
  new Map([
    ["ann-0001", "forgotten:h1"],
    ["7", "forgotten:h7"],
  ]),
);
/** Bodies are lists of contacts; Ann becomes a placeholder. */
const bodies: ArchiveBodies = {
  contacts: (_, body) => JSON.parse(body.toString("utf8")),
  clean: (_, body) => {
    const text = body.toString("utf8");
    return text.includes("ann-0001")
      ? Buffer.from(text.replaceAll(/\{"id":"ann-0001"[^}]*\}/g, '{"gone":"h1"}'))
      : null;
  },
};

const recordOf = (url: string, body: string, scope = "") => {
  const header = aHeader({ stream: "contacts", scope, url, endpoint: "listContacts", bytes: Buffer.byteLength(body) });
  return responseRecord(header, { bytes: Buffer.from(body), encoding: "identity" });
};

const rig = () => {
  const dir = aFolder();
  const folder = join(dir, "2026-11");
  mkdirSync(folder);
  const path = (name: string) => join(folder, name);
  return {
    dir,
    folder,
    path,
    clean: () => cleanArchive(dir, bodies, eraser),
    read: async (name: string) => {
      const found: { readonly url: string; readonly scope: string; readonly body: string }[] = [];
      for await (const { header: each, body } of records(path(name)))
        found.push({ url: each.url, scope: each.scope, body: body.toString("utf8") });
      return found;
    },
  };
};
const ANN = '[{"id":"ann-0001","name":"Ann"},{"id":"bea"}]';
const BEA = '[{"id":"bea"}]';

test("a body with them is rewritten, and the other records of its file stay, in order", async () => {
  const { path, clean, read, folder } = rig();
  const parts = [
    await recordOf("/v1/contacts?page=1", BEA),
    await recordOf("/v1/contacts?page=2", ANN),
    await recordOf("/v1/contacts?page=3", BEA),
  ];
  writeFileSync(path("r1.ndjson.gz"), Buffer.concat(parts));
  expect(await clean()).toBe(1);
  expect((await read("r1.ndjson.gz")).map(({ body }) => body)).toEqual([BEA, '[{"gone":"h1"},{"id":"bea"}]', BEA]);
  expect(readdirSync(folder)).toEqual(["r1.ndjson.gz"]);
  expect(await clean()).toBe(0);
});

test("their ids leave addresses and scopes of archived requests, too", async () => {
  const { path, clean, read } = rig();
  writeFileSync(path("r1.ndjson.gz"), await recordOf("/v1/contacts/ann-0001", BEA, "ann-0001"));
  await clean();
  expect(await read("r1.ndjson.gz")).toEqual([{ url: "/v1/contacts/forgotten:h1", scope: "forgotten:h1", body: BEA }]);
});

test("a file without them is not touched", async () => {
  const { path, clean } = rig();
  writeFileSync(path("r1.ndjson.gz"), await recordOf("/v1/contacts", BEA));
  writeFileSync(path("r1.intents.ndjson"), '{"url":"/v1/contacts"}\n');
  const before = ["r1.ndjson.gz", "r1.intents.ndjson"].map((name) => statSync(path(name)).ino);
  expect(await clean()).toBe(0);
  expect(["r1.ndjson.gz", "r1.intents.ndjson"].map((name) => statSync(path(name)).ino)).toEqual(before);
});

test("a record that a crash cut off is dropped, because it may hold them, and the whole ones stay", async () => {
  const { path, clean, read } = rig();
  const torn = await recordOf("/v1/contacts?page=2", ANN);
  writeFileSync(
    path("r1.ndjson.gz"),
    Buffer.concat([await recordOf("/v1/contacts?page=1", BEA), torn.subarray(0, torn.length - 12)]),
  );
  expect(await clean()).toBe(1);
  expect((await read("r1.ndjson.gz")).map(({ url }) => url)).toEqual(["/v1/contacts?page=1"]);
});

const OTHER = '{ "url": "/v1/accounts/ann",  "n": 1.0 }';
const entry = (table: string, ...ids: string[]) => JSON.stringify({ seq: 1, entry: { table, ids } });
test.each([
  [
    "noted requests lose their ids; other lines stay to the letter",
    "r1.intents.ndjson",
    [OTHER, '{"stream":"contacts","url":"/v1/contacts/ann-0001"}\n'],
    [OTHER, '{"stream":"contacts","url":"/v1/contacts/forgotten:h1"}\n'],
  ],
  [
    "the journal lose their ids",
    "000000000001.journal.ndjson",
    [entry("contacts", "ann-0001", "bea"), ""],
    [entry("contacts", "forgotten:h1", "bea"), ""],
  ],
  [
    "the journal lose a short id where contacts are meant; as the id of something else it stays",
    "000000000001.journal.ndjson",
    [entry("contacts", "7"), entry("accounts", "7"), ""],
    [entry("contacts", "forgotten:h7"), entry("accounts", "7"), ""],
  ],
  [
    "the journal lose one that a crash cut off, because a short id in it is a text like any other there",
    "000000000001.journal.ndjson",
    ['{"seq":1,"entry":{}}', '{"seq":2,"entry":{"table":"contacts","ids":["7","8'],
    ['{"seq":1,"entry":{}}', ""],
  ],
])("lines of %s", async (_, name, before, after) => {
  const { path, clean } = rig();
  writeFileSync(path(name), before.join("\n"));
  expect(await clean()).toBe(1);
  expect(readFileSync(path(name), "utf8")).toBe(after.join("\n"));
});

test("every archived contact is found, in whichever file", async () => {
  const { dir, path } = rig();
  mkdirSync(join(dir, "2026-12"));
  writeFileSync(path("r1.ndjson.gz"), await recordOf("/v1/contacts", ANN));
  writeFileSync(join(dir, "2026-12", "r2.ndjson.gz"), await recordOf("/v1/contacts", BEA));
  const ids: unknown[] = [];
  for await (const { id } of archivedContacts(dir, bodies)) ids.push(id);
  expect(ids).toEqual(["ann-0001", "bea", "bea"]);
});
