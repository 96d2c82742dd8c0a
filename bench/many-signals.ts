// A table of many signals for benchmarks: a statement that fills it, and the same rows as records of the service.
import { createHash } from "node:crypto";
import { tableSpec } from "../src/catalog/tables.ts";
import type { Warehouse } from "../src/warehouse/file/warehouse.ts";

const FILL_ROWS = 500_000;

/** Fields of `record`. */
export const asked = new Set(
  tableSpec("signals")
    .fields.filter(({ optIn, detailOnly }) => !optIn && !detailOnly)
    .map(({ name }) => name),
);

/**
 * Fills the table of signals with rows of about 450 bytes that have most of their text for themselves; `filled` says
 * the same.
 */
export const fill = async (warehouse: Warehouse, rows: number) => {
  for (let at = 0; at < rows; at += FILL_ROWS) {
    await warehouse.database.run(
      `INSERT INTO signals (id, organization_id, account_id, type, headline, description, date, sources, relevance,
         created_at, updated_at, _first_synced_at, _synced_at, _run_id)
       SELECT i, 'org', i % 2000, 'podcast', 'Signal ' || i || ' about ' || digest[:8],
         'As the company said in note ' || digest || ', more people than last year work at site ' || digest[9:20] || '.',
         day, ['https://a.example/' || digest], '{"why":"named in ' || digest || '","score":' || i % 100 || '}',
         day, day, TIMESTAMPTZ '2024-01-01', TIMESTAMPTZ '2024-01-01', 'fill'
       FROM (SELECT i, md5(i::VARCHAR) AS digest, TIMESTAMPTZ '2020-01-01' + to_seconds(i * 15) AS day
         FROM range(${at}, ${Math.min(rows, at + FILL_ROWS)}) r(i))`,
    );
  }
  await warehouse.database.flushWal();
};

const START = Date.UTC(2020, 0, 1);

/** The record of an id as the table was filled, or with another `version` of its description. */
export const record = (id: number, version: number | null) => {
  const digest = createHash("md5").update(String(id)).digest("hex");
  const day = new Date(START + id * 15_000).toISOString();
  const first = `As the company said in note ${digest}, more people than last year work at site ${digest.slice(8, 20)}.`;
  return {
    id,
    organizationId: "org",
    accountId: id % 2000,
    type: "podcast",
    headline: `Signal ${id} about ${digest.slice(0, 8)}`,
    description: version === null ? first : `${first} Version ${version}.`,
    date: day,
    sources: [`https://a.example/${digest}`],
    relevance: { why: `named in ${digest}`, score: id % 100 },
    createdAt: day,
    updatedAt: day,
  };
};

/** Ids from all over the table: the prime is none of the factors of its size. */
export const scattered = (rows: number, from: number, batch: number) =>
  Array.from({ length: batch }, (_, index) => ((from + index) * 7_919_993) % rows);
