// Each filter of the list routes, held against the same condition evaluated here over the whole list.
import { expect, test } from "vitest";
import { first, get, many, type Row, sharedSandbox, walk } from "../../sandbox/sandbox-client.ts";

const sandbox = sharedSandbox();

const lists = new Map<string, Row[]>();
const all = async (path: string): Promise<Row[]> => {
  const rows = lists.get(path) ?? (await walk(sandbox(), path));
  lists.set(path, rows);
  return rows;
};

const has = (value: unknown, text: string) =>
  String(value ?? "")
    .toLowerCase()
    .includes(text.toLowerCase());
const after = (value: unknown, text: string) => typeof value === "string" && Date.parse(value) > Date.parse(text);
const before = (value: unknown, text: string) => typeof value === "string" && Date.parse(value) < Date.parse(text);

/** The filtered list holds exactly the rows that the condition picks, at least one and not all. */
const check = async (path: string, query: Record<string, string>, condition: (row: Row) => boolean) => {
  const rows = await all(path);
  const expected = rows.filter(condition).map(({ id }) => String(id));
  const filtered = await walk(sandbox(), `${path}?${new URLSearchParams(query)}`);
  expect(filtered.map(({ id }) => String(id)).sort()).toEqual(expected.sort());
  expect(expected.length).toBeGreaterThan(0);
  expect(expected.length).toBeLessThan(rows.length);
};

/** A value from the middle of the list: rows lie on both sides of it. */
const sample = async (path: string, field: string): Promise<string> => {
  const rows = (await all(path)).filter((row) => row[field] !== undefined);
  return String(first(rows.slice(Math.floor(rows.length / 2)))[field]);
};

const ACCOUNTS = "/v1/accounts";
const CONTACTS = "/v1/contacts";
const SIGNALS = "/v1/signals";
const DAY = "2025-09-01";

test("accounts by textQuery in name or domain", async () => {
  const text = (await sample(ACCOUNTS, "domain")).slice(1, 5).toUpperCase();
  await check(ACCOUNTS, { textQuery: text }, (row) => has(row.name, text) || has(row.domain, text));
});

test("accounts by several ids", async () => {
  const ids = (await all(ACCOUNTS)).slice(0, 3).map(({ id }) => String(id));
  await check(ACCOUNTS, { ids: ids.join(",") }, ({ id }) => ids.includes(String(id)));
});

test.each(["domain", "companyId", "ownerId", "type", "priority"])("accounts by %s", async (field) => {
  const value = await sample(ACCOUNTS, field);
  await check(ACCOUNTS, { [field]: value }, (row) => String(row[field]) === value);
});

test("accounts with a signal of these types after a date: one signal must meet both", async () => {
  const types = ["funding-alert", "podcast"];
  const signals = await all(SIGNALS);
  const accounts = (condition: (signal: Row) => boolean) => new Set(signals.filter(condition).map((s) => s.accountId));
  const both = accounts((s) => types.includes(String(s.type)) && after(s.date, "2026-03-01"));
  const query = { hasSignalsOfType: types.join(","), hasSignalsAfterDate: "2026-03-01" };
  await check(ACCOUNTS, query, ({ id }) => both.has(id));
  const typed = accounts((s) => s.type === "clinical-trial");
  await check(ACCOUNTS, { hasSignalsOfType: "clinical-trial" }, ({ id }) => typed.has(id));
  const recent = accounts((s) => after(s.date, "2026-05-16"));
  await check(ACCOUNTS, { hasSignalsAfterDate: "2026-05-16" }, ({ id }) => recent.has(id));
});

test("contacts by several accounts", async () => {
  const ids = (await all(ACCOUNTS)).slice(0, 2).map(({ id }) => id);
  await check(CONTACTS, { accountId: ids.join(",") }, ({ accountId }) => ids.includes(accountId));
});

test("contacts by textQuery: every word, in name, title, company or location", async () => {
  const name = await sample(CONTACTS, "lastName");
  const text = (row: Row) =>
    [row.firstName, row.lastName, row.currentTitle, row.currentCompanyName, row.location].join(" ");
  await check(CONTACTS, { textQuery: name }, (row) => has(text(row), name));
  await check(CONTACTS, { textQuery: "chief officer" }, (row) => has(text(row), "chief") && has(text(row), "officer"));
});

test("contacts by current title", async () => {
  await check(CONTACTS, { currentTitleTextQuery: "director" }, (row) => has(row.currentTitle, "director"));
});

test.each(["type", "changeType"])("contacts by %s", async (field) => {
  const value = await sample(CONTACTS, field);
  await check(CONTACTS, { [field]: value }, (row) => row[field] === value);
});

test.each([
  ["isInCurrentRoleBeforeDate", "inCurrentRoleSince", before],
  ["isInCurrentRoleAfterDate", "inCurrentRoleSince", after],
  ["lastChangeDetectedBefore", "lastChangeDetectedOn", before],
  ["lastChangeDetectedAfter", "lastChangeDetectedOn", after],
])("contacts by %s", async (param, field, condition) => {
  await check(CONTACTS, { [param]: "2025-10-01" }, (row) => condition(row[field], "2025-10-01"));
  const moment = await sample(CONTACTS, field);
  await check(CONTACTS, { [param]: moment }, (row) => condition(row[field], moment));
});

test("signals by several accounts and several types", async () => {
  const ids = (await all(ACCOUNTS)).slice(0, 2).map(({ id }) => id);
  await check(SIGNALS, { accountId: ids.join(",") }, ({ accountId }) => ids.includes(accountId));
  const types = ["hiring-alert", "m-and-a-alert"];
  await check(SIGNALS, { type: types.join(",") }, ({ type }) => types.includes(String(type)));
});

test("signals by date, excluding the moment itself", async () => {
  await check(SIGNALS, { afterDate: DAY }, (row) => after(row.date, DAY));
  await check(SIGNALS, { beforeDate: `${DAY}T12:00:00+02:00` }, (row) => before(row.date, `${DAY}T12:00:00+02:00`));
  const moment = await sample(SIGNALS, "date");
  await check(SIGNALS, { beforeDate: moment }, (row) => before(row.date, moment));
});

test("signals by text, also in the full content", async () => {
  const filtered = await walk(sandbox(), `${SIGNALS}?textQuery=spokesperson%20terms`);
  expect(filtered.length).toBeGreaterThan(0);
  const { data } = await get(
    sandbox(),
    `${SIGNALS}?textQuery=spokesperson%20terms&onlyWithFields=headline,description,fullContent`,
  );
  for (const row of many(data))
    expect(has([row.headline, row.description, row.fullContent].join(" "), "spokesperson")).toBe(true);
});

test("counts take the same filters as the list", async () => {
  const rows = (await all(SIGNALS)).filter((row) => after(row.date, DAY));
  const { data } = await get(sandbox(), `${SIGNALS}/counts?afterDate=${DAY}`);
  expect(data).toMatchObject({ all: rows.length, podcast: rows.filter(({ type }) => type === "podcast").length });
});

test.each([
  "/v1/accounts?priority=4",
  "/v1/accounts?ids=1,x",
  "/v1/accounts?view=raw",
  "/v1/accounts?sortOrder=up",
  "/v1/accounts?sortBy=secret",
  "/v1/accounts?include=contacts",
  "/v1/accounts?hasSignalsAfterDate=yesterday",
  "/v1/accounts?onlyWithFields=id,secret",
  "/v1/contacts?lastChangeDetectedAfter=2026-02-30",
  "/v1/signals?accountId=99999999999999999999",
  "/v1/signals?page=0",
  "/v1/signals?perPage=-1",
  "/v1/signals?perPage=101",
  "/v1/usage?window=yearly",
  "/v1/usage?groupBy=hour",
  "/v1/account-insights?query=a&sections=everything",
])("%s is refused with 400 and a reason", async (path) => {
  const { error } = await get(sandbox(), path, 400);
  expect(error?.code).toBe("bad_request");
  expect(error?.message.length).toBeGreaterThan(10);
});

test.each(["view=default", "view=export", "unknown=1"])("%s is taken", async (query) => {
  expect(many((await get(sandbox(), `/v1/accounts?${query}`)).data)).toHaveLength(12);
});
