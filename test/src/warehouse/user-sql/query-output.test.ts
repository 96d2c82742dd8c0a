// What a query writes: every value survives in every format.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { OutValue } from "../../../../src/warehouse/duckdb/out-values.ts";
import { cellJson, isNumeric, type QueryColumn, rowWriter } from "../../../../src/warehouse/user-sql/query-output.ts";

const written = (
  format: "csv" | "json" | "ndjson",
  columns: readonly QueryColumn[],
  rows: readonly (readonly OutValue[])[],
) => {
  const writer = rowWriter(format, columns);
  return writer.head + rows.map((row, index) => writer.row(row, index)).join("") + writer.foot;
};
const text = (name: string) => ({ name, type: "VARCHAR" });

/** A reader of RFC 4180 that distinguishes NULL (nothing) from the empty text (`""`). */
const readCsv = (csv: string): (string | null)[][] => {
  const rows: (string | null)[][] = [];
  let row: (string | null)[] = [];
  const field = /("((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y;
  for (let match = field.exec(csv); match; match = field.exec(csv)) {
    const [, whole, quoted, bare] = match;
    row.push(quoted !== undefined ? quoted.replaceAll('""', '"') : whole === "" ? null : (bare ?? ""));
    if (match[4] === "\r\n") {
      rows.push(row);
      row = [];
    }
  }
  return rows;
};

describe("CSV", () => {
  test("ends lines with CRLF, quotes what must be quoted and distinguishes NULL from the empty text", () => {
    const rows = [["plain", 'a "b", c', "two\nlines", "", null, " edge"]];
    const columns = ["a", "b", "c", "d", "e", "f,g"].map(text);
    expect(written("csv", columns, rows)).toBe('a,b,c,d,e,"f,g"\r\nplain,"a ""b"", c","two\nlines","",," edge"\r\n');
  });

  test("brings back any texts and NULLs", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.option(fc.string({ unit: "binary" })), fc.option(fc.string())), { minLength: 1 }),
        (rows) => {
          expect(readCsv(written("csv", [text("a"), text("b")], rows)).slice(1)).toEqual(rows);
        },
      ),
    );
  });

  test("writes lists and objects as JSON, times and big integers with every digit", () => {
    const columns = [
      { name: "tags", type: "VARCHAR[]" },
      { name: "big", type: "BIGINT" },
      text("at"),
      { name: "ok", type: "BOOLEAN" },
    ];
    expect(written("csv", columns, [[["a", null], 9007199254740993n, "2024-01-02T01:04:05.678901Z", true]])).toBe(
      'tags,big,at,ok\r\n"[""a"",null]",9007199254740993,2024-01-02T01:04:05.678901Z,true\r\n',
    );
  });
});

test("CSV shows what is not a number without quotes of its own", () => {
  const columns = [{ name: "d", type: "DOUBLE" }];
  expect(readCsv(written("csv", columns, [[Number.NaN], [Number.NEGATIVE_INFINITY], [1.5]]))).toEqual([
    ["d"],
    ["NaN"],
    ["-Infinity"],
    ["1.5"],
  ]);
});

describe("JSON", () => {
  test("is an array of objects, also when there is no row", () => {
    expect(JSON.parse(written("json", [text("a")], [["x"], [null]]))).toEqual([{ a: "x" }, { a: null }]);
    expect(JSON.parse(written("json", [text("a")], []))).toEqual([]);
  });

  test("keeps big integers, puts JSON columns in as values and keeps both of two columns of one name", () => {
    const columns = [
      { name: "n", type: "BIGINT" },
      { name: "n", type: "JSON" },
      { name: "d", type: "DOUBLE" },
    ];
    const line = written("ndjson", columns, [[9007199254740993n, '{"a":\n[12345678901234567890]}', Number.NaN]]);
    expect(line).toBe('{"n":9007199254740993,"n_1":{"a": [12345678901234567890]},"d":"NaN"}\n');
  });

  test("one object per line in NDJSON, whatever the texts hold", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" }), { minLength: 1 }), (texts) => {
        const lines = written(
          "ndjson",
          [text("a")],
          texts.map((each) => [each]),
        )
          .trimEnd()
          .split("\n");
        expect(lines.map((line) => JSON.parse(line))).toEqual(texts.map((a) => ({ a })));
      }),
    );
  });

  test("nested values with any integer are read back exactly", () => {
    const nested = { list: [1, 2n ** 70n, null, { 'quo"te': true }], text: "ü\u2028" };
    expect(cellJson(nested)).toBe(`{"list":[1,1180591620717411303424,null,{"quo\\"te":true}],"text":"ü\u2028"}`);
  });
});

test("numbers are distinguished from other types", () => {
  expect(["BIGINT", "INTEGER", "UBIGINT", "DOUBLE", "DECIMAL(5,2)", "HUGEINT", "TINYINT"].every(isNumeric)).toBe(true);
  expect(["VARCHAR", "INTEGER[]", "INTERVAL", "DATE", "JSON"].some(isNumeric)).toBe(false);
});
