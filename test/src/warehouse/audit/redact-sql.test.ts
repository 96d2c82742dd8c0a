// SQL in the audit trail: its shape stays, no value does.

import { mkdirSync, readdirSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { knownWords, redactSql, SQL_WORDS, sqlHash } from "../../../../src/warehouse/audit/redact-sql.ts";
import { trailDir } from "../../../../src/warehouse/audit/trail.ts";
import { tempDir } from "../temp-dir.ts";

// Hashes of statements: equal for equal texts in one data directory, and of no use in another.

test("the key is made once, for its owner alone, and nothing is left beside it", () => {
  const dir = trailDir(tempDir());
  const hash = sqlHash(dir, "SELECT 1");
  expect(hash).toMatch(/^[0-9a-f]{64}$/);
  expect(sqlHash(dir, "SELECT 1")).toBe(hash);
  expect(sqlHash(dir, "SELECT 2")).not.toBe(hash);
  expect(sqlHash(trailDir(tempDir()), "SELECT 1")).not.toBe(hash);
  expect(readdirSync(dir)).toEqual(["key"]);
  expect(statSync(join(dir, "key")).mode & 0o777).toBe(0o600);
});

test("a link in place of the key is refused: its owner would know the key", () => {
  const [dir, theirs] = [trailDir(tempDir()), trailDir(tempDir())];
  sqlHash(theirs, "SELECT 1");
  mkdirSync(dir, { recursive: true });
  symlinkSync(join(theirs, "key"), join(dir, "key"));
  expect(() => sqlHash(dir, "SELECT 1")).toThrow(expect.objectContaining({ code: "DATA_DIR_UNWRITABLE" }));
});

// Words that a redacted statement may hold: SQL's, and names that the mirror defines; no user's.

test.each(["select", "accounts", "company_id", "marts", "freshness", "regexp_extract"])("%s is known", (word) => {
  expect(knownWords().words.has(word)).toBe(true);
});

test("names that the mirror defines are known inside quotes, too; words of SQL are not, since quoted text may be a value", () => {
  const { names } = knownWords();
  expect(["accounts", "company_id", "freshness"].filter((name) => !names.has(name))).toEqual([]);
  expect(["select", "regexp_extract"].filter((word) => names.has(word))).toEqual([]);
});

test("values and comments of the views' texts are not known", () => {
  const { words } = knownWords();
  expect(["newjoiner", "grain"].filter((word) => words.has(word))).toEqual([]);
});

const known = knownWords();
const redacted = (sql: string) => redactSql(sql, known);

describe("a statement without its values", () => {
  test.each([
    ["select name from accounts order by main_score limit 10", "select name from accounts order by main_score limit ?"],
    ["from contacts where email = 'ada@lovelace.example'", "from contacts where email = ?"],
    ["select 'it''s Ada'", "select ?"],
    [String.raw`select e'it\'s Ada', 'a\', phone from contacts`, "select ?, ?, phone from contacts"],
    ["select $$Ada$$, $who$Ada $$ King$who$", "select ?, ?"],
    ["select x'AB', U&'Ada', 0x1F, 1_000.5e10, .5", "select ?, ?, ?, ?, ?"],
    ["select $1, $name, ?, ?2", "select ?, ?, ?, ?"],
    ["-- about Ada\nselect 1 /* Ada /* King */ Ada */ + 2 -- Ada", "select ? + ?"],
    // Mistakes of people who forgot the quotes, or used the wrong ones.
    ['from contacts where email = "ada@lovelace.example"', 'from contacts where email = "n1"'],
    ["from contacts where email = ada@lovelace.example", "from contacts where email = n1@n2.n3"],
    ["from contacts where id = 7f3a1c52-ab12", "from contacts where id = ?-n1"],
    ["from contacts where phone = +44 20 7946 0101", "from contacts where phone = +? ? ? ?"],
    // Names of the user's own are numbers; the same name has the same one.
    ["with ada as (from contacts) select Ada.email from ada", "with n1 as (from contacts) select n1.email from n1"],
    ['select "first_name" as "Ada King" from contacts', 'select "first_name" as "n1" from contacts'],
    ["select größe from accounts", "select n1 from accounts"],
    // In quotes only the mirror's own names stay: other quoted text is a value, even if SQL has such a word.
    ['SELECT "headline" FROM "signals" WHERE id = "Grant"', 'SELECT "headline" FROM "signals" WHERE id = "n1"'],
  ])("%s", (sql, expected) => {
    expect(redacted(sql)).toBe(expected);
  });

  test.each(["select 'Ada", 'select "Ada', "select $$Ada", "select 1 /* Ada", "select \\Ada", "select `Ada`", "\0Ada"])(
    "nothing of what cannot be read: %s",
    (sql) => {
      expect(redacted(sql)).toBeNull();
    },
  );

  test("long text takes little time", () => {
    const words = `select '${"x''".repeat(500_000)}', ${"(".repeat(100_000)}`;
    expect(redacted(words)).toBe(`select ?, ${"(".repeat(100_000)}`);
  });
});

/** A word of SQL or of the mirror, a number in place of a name, a mark: all that may be left. */
const leftOf = (text: string): readonly string[] =>
  (text.match(/[^\s()[\]{},;:.+\-*/%<>=!~^&|@#?"]+/gu) ?? []).filter(
    (word) => !known.words.has(word.toLowerCase()) && !/^n\d+$/.test(word),
  );

describe("no value survives", () => {
  const contents = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.emailAddress(), fc.uuid());
  const doubled = (text: string, quote: string) => text.replaceAll(quote, quote + quote);
  const literals = contents.chain((text) =>
    fc.constantFrom(
      `'${doubled(text, "'")}'`,
      `"${doubled(text, '"')}"`,
      `e'${doubled(text.replaceAll("\\", "\\\\"), "'")}'`,
      `$a$${text.replaceAll("$", "")}$a$`,
      `/*${text.replaceAll(/[*/]/g, "")}*/`,
      `--${text.replaceAll(/[\r\n]/g, "")}\n`,
    ),
  );

  test("whatever a literal, quoted name or comment holds, the text around it is the same", () => {
    fc.assert(
      fc.property(literals, (literal) => {
        const found = redacted(`select name, ${literal} from contacts`);
        const shown = found?.replace(/"\w+"/, "n1");
        expect([
          "select name, ? from contacts",
          "select name, n1 from contacts",
          "select name, from contacts",
        ]).toContain(shown);
      }),
    );
  });

  test("any text at all leaves known words, numbered names and marks only", () => {
    const pieces = fc.array(
      fc.oneof(contents, literals, fc.constantFrom("'", '"', "$$", "/*", "*/", "--", "e'", "\\")),
    );
    fc.assert(
      fc.property(pieces, (parts) => {
        expect(leftOf(redacted(parts.join("")) ?? "")).toEqual([]);
        expect(leftOf(redacted(parts.join(" ")) ?? "")).toEqual([]);
      }),
      { numRuns: 1000 },
    );
  });
});

test("the words of SQL are those of the installed DuckDB", async () => {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  const reader = await connection.runAndReadAll(`
    SELECT DISTINCT lower(word) FROM (
      SELECT keyword_name AS word FROM duckdb_keywords()
      UNION ALL SELECT function_name FROM duckdb_functions()
      UNION ALL SELECT type_name FROM duckdb_types())
    WHERE regexp_full_match(lower(word), '[a-z_][a-z0-9_]*')`);
  const words = reader.getRows().map(([word]) => String(word));
  instance.closeSync();
  expect([...SQL_WORDS].sort()).toEqual(words.sort());
});
