// Fuzzing of envelopes and records: whatever a body holds, nothing crashes or hangs, and every value of `data` and of
// embedded records is found again in a cell, in `_extra` or in a reject. Leaves carry marks that occur only once. Shows P12.
import fc from "fast-check";
import { expect, test } from "vitest";
import { readEnvelope } from "../../../src/api/envelope.ts";
import { ENDPOINTS, type EndpointName } from "../../../src/catalog/endpoints.ts";
import { type StreamName, streamSpec } from "../../../src/catalog/streams.ts";
import { type TableName, tableSpec } from "../../../src/catalog/tables.ts";
import { exactJson, isJsonObject, type JsonValue } from "../../../src/core/json.ts";
import { loadsOf } from "../../../src/sync/rows/loads.ts";
import { collectBatch } from "../../../src/warehouse/load/collect-batch.ts";
import type { TableLoad } from "../../../src/warehouse/record/checkpoint.ts";
import { aCheckpoint, aWarehouse, rowsOf } from "../warehouse/builders.ts";

let batches = 0;
const SEED = Number(process.env.FUZZ_SEED ?? 20_261_121);
const CASES = Number(process.env.FUZZ_CASES ?? 10_000);
/** No single body may take longer than this, in ms. */
const LONGEST_MS = 2_000;

const SOURCES: readonly (readonly [EndpointName, StreamName, TableName])[] = [
  ["listAccounts", "accounts", "accounts"],
  ["listContacts", "contacts", "contacts"],
  ["listSignals", "signals", "signals"],
  ["getSignal", "signals", "signals"],
  ["getSignalCounts", "signal_counts", "signal_counts"],
  ["getCompany", "companies", "companies"],
  ["resolveCompany", "companies", "companies"],
  ["listNewsArticles", "news_articles", "news_articles"],
  ["listJobOpenings", "job_openings", "job_openings"],
  ["listEarningsCalls", "earnings_calls", "earnings_calls"],
  ["listFilings", "filings", "filings"],
  ["getAccountInsight", "account_insights", "account_insights"],
  ["getUsage", "usage", "usage_snapshots"],
  ["listUsageRequests", "usage", "usage_requests"],
  ["getUsageLimits", "usage", "usage_limits"],
];

/** Every leaf but null, true and false becomes one that is found again: a marked text or a number of its own. */
const marker = () => {
  const marks: string[] = [];
  const mark = (value: unknown): JsonValue => {
    const n = marks.length;
    if (value === null || typeof value === "boolean" || value === undefined) return value ?? null;
    if (Array.isArray(value)) return value.map(mark);
    if (typeof value === "object")
      return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, mark(item)]));
    if (typeof value === "number") {
      marks.push(String(700_000_000 + n));
      return Number.isInteger(value) ? 700_000_000 + n : 700_000_000.5 + n;
    }
    if (typeof value === "bigint") {
      marks.push(String(80_000_000_000_000_000_000n + BigInt(n)));
      return 80_000_000_000_000_000_000n + BigInt(n);
    }
    marks.push(`mk${n}x`);
    return `mk${n}x${String(value)}`;
  };
  return { marks, mark };
};

const leaf = fc.oneof(
  fc.string({ unit: "binary", maxLength: 6 }),
  fc.constantFrom("\ud800", "a\u0000b", '"\\', "2026-01-01"),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.bigInt(),
  fc.constantFrom(null, true, false),
);
const { anyJson } = fc.letrec<{ anyJson: unknown }>((tie) => ({
  anyJson: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaf,
    fc.array(tie("anyJson"), { maxLength: 4 }),
    fc.dictionary(fc.string({ maxLength: 5 }), tie("anyJson"), { maxKeys: 4 }),
  ),
}));
const recordOf = (table: TableName) => {
  const names = tableSpec(table).fields.map(({ name }) => name);
  return fc.dictionary(fc.oneof(fc.constantFrom(...names), fc.constantFrom("id", "companyId", "other")), anyJson, {
    maxKeys: 8,
  });
};
const mostly = <T>(usual: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 4, arbitrary: usual }, { weight: 1, arbitrary: anyJson });

const envelopeOf = ([endpoint, stream, table]: (typeof SOURCES)[number]) => {
  const record = recordOf(table);
  const keys = streamSpec(stream).embeds.flatMap((embed) => embed.keys);
  const found = mostly(fc.array(recordOf("companies"), { maxLength: 3 }));
  const included =
    keys.length === 0 ? fc.constant(null) : fc.option(fc.dictionary(fc.constantFrom(...keys), found, { maxKeys: 2 }));
  return fc.record({
    data: ENDPOINTS[endpoint].shape === "list" ? fc.array(mostly(record), { maxLength: 5 }) : mostly(record),
    included,
    meta: mostly(fc.record({ page: leaf, totalCount: leaf, timestamp: leaf })),
    usage: mostly(fc.record({ limit: leaf, used: leaf, remaining: leaf, resetsAt: leaf })),
    status: fc.constantFrom("found", "not_found"),
  });
};

/** Everything a set of loads puts anywhere, as one text. */
const storedText = (loads: readonly TableLoad[]): string => {
  const parts: string[] = [];
  for (const [index, load] of loads.entries()) {
    const { rows, rejects } = collectBatch(load.table, [{ load, index }]);
    for (const { row } of rows)
      parts.push(
        ...row.cells.map((cell) => (Array.isArray(cell) ? JSON.stringify(cell) : String(cell))),
        ...row.extra.values(),
      );
    for (const { reject } of rejects) parts.push(reject.record);
  }
  return parts.join("\n");
};

/** Of a route of one record: nothing of such a body becomes a row. */
const NO_RECORD: readonly string[] = ["the body has no data", "data is no insight"];

const sourceAndEnvelope = fc
  .constantFrom(...SOURCES)
  .chain((source) => envelopeOf(source).map((envelope) => ({ source, envelope })));

test(`${CASES} envelopes of any content lose no value on the way to their rows (seed ${SEED})`, () => {
  let rows = 0;
  fc.assert(
    fc.property(sourceAndEnvelope, ({ source: [endpoint, stream], envelope: { data, included, ...around } }) => {
      const { marks, mark } = marker();
      const body = exactJson({
        data: mark(data),
        ...(included === null ? {} : { included: mark(included) }),
        ...toJson(around),
      });
      const startedAt = performance.now();
      const reading = readEnvelope(body, endpoint);
      if (!reading.ok && NO_RECORD.includes(reading.detail)) return;
      if (!reading.ok) throw new Error(`a JSON object with data was refused: ${reading.detail}`);
      const scope = stream === "companies" && endpoint === "resolveCompany" ? "input:acme.example" : "77";
      const loads = loadsOf({
        stream,
        scope,
        endpoint,
        query: {},
        requestId: "r",
        walkId: null,
        receivedAt: 0,
        granted: [],
        ...reading.value,
      });
      const text = storedText(loads);
      for (const found of marks) if (!text.includes(found)) throw new Error(`${found} of ${body} was lost`);
      expect(performance.now() - startedAt).toBeLessThan(LONGEST_MS);
      rows += loads.reduce((sum, load) => sum + load.records.length, 0);
    }),
    { numRuns: CASES, seed: SEED, verbose: 0 },
  );
  expect(rows).toBeGreaterThan(CASES);
});

const toJson = (value: Readonly<Record<string, unknown>>): Record<string, JsonValue> => {
  const { mark } = marker();
  const marked = mark(value);
  return isJsonObject(marked) ? { ...marked } : {};
};

/** Ways in which bytes go wrong. */
const damaged = fc.record({
  text: sourceAndEnvelope.map(({ envelope }) => exactJson(toJson(envelope))),
  cut: fc.double({ min: 0, max: 1, noNaN: true }),
  at: fc.nat(),
  with: fc.constantFrom(
    "",
    "\u0000",
    "}",
    "]",
    '"',
    "\\",
    ",",
    "\ufeff",
    "1e999",
    "9".repeat(400),
    "[".repeat(600),
    "<html>",
  ),
});

test(`${CASES / 2} damaged bodies are read or refused in words, never thrown at (seed ${SEED})`, () => {
  let refused = 0;
  fc.assert(
    fc.property(damaged, fc.constantFrom(...SOURCES), ({ text, cut, at, with: inserted }, [endpoint]) => {
      const kept = text.slice(0, Math.ceil(text.length * cut));
      const place = at % (kept.length + 1);
      const startedAt = performance.now();
      const reading = readEnvelope(kept.slice(0, place) + inserted + kept.slice(place), endpoint);
      expect(performance.now() - startedAt).toBeLessThan(LONGEST_MS);
      if (reading.ok) return;
      refused += 1;
      expect(reading.detail).toMatch(/^(the body|data) /);
      expect(reading.detail.length).toBeLessThan(1_000);
    }),
    { numRuns: CASES / 2, seed: SEED, verbose: 0 },
  );
  expect(refused).toBeGreaterThan(CASES / 10);
});

const withId = (record: JsonValue, index: number): JsonValue =>
  isJsonObject(record) && record.id === null ? { ...record, id: index } : record;

test(`records of any content are found again in the warehouse (seed ${SEED})`, async () => {
  const warehouse = await aWarehouse();
  const list = fc
    .constantFrom(...SOURCES.filter(([endpoint]) => ENDPOINTS[endpoint].shape === "list"))
    .chain((source) =>
      fc.array(recordOf(source[2]), { minLength: 30, maxLength: 60 }).map((records) => ({ source, records })),
    );
  await fc.assert(
    fc.asyncProperty(list, async ({ source: [endpoint, stream, table], records }) => {
      const { marks, mark } = marker();
      // Most have an id of their own, so that they become rows.
      const data = records.map((record, index) => mark(index % 5 === 0 ? record : { ...record, id: null })).map(withId);
      const loads = loadsOf({
        stream,
        scope: "77",
        endpoint,
        query: {},
        requestId: `r-${batches++}`,
        walkId: null,
        receivedAt: 0,
        data,
        included: null,
        envelope: {},
        granted: [],
      });
      await warehouse.commit(aCheckpoint(loads));
      const rows = await rowsOf(warehouse, `FROM ${table}`);
      const rejects = await rowsOf(warehouse, "SELECT record FROM sync.rejects");
      const cells = [...rows, ...rejects].flatMap((row) => Object.values(row));
      const text = cells.map((cell) => (Array.isArray(cell) ? JSON.stringify(cell) : String(cell))).join("\n");
      expect(marks.filter((found) => !text.includes(found))).toEqual([]);
      await warehouse.database.run(`DELETE FROM ${table}; DELETE FROM history.${table}; DELETE FROM sync.rejects`);
    }),
    { numRuns: 40, seed: SEED, verbose: 0, endOnFailure: true },
  );
});
