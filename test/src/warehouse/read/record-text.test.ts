// Two writers of one object: JavaScript from plain cells, and SQL. Both must say the same of any row.
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { tableSpec } from "../../../../src/catalog/tables.ts";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { instant } from "../../../../src/warehouse/duckdb/statements.ts";
import { migrate } from "../../../../src/warehouse/file/migrate.ts";
import { recordWriter, rowJson } from "../../../../src/warehouse/read/record-text.ts";
import { forFile } from "../../../support/for-file.ts";

const database = await forFile(openDatabase(":memory:", { threads: 1 }));
await migrate(database, 0);

const { fields } = tableSpec("contacts");
const write = recordWriter(fields);
const COLUMNS = fields.map(({ column }) => `t."${column}"`).join(", ");

/** Both texts of the one row. */
const both = async () => {
  const [sql] = await database.query(
    `SELECT ${rowJson(fields, { alias: "t", extra: true })} AS object FROM main.contacts AS t`,
    [],
    z.object({ object: z.string() }),
  );
  const [cells = []] = await database.cells(`SELECT ${COLUMNS}, t._extra FROM main.contacts AS t`, []);
  return { sql: sql?.object, js: write(cells, cells.at(-1)) };
};

const anyText = fc.string({ unit: "grapheme", maxLength: 20 }).filter((text) => !text.includes("\u0000"));
const row = fc.record({
  name: fc.option(anyText),
  account: fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
  score: fc.option(fc.oneof(fc.double(), fc.constantFrom(50, -0, 1e21, 1e-7, Number.POSITIVE_INFINITY))),
  // From 1900 to 2200, to the microsecond.
  changed: fc.option(fc.integer({ min: -2_208_988_800_000, max: 7_258_118_400_000 })),
  micros: fc.constantFrom(0, 0, 0.001, 0.999),
  since: fc.option(fc.integer({ min: -25_000, max: 80_000 })),
  keywords: fc.option(fc.array(fc.option(anyText), { maxLength: 3 })),
  insights: fc.option(fc.json({ maxDepth: 2 })),
  extra: fc.constantFrom(null, "{}", ' { "new": {"a": 9007199254740993} , "x":null } '),
});

test("a row is written exactly: digits, quotes, NULL left out, dates without a time of day, microseconds where there are some", async () => {
  await database.run(`DELETE FROM main.contacts; INSERT INTO main.contacts (id, first_name, account_id, main_score, last_change_detected_on,
      in_current_role_since, matching_target_keywords, person_insights, _extra) VALUES
    ('1', 'say "hi"' || chr(10), 9007199254740993, 50, '2026-11-25 10:00:00.120+02', '2026-11-25', ['a', NULL],
     '{"n": 12345678901234567890}', '{"big": 12345678901234567890}')`);
  const written =
    '{"id":"1","accountId":9007199254740993,"firstName":"say \\"hi\\"\\n","inCurrentRoleSince":"2026-11-25",' +
    '"lastChangeDetectedOn":"2026-11-25T08:00:00.120Z","mainScore":50,"personInsights":{"n": 12345678901234567890},' +
    '"matchingTargetKeywords":["a",null],"big": 12345678901234567890}';
  expect(await both()).toEqual({ sql: written, js: written });
  await database.run(`UPDATE main.contacts SET in_current_role_since = '2026-11-25 10:30:00+00', main_score = 50.05,
    last_change_detected_on = '2026-11-25 10:00:00.120001+00', _extra = '{ }'`);
  const later = written
    .replace('"2026-11-25",', '"2026-11-25T10:30:00.000Z",')
    .replace("08:00:00.120Z", "10:00:00.120001Z")
    .replace(":50,", ":50.05,")
    .replace(',"big": 12345678901234567890', "");
  expect(await both()).toEqual({ sql: later, js: later });
});

test("a row written from its cells is the object that SQL writes", async () => {
  await fc.assert(
    fc.asyncProperty(row, async ({ name, account, score, changed, micros, since, keywords, insights, extra }) => {
      await database.run("DELETE FROM main.contacts");
      await database.run(
        `INSERT INTO main.contacts (id, organization_id, first_name, account_id, main_score, last_change_detected_on,
           in_current_role_since, matching_target_keywords, person_insights, _extra, _synced_at, _run_id)
         VALUES ('1', 'o', $1, $2, CAST($3 AS DOUBLE), $4, $5, $6, $7, $8, now(), 'r')`,
        [
          name,
          account,
          score === null ? null : Object.is(score, -0) ? "-0.0" : String(score),
          instant(changed === null ? null : changed + micros),
          instant(since === null ? null : since * 86_400_000),
          keywords,
          insights,
          extra,
        ],
      );
      const { sql = "", js } = await both();
      // DuckDB and JavaScript may write one number in two ways, and texts with other escapes; JSON cannot say infinity.
      const comparable = (text: string) => JSON.parse(text.replace(/:(-?Infinity|NaN)/g, ':"$1"'));
      expect(comparable(js)).toEqual(comparable(sql));
      if (account !== null) expect(js).toMatch(new RegExp(`"accountId":${account}[,}]`));
    }),
    { numRuns: 150 },
  );
});
