// Keys that differ only in what some store drops or folds: U+0000, composed letters, spaces at the end, case, what follows the
// 2,600th byte. Every kind of destination keeps such rows apart, or leaves out the one that it cannot hold, named and counted. Shows P43.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { z } from "zod";
import type { Delivered } from "../../src/deliver/destination.ts";
import { runQuery } from "../../src/warehouse/read/query.ts";
import { parquetRows } from "../src/deliver/moving-mirror.ts";
import { aCheckpoint, aLoad } from "../src/warehouse/checkpoints.ts";
import { change } from "../support/change-mirror.ts";
import { forFile } from "../support/for-file.ts";
import { startPostgres } from "../support/postgres.ts";
import { aFolder, withReader } from "./a-lake.ts";
import { delivered } from "./deliveries.ts";
import { catalogIn, rowsIn } from "./read-postgres.ts";

const LONG = "x".repeat(2_590);
const TWINS: readonly string[] = [
  ...["zero", "zero\0", "zero\0a", "zero\0b", "\0zero", "zero\ufffd"],
  ...["caf\u00e9", "cafe\u0301", "\u212b", "\u00c5", "ﬁ", "fi"],
  ...["space", "space ", " space", "space\u00a0", "space\u200b", "space\t", "space\n"],
  ...["Case", "case", "ß", "ss", "I", "ı", "i"],
  ...["1", "01", "1.0", "NULL", "\\N", "\\"],
  ...[`${LONG}a`, `${LONG}b`, `${LONG}yyyyyyyyyyyyyyyyyyyyyya`, `${LONG}yyyyyyyyyyyyyyyyyyyyyyb`],
];
const WITH_NUL = TWINS.filter((id) => id.includes("\0"));
/** No index of Postgres takes the long ones. */
const NOT_IN_POSTGRES = TWINS.filter((id) => WITH_NUL.includes(id) || id.length > 2_597);

const load = (ids: readonly string[], headline: string) => {
  const records = ids.map((id) => ({
    id,
    url: "https://news.example/1",
    headline: `${headline} ${JSON.stringify(id)}`,
  }));
  return aCheckpoint([aLoad("news_articles", records, { fromPath: { companyId: "co" }, receivedAt: Date.now() })]);
};

type Row = readonly [id: unknown, headline: unknown];
const article = z.object({ id: z.string(), headline: z.string() });
const articleRow = (row: unknown): Row => {
  const { id, headline } = article.parse(row);
  return [id, headline];
};
const entries = z.object({ files: z.array(z.object({ table: z.string(), file: z.string() })) });
interface Place {
  readonly settings: Readonly<Record<string, unknown>>;
  readonly leftOut: readonly string[];
  read(dataDir: string): Promise<readonly Row[]>;
}

const server = await forFile(startPostgres());

/** A database of its own. `how`: what follows CREATE DATABASE name. */
const aDatabase = async (how: string): Promise<string> => {
  const name = `twins_${Math.random().toString(36).slice(2)}`;
  await rowsIn(server.url, `CREATE DATABASE ${name} TEMPLATE template0 ${how}`);
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  return url.href;
};

const inPostgres = async (how: string): Promise<Place> => {
  const url = await aDatabase(how);
  return {
    settings: { kind: "postgres", url },
    leftOut: NOT_IN_POSTGRES,
    read: async () => (await rowsIn(url, "SELECT id, headline FROM duckmirror.news_articles")).map(articleRow),
  };
};

const inLake = async (at: string, catalog: string): Promise<Place> => ({
  settings: { kind: "ducklake", url: catalog, data_path: join(at, "files"), extension_directory: inject("extensions") },
  leftOut: WITH_NUL,
  read: () =>
    withReader(
      at,
      async (run) => (await run("SELECT id, headline FROM lake.main.news_articles")).map(articleRow),
      catalog,
    ),
});

const PLACES: readonly (readonly [string, (at: string) => Promise<Place>])[] = [
  ["postgres, UTF8", () => inPostgres("ENCODING 'UTF8' LOCALE 'C'")],
  ["postgres, ICU", () => inPostgres("ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'und-u-ks-level1' LOCALE 'C'")],
  ["ducklake, sqlite", (at) => inLake(at, `ducklake:sqlite:${join(at, "catalog.sqlite")}`)],
  ["ducklake, duckdb", (at) => inLake(at, `ducklake:${join(at, "catalog.ducklake")}`)],
  ["ducklake, postgres", async (at) => inLake(at, catalogIn(await aDatabase("ENCODING 'UTF8' LOCALE 'C'")))],
  [
    "parquet",
    async (at) => ({
      settings: { kind: "parquet", url: join(at, "set") },
      leftOut: [],
      read: async () => {
        const manifest = entries.parse(JSON.parse(readFileSync(join(at, "set/_manifest.json"), "utf8")));
        const parts = manifest.files
          .filter(({ table }) => table === "news_articles")
          .map(({ file }) => join(at, "set", file));
        return (await parquetRows(parts)).map((row) => articleRow(JSON.parse(row)));
      },
    }),
  ],
  [
    "snapshot",
    async (at) => ({
      settings: { kind: "snapshot", url: join(at, "snapshots") },
      leftOut: [],
      read: async () => {
        const snapshot = join(at, "snapshots/now/warehouse.duckdb");
        const { rows } = await runQuery({ snapshot, sql: "SELECT id, headline FROM main.news_articles" });
        return rows.map(([id, headline]): Row => [id, headline]);
      },
    }),
  ],
];

const deliver = (dataDir: string, settings: Place["settings"]): Promise<Delivered> =>
  delivered(dataDir, JSON.stringify([{ name: "twins", ...settings }]));

test.each(PLACES)(
  "%s: rows whose keys nearly agree stay apart, through inserts, updates and deletes",
  async (_, open) => {
    const [dataDir, at] = [aFolder(), aFolder()];
    mkdirSync(at, { recursive: true });
    const { settings, leftOut, read } = await open(at);
    const held = new Map<string, string>();
    const expectHeld = async (report: Delivered) => {
      const wanted = [...held].filter(([id]) => !leftOut.includes(id));
      expect((await read(dataDir)).map((row) => JSON.stringify(row)).sort()).toEqual(
        wanted.map((row) => JSON.stringify(row)).sort(),
      );
      const rows = leftOut.filter((id) => held.has(id)).length;
      expect(report.leftOut.map(({ table, rows: n }) => [table, n])).toEqual(
        rows === 0 ? [] : [["news_articles", rows]],
      );
    };
    const write = async (ids: readonly string[], headline: string) => {
      for (const id of ids) held.set(id, `${headline} ${JSON.stringify(id)}`);
      await change(dataDir, (warehouse) => warehouse.commit(load(ids, headline)));
      await expectHeld(await deliver(dataDir, settings));
    };
    await write(TWINS, "first");
    // One of two is changed, then the other; then one of two is removed.
    const even = TWINS.filter((_id, at) => at % 2 === 0);
    await write(even, "second");
    await write(
      TWINS.filter((id) => !even.includes(id)),
      "third",
    );
    for (const id of even) held.delete(id);
    const gone = { table: "news_articles", ids: even, company: "co", runId: "r", now: Date.now() } as const;
    await change(dataDir, (warehouse) => warehouse.deleteKeys(gone));
    await expectHeld(await deliver(dataDir, settings));
    await write(even, "again");
  },
);
