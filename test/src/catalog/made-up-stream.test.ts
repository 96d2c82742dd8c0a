// A list that API.md does not have is added to a copy of the program, by the four additions that CONTRIBUTING.md names, and
// then works like the others.
import { spawnSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { dirForFile } from "../warehouse/temp-dir.ts";

const ROOT = resolve(import.meta.dirname, "../../..");
const copy = dirForFile();

/** Adds text before or after a place that must be there. */
const add = (file: string, place: string, text: string, where: "before" | "after" = "before") => {
  const path = join(copy, file);
  const old = readFileSync(path, "utf8");
  expect(old.split(place).length, `${file} has one ${place}`).toBe(2);
  writeFileSync(
    path,
    old.replace(place, () => (where === "before" ? text + place : place + text)),
  );
};

const columns = `"id" VARCHAR, "company_id" VARCHAR, "title" VARCHAR, "aired_on" TIMESTAMPTZ,
  _first_synced_at TIMESTAMPTZ, _synced_at TIMESTAMPTZ, _run_id VARCHAR, _extra JSON`;
const mark = "_in_scope BOOLEAN DEFAULT true";

test("a made-up list is planned, synced, verified, marked by scope, searched, exported, delivered, and served; it is in status, views and OpenAPI", () => {
  for (const part of [
    "src",
    "jobs",
    "sql",
    "test/support",
    "test/setup",
    "test/src/deliver/copies.ts",
    "package.json",
    "tsconfig.json",
  ]) {
    cpSync(join(ROOT, part), join(copy, part), { recursive: true });
  }
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));

  const fields = `export const podcast = fields({
  id: text("Podcast id.", required),
  companyId: text("Company."),
  title: text("Title."),
  airedOn: time("When it was aired."),
});
`;
  add("src/catalog/resources.ts", "export const newsArticle = fields({", fields);
  const table = `podcasts: companyTable("podcast", resource.podcast, "aired_on", { title: "title", texts: [] }),\n  `;
  add("src/catalog/tables.ts", "news_articles: companyTable(", table);
  const entry = `podcasts: companyList("podcasts", "podcasts", { hints: [], maxAgeMs: 7 * DAY_MS, worth: 65 }),\n  `;
  add("src/catalog/streams.ts", "account_insights: {", entry);
  const migration = `CREATE TABLE main."podcasts" (${columns}, ${mark}, PRIMARY KEY ("company_id", "id"));
CREATE TABLE history."podcasts" (${columns}, valid_from TIMESTAMPTZ, valid_to TIMESTAMPTZ, change VARCHAR, change_n BIGINT);
`;
  const next = String(readdirSync(join(copy, "sql/migrations")).length + 1).padStart(4, "0");
  writeFileSync(join(copy, "sql/migrations", `${next}_podcasts.sql`), migration);
  const child = ["--import", "tsx", join(copy, "test/support/made-up-stream-child.ts")];
  // A temporary folder of its own: other tests of the run must not copy a mirror that has the made-up table.
  const env = { ...process.env, TMPDIR: copy };
  const { stdout, stderr, status } = spawnSync(process.execPath, child, { cwd: copy, encoding: "utf8", env });
  expect(status, stderr).toBe(0);
  const seen: unknown = JSON.parse(stdout);
  expect(seen).toEqual({
    planned: { credits: 2, because: ["never synced"] },
    first: { complete: true, rows: 3 },
    rows: ["c_1 p1 First", "c_1 p2 Second", "c_2 p3 Third"],
    unchanged: 0,
    found: ["podcasts c_1 field p1 title First Renamed newer repaired"],
    repaired: { rows: ["c_1 p1 Renamed", "c_1 p2 Second", "c_2 p3 Third"], history: 1 },
    exported: 3,
    freshness: ["podcasts podcasts 3 2 true"],
    quality: ["aired_on missing_optional 1"],
    written: ["podcasts 3"],
    status: 3,
    searched: "podcasts Renamed",
    delivered: 3,
    served: ["p1 Renamed", "p2 Second"],
    documented: true,
    outside: ["c_2 p3"],
  });
});
