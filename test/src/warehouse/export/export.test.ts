import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { TABLE_NAMES } from "../../../../src/catalog/tables.ts";
import { isCode } from "../../../../src/core/errors.ts";
import { takeWriterLock } from "../../../../src/warehouse/file/working-file.ts";
import { anExport, filesIn, readParquet, sha256, someSignals } from "../export-set.ts";
import { tempDir } from "../temp-dir.ts";

const anyRow = z.record(z.string(), z.unknown());
const TWO_MONTHS = someSignals({ 1: "2025-01-31 23:59:59.999999Z", 2: "2025-02-01", 3: "2025-02-28", 4: null });
const SIGNALS = { tables: ["signals"] };

const failsWith = (code: Parameters<typeof isCode>[1]) => (error: unknown) => isCode(error, code);

test("every table of main is a file, signals one per month, and the manifest says what each holds", async () => {
  const dates = [
    "2025-01-31 23:59:59.999999Z",
    "2025-02-01",
    "2024-12-31 23:59:59.999999Z",
    "2025-01-01",
    "0099-01-15",
  ];
  const set = await anExport(`${someSignals({ ...dates, 5: null, 6: "infinity" })}
    INSERT INTO sync.runs (run_id, mode, status, started_at)
    VALUES ('run-1', 'sync', 'done', '2025-01-01'), ('run-2', 'sync', 'done', '2025-01-02');`);
  const report = await set.run();
  const others = TABLE_NAMES.filter((name) => name !== "signals").map((name) => `${name}/${name}.parquet`);
  const inMonths = {
    "0099-01": [4],
    "2024-12": [2],
    "2025-01": [0, 3],
    "2025-02": [1],
    __HIVE_DEFAULT_PARTITION__: [5, 6],
  };
  const months = Object.keys(inMonths).map((month) => `signals/year_month=${month}/signals.parquet`);
  expect(filesIn(set.dir)).toEqual([...others, ...months].sort());
  const { files, run } = await set.manifest();
  expect(run).toBe("run-2");
  expect(files.map(({ file, bytes, sha256: checksum }) => [file, bytes, checksum]).sort()).toEqual(
    filesIn(set.dir).map((file) => [file, statSync(join(set.dir, file)).size, sha256(join(set.dir, file))]),
  );
  const ofSignals = files.filter(({ table }) => table === "signals");
  expect(Object.fromEntries(ofSignals.map(({ partition, rows, run: by }) => [partition, `${rows} by ${by}`]))).toEqual({
    ...{ "0099-01": "1 by run-2", "2024-12": "1 by run-2", "2025-01": "2 by run-2", "2025-02": "1 by run-2" },
    none: "2 by run-2",
  });
  expect(report).toMatchObject({ written: others.length + 5, kept: 0, removed: 0, rows: 7 });
  const read = await readParquet(
    `SELECT coalesce(year_month, '__HIVE_DEFAULT_PARTITION__') AS month, list(id ORDER BY id) AS ids
     FROM read_parquet('${set.dir}/signals/*/*.parquet', hive_partitioning = true) GROUP BY ALL`,
    z.object({ month: z.string(), ids: z.array(z.number()) }),
  );
  expect(Object.fromEntries(read.map(({ month, ids }) => [month, ids]))).toEqual(inMonths);
});

test("files are zstd, sorted, and no more readable than their folder", async () => {
  const set = await anExport(someSignals({ 1: "2025-01-03", 2: "2025-01-02", 3: "2025-01-01", 4: "2025-01-01" }));
  await set.run(SIGNALS);
  const file = join(set.dir, "signals/year_month=2025-01/signals.parquet");
  const codecs = await readParquet(`SELECT DISTINCT compression FROM parquet_metadata('${file}')`, anyRow);
  expect(codecs).toEqual([{ compression: "ZSTD" }]);
  const rows = await readParquet(`SELECT account_id, id FROM read_parquet('${file}')`, anyRow);
  expect(rows.map(({ account_id, id }) => [account_id, id])).toEqual([
    [0, 3],
    [1, 4],
    [1, 1],
    [2, 2],
  ]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const open = join(set.dir, "..", "shared");
  mkdirSync(open);
  chmodSync(open, 0o755);
  await set.run({ dir: open, ...SIGNALS });
  expect(statSync(join(open, "signals/year_month=2025-01/signals.parquet")).mode & 0o777).toBe(0o644);
  expect(statSync(join(open, "signals")).mode & 0o777).toBe(0o755);
});

test("an export that changes nothing touches nothing; a change rewrites its month alone", async () => {
  const set = await anExport(TWO_MONTHS);
  await set.run(SIGNALS);
  const stats = () => filesIn(set.dir).map((file) => [file, statSync(join(set.dir, file)).ino]);
  const manifestBefore = statSync(join(set.dir, "_manifest.json")).ino;
  const before = stats();
  expect(await set.run(SIGNALS)).toMatchObject({ written: 0, bytesWritten: 0 });
  expect(stats()).toEqual(before);
  expect(statSync(join(set.dir, "_manifest.json")).ino).toBe(manifestBefore);

  await set.change("UPDATE main.signals SET headline = 'new', _synced_at = '2025-07-01' WHERE id = 3");
  expect(await set.run(SIGNALS)).toMatchObject({ written: 1, removed: 0 });
  const changed = stats().filter((entry, index) => entry[1] !== before[index]?.[1]);
  expect(changed.map(([file]) => file)).toEqual(["signals/year_month=2025-02/signals.parquet"]);
  expect((await set.manifest()).files.length).toBe(before.length);
});

test("a row that enters or leaves the scope is a change: its file is written again", async () => {
  const set = await anExport(`${TWO_MONTHS} INSERT INTO main.contacts (id, _in_scope) VALUES ('p_1', true);`);
  await set.run({ tables: ["signals", "contacts"] });
  await set.change(
    "UPDATE main.contacts SET _in_scope = false; UPDATE main.signals SET _in_scope = false WHERE id = 1",
  );
  expect(await set.run({ tables: ["signals", "contacts"] })).toMatchObject({ written: 2, removed: 0 });
  const marks = await readParquet(`SELECT _in_scope FROM '${set.dir}/contacts/contacts.parquet'`, anyRow);
  expect(marks).toEqual([{ _in_scope: false }]);
  expect(await set.run({ tables: ["signals", "contacts"] })).toMatchObject({ written: 0 });
});

test("a month that lost its last row loses its file, and a table cut by month that lost all has none", async () => {
  const set = await anExport(TWO_MONTHS);
  await set.run(SIGNALS);
  await set.change("DELETE FROM main.signals WHERE id = 1");
  expect(await set.run(SIGNALS)).toMatchObject({ written: 0, removed: 1 });
  expect(filesIn(set.dir)).not.toContain("signals/year_month=2025-01/signals.parquet");
  await set.change("DELETE FROM main.signals");
  await set.run(SIGNALS);
  expect(filesIn(set.dir).filter((file) => file.startsWith("signals"))).toEqual([]);
  expect(existsSync(join(set.dir, "signals"))).toBe(false);
});

test("a young mirror's history has no file, is in the manifest all the same, and gets its files with its first rows", async () => {
  const set = await anExport(TWO_MONTHS);
  const report = await set.run({ tables: ["history", "owners"] });
  expect(filesIn(set.dir)).toEqual(["owners/owners.parquet"]);
  expect((await set.manifest()).tables).toEqual(["owners", ...TABLE_NAMES.map((name) => `history.${name}`)]);
  expect(report.tables.find(({ table }) => table === "history.accounts")).toMatchObject({
    files: 0,
    rows: 0,
    bytes: 0,
  });
  const [row] = await readParquet(`SELECT count(*) AS n, count(data) AS m FROM '${set.dir}/owners/*.parquet'`, anyRow);
  expect(row).toEqual({ n: 0, m: 0 });
  await set.change(`INSERT INTO history.accounts (id, valid_from, valid_to, change)
    VALUES (1, '2025-01-01', '2025-02-01', 'update')`);
  await set.run();
  expect(filesIn(set.dir)).toContain("history.accounts/year_month=2025-02/history.accounts.parquet");
});

test("JSON is text in Parquet, with all digits: readers that do not know Parquet's JSON type would take it for bytes", async () => {
  const text = '{"share": 0.12345678901234567890123456789, "least": 1e-400, "id": 9007199254740993}';
  const set = await anExport(`INSERT INTO main.owners (id, data) VALUES ('1', '${text}')`);
  await set.run({ tables: ["owners"] });
  const schema = await readParquet(
    `SELECT name, converted_type FROM parquet_schema('${set.dir}/owners/owners.parquet') WHERE name = 'data'`,
    anyRow,
  );
  expect(schema).toEqual([{ name: "data", converted_type: "UTF8" }]);
  const read = await readParquet(`SELECT data::VARCHAR AS data FROM '${set.dir}/owners/owners.parquet'`, anyRow);
  expect(read).toEqual([{ data: text }]);
});

test("a file that was removed or cut short is written again", async () => {
  const set = await anExport(TWO_MONTHS);
  await set.run({ tables: ["accounts", "contacts"] });
  const before = filesIn(set.dir);
  rmSync(join(set.dir, "accounts/accounts.parquet"));
  writeFileSync(join(set.dir, "contacts/contacts.parquet"), "PAR1");
  expect(await set.run({ tables: ["accounts", "contacts"] })).toMatchObject({ written: 2 });
  expect(filesIn(set.dir)).toEqual(before);
  for (const { file, sha256: checksum } of (await set.manifest()).files) {
    expect([file, sha256(join(set.dir, file))]).toEqual([file, checksum]);
  }
  expect(await set.run({ tables: ["accounts", "contacts"] })).toMatchObject({ written: 0 });
});

test("history and views are exported when named, and stay part of the set from then on", async () => {
  const set =
    await anExport(`${TWO_MONTHS} INSERT INTO history.signals (id, _synced_at, valid_from, valid_to, change) VALUES
    (9, '2025-01-01', '2025-01-01', '2025-03-05', 'delete'), (8, '2025-01-01', '2025-01-01', '2025-04-05', 'update');`);
  await set.run({ tables: ["history.signals", "marts.signals_daily"] });
  expect(filesIn(set.dir)).toEqual([
    "history.signals/year_month=2025-03/history.signals.parquet",
    "history.signals/year_month=2025-04/history.signals.parquet",
    "marts.signals_daily/marts.signals_daily.parquet",
  ]);
  await set.change("UPDATE main.signals SET date = '2025-05-05', _synced_at = '2025-07-01' WHERE id = 2");
  const report = await set.run();
  expect(report.tables.map(({ table }) => table)).toEqual(
    expect.arrayContaining(["accounts", "history.signals", "marts.signals_daily"]),
  );
  expect(report.tables.find(({ table }) => table === "marts.signals_daily")).toMatchObject({ written: 1 });
  expect(report.tables.find(({ table }) => table === "history.signals")).toMatchObject({ written: 0, files: 2 });
  const daily = await readParquet(
    `SELECT day FROM '${set.dir}/marts.signals_daily/*.parquet' WHERE day IS NOT NULL ORDER BY day`,
    anyRow,
  );
  expect(daily.map(({ day }) => day)).toEqual(["2025-01-31", "2025-02-28", "2025-05-05"]);
});

test("--since writes what changed since, deletions from history included, into a folder of its own", async () => {
  const set = await anExport(`${TWO_MONTHS} UPDATE main.signals SET _synced_at = '2025-08-01' WHERE id = 2;
    INSERT INTO history.signals (id, _synced_at, valid_from, valid_to, change) VALUES
      (9, '2025-01-01', '2025-01-01', '2025-08-02', 'delete'), (8, '2025-01-01', '2025-01-01', '2025-02-05', 'update');`);
  const changes = join(set.dir, "..", "changes");
  const since = Date.UTC(2025, 7, 1);
  await set.run({ dir: changes, since, tables: ["signals", "history.signals"] });
  const ids = await readParquet(
    `SELECT id FROM read_parquet('${changes}/*/*/*.parquet', union_by_name = true, hive_partitioning = false) ORDER BY id`,
    anyRow,
  );
  expect(ids.map(({ id }) => id)).toEqual([2, 9]);
  await set.run(SIGNALS);
  await expect(set.run({ since, ...SIGNALS })).rejects.toSatisfy(failsWith("EXPORT_FOLDER"));
  await expect(set.run({ dir: changes, ...SIGNALS })).rejects.toSatisfy(failsWith("EXPORT_FOLDER"));
  await expect(set.run({ dir: join(set.dir, "..", "c2"), since, tables: ["marts"] })).rejects.toSatisfy(
    failsWith("USAGE"),
  );
});

test("CSV and NDJSON keep instants, lists, objects, NULL, the empty text and 64-bit integers apart and exact", async () => {
  const set = await anExport(`INSERT INTO main.signals (id, headline, description, date, sources, relevance, _synced_at)
    VALUES (9007199254740993, 'a "quoted", text', '', '2025-01-02 03:04:05.678901+02', ['x,y', NULL, 'z'], '{"a":[1]}', '2025-01-01');`);
  const tables = ["signals"];
  await set.run({ format: "ndjson", dir: `${set.dir}-n`, tables });
  const line = readFileSync(`${set.dir}-n/signals/year_month=2025-01/signals.ndjson`, "utf8");
  expect(line).toContain('"id":9007199254740993,');
  expect(line).toContain('"date":"2025-01-02T01:04:05.678901Z"');
  expect(line).toContain('"sources":["x,y",null,"z"]');
  expect(line).toContain('"relevance":{"a":[1]}');
  await set.run({ format: "csv", dir: `${set.dir}-c`, tables });
  const [head = "", row = ""] = readFileSync(`${set.dir}-c/signals/signals.csv`, "utf8").split("\n");
  expect(head).toMatch(/^id,organization_id,account_id,type,subtype,headline,description,date,sources/);
  expect(row).toContain(
    `9007199254740993,,,,,"a ""quoted"", text","",2025-01-02T01:04:05.678901Z,"[""x,y"",null,""z""]"`,
  );
});

test("guarded CSV disarms cells a spreadsheet would run, and leaves numbers alone", async () => {
  const set =
    await anExport(`INSERT INTO main.contacts (id, first_name, last_name, email, phone, location, main_score, intro_paths) VALUES
    ('-1', '=HYPERLINK("x")', '@SUM(A1)', 'a@b.example', '+49 30 1', '＝1+1', -5, ['=1']);`);
  await set.run({ format: "csv", tables: ["contacts"], guardFormulas: true });
  const [, row = ""] = readFileSync(join(set.dir, "contacts/contacts.csv"), "utf8").split("\n");
  expect(row).toMatch(/^'-1,,,"'=HYPERLINK\(""x""\)",'@SUM\(A1\),/);
  expect(row).toContain(",-5.0,");
  expect(row).toContain(",a@b.example,");
  expect(row).toContain(",'+49 30 1,'＝1+1,");
});

test("what cannot be exported is refused by name, and the set before stands", async () => {
  const set = await anExport(TWO_MONTHS);
  await expect(set.run({ tables: ["signal"] })).rejects.toThrow(/no table signal\. Did you mean/);
  await expect(set.run({ snapshot: `${set.snapshot}.none` })).rejects.toSatisfy(failsWith("SNAPSHOT_MISSING"));
  await set.run(SIGNALS);
  await expect(set.run({ format: "csv", ...SIGNALS })).rejects.toSatisfy(failsWith("EXPORT_FOLDER"));
  const aborted = AbortSignal.abort(new Error("stop"));
  await set.change("UPDATE main.signals SET _synced_at = now()");
  await expect(set.run({ signal: aborted, ...SIGNALS })).rejects.toThrow("stop");
  writeFileSync(join(set.dir, "_manifest.json.copy"), "");
  const before = (await set.manifest()).files.map(({ sha256: sum }) => sum);
  expect(before).toEqual((await set.manifest()).files.map(({ file }) => sha256(join(set.dir, file))));
  const newer = JSON.stringify({ ...(await set.manifest()), version: 2 });
  for (const text of ["{", "{}", newer]) {
    writeFileSync(join(set.dir, "_manifest.json"), text);
    await expect(set.run(SIGNALS)).rejects.toSatisfy(failsWith("EXPORT_FOLDER"));
  }
  const file = join(set.dir, "a-file");
  writeFileSync(file, "");
  await expect(set.run({ dir: file, ...SIGNALS })).rejects.toSatisfy(failsWith("DATA_DIR_UNWRITABLE"));
});

test("while one export uses the folder, another one is refused", async () => {
  const set = await anExport(TWO_MONTHS);
  await set.run(SIGNALS);
  const other = await takeWriterLock(join(set.dir, ".lock"), set.dir);
  await expect(set.run(SIGNALS)).rejects.toMatchObject({ code: "WRITER_BUSY" });
  await other.release();
  expect(await set.run(SIGNALS)).toMatchObject({ written: 0 });
});

test("a snapshot with a view that somebody planted is refused before it is read", async () => {
  const secret = join(tempDir(), "secret.txt");
  writeFileSync(secret, "not yours");
  const set = await anExport(
    `CREATE OR REPLACE VIEW marts.account_360 AS SELECT content AS name FROM read_text('${secret}');`,
    false,
  );
  await expect(set.run({ tables: ["marts.account_360"] })).rejects.toMatchObject({ code: "CATALOG_REFUSED" });
  for (const file of filesIn(set.dir)) expect(readFileSync(join(set.dir, file), "utf8")).not.toContain("not yours");
});
