// A mirror that moves: random inserts, updates and deletes of several tables, now and then an erased contact, rows that leave
// the scope, a feed that begins anew; texts and numbers that are hard to store elsewhere.
import { join } from "node:path";
import { TABLE_NAMES } from "../../src/catalog/tables.ts";
import { ExactNumber, type JsonObject, type JsonValue } from "../../src/core/json.ts";
import type { Warehouse } from "../../src/warehouse/file/warehouse.ts";
import { startFeed } from "../../src/warehouse/load/walks.ts";
import { runQuery } from "../../src/warehouse/read/query.ts";
import { aCheckpoint, aLoad, aSignal } from "../src/warehouse/checkpoints.ts";
import { change } from "../support/change-mirror.ts";
import { erase } from "./erasing.ts";

const NASTY: readonly string[] = [
  "plain",
  "tab\tnew\nline\rback\\slash \\N \\.",
  "'quotes' \"double\" {braces} , ;",
  "zero\0byte",
  "emoji 🦆 und Umlaut ü \u2028",
  "",
];
/** No double holds these. */
export const DIGITS = ["0.12345678901234567890123456789", "-3.14159265358979323846e-30", "1e-400"] as const;
const HARD: readonly JsonValue[] = [
  { fractions: DIGITS.map((literal) => new ExactNumber(literal)) },
  { big: 9_007_199_254_740_993n, small: 1e-7, text: "a\u0000b \ud800 c" },
  [1, "two", null, { deep: [true] }],
  null,
];

const pick = <T>(list: readonly T[], random: () => number): T | undefined => list[Math.floor(random() * list.length)];

/** `count` signals from `first` on. */
export const commitSignals = (warehouse: Warehouse, first: number, count: number, random: () => number) => {
  const records = Array.from({ length: count }, (_, nth) =>
    aSignal(first + nth, {
      headline: pick(NASTY, random) ?? "",
      summary: `summary ${Math.floor(random() * 1e9)} `.repeat(5),
      details: pick(HARD, random) ?? null,
      unknownField: pick(HARD, random) ?? null,
    }),
  );
  return warehouse.commit(aCheckpoint([aLoad("signals", records, { receivedAt: Date.now() })]));
};

const commitContacts = (warehouse: Warehouse, random: () => number) => {
  const records = Array.from({ length: 5 }, (): JsonObject => {
    const id = `contact-${Math.floor(random() * 40)}`;
    return {
      id,
      email: `${id}@example.com`,
      firstName: pick(NASTY, random) ?? "",
      talkingPoints: pick(HARD, random) ?? null,
    };
  });
  return warehouse.commit(aCheckpoint([aLoad("contacts", records, { receivedAt: Date.now() })]));
};

const commitArticles = (warehouse: Warehouse, random: () => number) => {
  const records = Array.from({ length: 5 }, () => ({
    id: `n${Math.floor(random() * 30)}`,
    url: "https://example.com",
    headline: pick(NASTY, random) ?? "",
    datePublished: "2024-01-01",
  }));
  const more = { fromPath: { companyId: `c${Math.floor(random() * 3)}` }, receivedAt: Date.now() };
  return warehouse.commit(aCheckpoint([aLoad("news_articles", records, more)]));
};

/** One step of the mirror, published. */
export const move = async (dataDir: string, random: () => number): Promise<void> => {
  const dice = random();
  if (dice < 0.08) return erase(dataDir, `contact-${Math.floor(random() * 40)}`);
  await change(dataDir, async (warehouse) => {
    const { database } = warehouse;
    await commitSignals(warehouse, Math.floor(random() * 3_000), 1 + Math.floor(random() * 400), random);
    await commitContacts(warehouse, random);
    await commitArticles(warehouse, random);
    const at = Date.now() + Math.floor(random() * 1e6);
    const quota = { capturedAt: at, limit: 1, used: 1, remaining: 0, resetsAt: null };
    await warehouse.commit(aCheckpoint([], { quota }));
    const ids = Array.from({ length: 20 }, () => String(Math.floor(random() * 3_000)));
    const present = await runIds(warehouse, ids);
    await warehouse.deleteKeys({ table: "signals", ids: present, runId: "run-d", now: Date.now() });
    if (dice < 0.16) await database.run("UPDATE main.signals SET _in_scope = NOT _in_scope WHERE id % 7 = 0");
    if (dice > 0.94) {
      const after = 1_000_000 * (1 + (Math.floor(Date.now() / 1000) % 1_000_000));
      await database.transaction((tx) => startFeed(tx, { after, now: Date.now() }));
    }
  });
};

const runIds = async (warehouse: Warehouse, ids: readonly string[]): Promise<readonly string[]> => {
  const rows = await warehouse.database.cells(
    "SELECT CAST(id AS VARCHAR) FROM main.signals WHERE list_contains($1, CAST(id AS VARCHAR))",
    [ids],
  );
  return rows.map(([id]) => String(id));
};

/** Cells of a table in a form in which every destination can be compared: `columns` by name, rows in order of their text. */
export type Dump = Readonly<Record<string, { readonly columns: readonly string[]; readonly rows: readonly string[] }>>;

/** NUL, which some destinations cannot store, as they write it. */
const plain = (cell: unknown): unknown => (typeof cell === "string" ? cell.replaceAll("\0", "\ufffd") : cell);

/** Every table of schema main in the published snapshot. */
export const dumpOf = async (dataDir: string): Promise<Dump> => {
  const snapshot = join(dataDir, "warehouse.duckdb");
  const dump: Record<string, { columns: readonly string[]; rows: readonly string[] }> = {};
  for (const table of TABLE_NAMES) {
    const { columns, rows } = await runQuery({ snapshot, sql: `SELECT * FROM main.${table}` });
    const texts = rows.map((row) => textOfRow(row.map(plain)));
    dump[table] = { columns: columns.map(({ name }) => name), rows: texts.sort() };
  }
  return dump;
};

/** A row as text; every integer as its digits. */
export const textOfRow = (row: readonly unknown[]): string =>
  JSON.stringify(row, (_, value) => (typeof value === "bigint" || typeof value === "number" ? String(value) : value));
