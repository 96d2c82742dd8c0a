import { expect, test } from "vitest";
import { contentFields } from "../../../../../src/catalog/field-rules.ts";
import { configTemplate } from "../../../../../src/cli/commands/start/init.ts";
import { settingList } from "../../../../../src/core/config/settings.ts";
import { cli } from "../../../../support/cli.ts";

test("schema lists every table and view with what a row of it is", async () => {
  const { code, out } = await cli(["schema"]);
  expect(code).toBe(0);
  for (const name of ["accounts", "history.signals", "sync.requests", "marts.account_360"]) expect(out).toContain(name);
  expect(out).toContain("One row per tracked account.");
});

test("schema of a table shows type, meaning, source field, allowed values and when a column is NULL", async () => {
  const { out } = await cli(["schema", "main.contacts"]);
  expect(out).toContain("contacts: One row per contact. Key: id. From: GET /v1/contacts.");
  const line = out.split("\n").find((each) => each.includes("change_type"));
  expect(line).toMatch(
    /VARCHAR.*Kind of the last career change\. Values: promotion, .*changeType.*the service sends none/,
  );
});

test("schema --json is for programs: types of views come from the database", async () => {
  const { out } = await cli(["schema", "score_history", "--json"]);
  expect(JSON.parse(out)).toMatchObject({
    tables: [
      { schema: "marts", table: "score_history", key: [], columns: [{ name: "account_id", type: "BIGINT" }] },
    ].map((table) => ({
      ...table,
      columns: expect.arrayContaining(table.columns.map((column) => expect.objectContaining(column))),
    })),
  });
  const all = await cli(["schema", "--json"]);
  expect(JSON.parse(all.out).tables.length).toBeGreaterThan(50);
});

test("an unknown table is a usage error with the nearest name", async () => {
  const { code, err } = await cli(["schema", "acounts"]);
  expect(code).toBe(2);
  expect(err).toContain("there is no table acounts. Did you mean accounts?");
});

test("schema --content lists every opt-in field; the setting's description, which README and the configuration show, names them, too", async () => {
  const { code, out } = await cli(["schema", "--content"]);
  expect(code).toBe(0);
  const description = settingList().find(({ name }) => name === "content")?.description ?? "";
  const file = configTemplate({ base_url: "https://api.example.com" });
  for (const { stream, field } of contentFields()) {
    expect(out).toContain(`${stream}.${field}`);
    expect(description).toContain(field);
    expect(file).toContain(field);
  }
  const { content } = JSON.parse((await cli(["schema", "--content", "--json"])).out);
  expect(content.map(({ name }: { name: string }) => name)).toContain("signals.fullContent");
  expect((await cli(["schema", "accounts", "--content"])).code).toBe(2);
});
