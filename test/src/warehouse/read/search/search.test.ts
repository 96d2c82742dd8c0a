import { beforeAll, expect, test } from "vitest";
import { change } from "../../../../support/change-mirror.ts";
import { cli } from "../../../../support/cli.ts";
import { aCheckpoint, aLoad, aSignal } from "../../checkpoints.ts";
import { dirForFile } from "../../temp-dir.ts";

const dataDir = dirForFile();
beforeAll(() => {
  const account = { organizationId: "o", type: "prospect", createdAt: "2024-01-01", updatedAt: "2024-01-01" };
  const all = aCheckpoint([
    aLoad("accounts", [
      { ...account, id: 1, companyId: "c1", name: "Zürich Robotics", summary: { industry: "machines that weld" } },
      { ...account, id: 2, name: "Other" },
    ]),
    aLoad("signals", [
      aSignal(10, { accountId: 1, headline: "Robotics firm hires welders", date: "2024-06-01" }),
      aSignal(11, { accountId: 1, headline: "Quarterly report", description: "They weld.", date: "2024-01-01" }),
      aSignal(12, { accountId: 2, headline: "Nothing", date: "2024-06-01" }),
      aSignal(13, { accountId: 2, headline: "Résumé — Ô CÔTÉ", date: "2024-06-01" }),
    ]),
    aLoad("filings", [{ id: 7, type: "10-K", fiscalYear: 2025, fullContent: "welding robots" }], {
      fromPath: { companyId: "c1" },
    }),
  ]);
  return change(dataDir, (warehouse) => warehouse.commit(all));
});

const found = async (...argv: string[]) => {
  const { code, out } = await cli(["search", "--data-dir", dataDir, "--json", ...argv]);
  expect(code).toBe(0);
  return JSON.parse(out);
};
const places = (rows: readonly { table: string; key: Record<string, unknown> }[]) =>
  rows.map(({ table, key }) => `${table} ${Object.values(key).join("/")}`);

test("rows with most and rarest words come first, whatever their table, and words match in every form", async () => {
  const rows = await found("welding", "robotics");
  expect(places(rows).slice(0, 2).sort()).toEqual(["accounts 1", "signals 10"]);
  expect(places(rows).sort()).toEqual(["accounts 1", "filings c1/7", "signals 10", "signals 11"]);
  expect(rows.find(({ table }: { table: string }) => table === "filings")).toEqual({
    table: "filings",
    key: { company_id: "c1", id: 7 },
    account_id: 1,
    title: "10-K 2025",
    snippet: "welding robots",
    score: expect.any(Number),
    at: null,
  });
});

test("words of one or two letters are found as whole words, alone and beside others", async () => {
  expect(places(await found("10"))).toEqual(["filings c1/7"]);
  expect(places(await found("10", "k"))).toEqual(["filings c1/7"]);
  expect(await found("a")).toEqual([]);
});

test("--in, --since and --limit choose; names of members are no text", async () => {
  expect(places(await found("weld", "--in", "signals", "--since", "2024-05-01"))).toEqual(["signals 10"]);
  expect(await found("weld", "--limit", "1")).toHaveLength(1);
  expect(await found("industry")).toEqual([]);
  expect(places(await found("zurich"))).toEqual(["accounts 1"]);
});

test("a text with accents and dashes is found by the same words as one without", async () => {
  expect(places(await found("resume"))).toEqual(["signals 13"]);
  expect(places(await found("o", "cote"))).toEqual(["signals 13"]);
  expect(places(await found("coter", "zzz"))).toEqual(["signals 13"]);
  expect(await found("sum", "ote")).toEqual([]);
});

test("a terminal gets entries, and what makes no sense is refused", async () => {
  const { out } = await cli(["search", "--data-dir", dataDir, "zürich"]);
  expect(out).toBe("Zürich Robotics\n  accounts · id=1 · account 1 · 2024-01-01\n  machines that weld\n");
  for (const argv of [
    ["weld", "--in", "usage_limits"],
    ["weld", "--limit", "0"],
    ["--", "!"],
    ["weld", "--since", "soon"],
  ]) {
    expect((await cli(["search", "--data-dir", dataDir, ...argv])).code).toBe(2);
  }
});
