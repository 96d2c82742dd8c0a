// marts.freshness: what is complete, and since when. Shows P4.
import { expect, test } from "vitest";
import { aMart } from "./mart.ts";

const wanted = (inputs: readonly string[], maxAge: Readonly<Record<string, number>>) =>
  `INSERT INTO sync.capabilities VALUES ('wanted', '${JSON.stringify({ inputs, max_age_ms: maxAge })}', now());`;
const DAY = 86_400_000;

const state = (
  stream: string,
  scope: string,
  checked: string,
  more: { status?: string; because?: string; rows?: number } = {},
) =>
  `INSERT INTO sync.stream_state (stream, scope, status, checked_at, walked_at, run_id, unconfirmed, unconfirmed_because) VALUES
     ('${stream}', '${scope}', '${more.status ?? "idle"}', ${checked}, ${checked}, 'r', ${more.rows ?? 0}, ${more.because === undefined ? "NULL" : `'${more.because}'`});`;

test("details, dropped inputs and companies that nobody follows any more age no table", async () => {
  const mart = await aMart(`
    INSERT INTO main.accounts (id, company_id, _first_synced_at) VALUES (1, 'c1', now());
    INSERT INTO main.company_inputs (input, company_id, _first_synced_at) VALUES ('kept.example', 'c2', now()), ('dropped.example', 'c3', now());
    INSERT INTO main.companies (id) VALUES ('c1'), ('c2'), ('c3');
    ${wanted(["kept.example"], { accounts: 7 * DAY, signals: 7 * DAY, companies: 30 * DAY, filings: 30 * DAY })}
    ${state("accounts", "", "now()")} ${state("signals", "", "now()")} ${state("signals", "detail:7", "now() - INTERVAL 90 DAY")}
    ${state("companies", "c2", "now()")} ${state("companies", "input:dropped.example", "now() - INTERVAL 90 DAY")}
    ${["c1", "c2"].map((company) => state("filings", company, "now()")).join(" ")}
    ${state("filings", "c3", "now() - INTERVAL 90 DAY")} ${state("filings", "gone", "now() - INTERVAL 90 DAY")}`);
  const rows = await mart.rows(`SELECT table_name, hours_behind < 1, due_at > now(), complete FROM marts.freshness
    WHERE table_name IN ('signals', 'companies', 'filings') ORDER BY table_name`);
  expect(rows).toEqual([
    ["companies", true, true, true],
    ["filings", true, true, true],
    ["signals", true, true, true],
  ]);
});

test("one fresh company does not make up for a stale one, nor for one that was never read; max_age says when", async () => {
  const mart = await aMart(`
    INSERT INTO main.accounts (id, company_id, _first_synced_at) VALUES (1, 'c1', now()), (2, 'c2', now()), (3, 'c3', now() - INTERVAL 9 DAY);
    ${wanted([], { accounts: 7 * DAY, filings: 2 * DAY, news_articles: 30 * DAY })}
    ${state("accounts", "", "now()")} ${state("filings", "c1", "now()")} ${state("filings", "c2", "now() - INTERVAL 3 DAY")} ${state("filings", "c3", "now()")}
    ${state("news_articles", "c1", "now()")} ${state("news_articles", "c2", "now()")}`);
  const rows =
    await mart.rows(`SELECT table_name, round(hours_behind), max_age_hours, due_at < now(), unchecked_scopes, complete
    FROM marts.freshness WHERE table_name IN ('filings', 'news_articles') ORDER BY table_name`);
  expect(rows).toEqual([
    ["filings", 72, 48, true, 0, true],
    ["news_articles", 216, 720, false, 1, false],
  ]);
});

test("a company that came with its input is read, and as old as the last response to one of its inputs", async () => {
  const mart = await aMart(`
    INSERT INTO main.company_inputs (input, company_id, _first_synced_at) VALUES ('one.example', 'c1', now()), ('ONE', 'c1', now()), ('two.example', 'c2', now());
    INSERT INTO main.companies (id) VALUES ('c1'), ('c2');
    ${wanted(["one.example", "ONE", "two.example"], { companies: 30 * DAY })}
    ${state("companies", "input:one.example", "now() - INTERVAL 90 DAY")} ${state("companies", "input:ONE", "now() - INTERVAL 3 DAY")}
    ${state("companies", "input:two.example", "now()")}`);
  const rows = await mart.rows(`SELECT scopes, unchecked_scopes, round(hours_behind), complete FROM marts.freshness
    WHERE table_name = 'companies'`);
  expect(rows).toEqual([[2, 0, 72, true]]);
});

test("changes of a list that the service does not count say nothing of deleted rows until it is read whole again", async () => {
  const verdict = (total: string, checked: string) =>
    aMart(`
      ${wanted([], { contacts: 7 * DAY })} ${state("contacts", "", "now() - INTERVAL 1 DAY")}
      UPDATE sync.stream_state SET total_count = ${total}, checked_at = ${checked};`).then((mart) =>
      mart.rows(`SELECT complete, unconfirmed_because FROM marts.freshness WHERE table_name = 'contacts'`),
    );
  expect(await verdict("NULL", "now()")).toEqual([[false, expect.stringContaining("does not count this list")]]);
  expect(await verdict("NULL", "walked_at")).toEqual([[true, null]]);
  expect(await verdict("0", "now()")).toEqual([[true, null]]);
});

test("a table is complete only when every list of it was proven to be; else the rows and the reason are named", async () => {
  const mart = await aMart(`
    INSERT INTO main.accounts (id, company_id, _first_synced_at) VALUES (1, 'c1', now()), (2, 'c2', now());
    INSERT INTO main.companies (id) VALUES ('c1'), ('c2');
    ${wanted([], { accounts: DAY, contacts: DAY, signals: DAY, filings: DAY, job_openings: DAY })}
    ${state("accounts", "", "now()")} ${state("signals", "", "now()", { rows: 105, because: "not met" })}
    ${state("contacts", "", "now()", { status: "walking" })}
    UPDATE sync.stream_state SET cursor = '{"progress":{"kind":"walk","coverage":{"total":90,"end":30}}}' WHERE stream = 'contacts';
    ${state("job_openings", "c1", "now()", { status: "walking" })} ${state("job_openings", "c2", "now()")}
    UPDATE sync.stream_state SET cursor = '{"progress":{"kind":"known","coverage":{"total":70,"end":30}}}' WHERE stream = 'job_openings';
    ${state("filings", "c1", "now()", { rows: 2, because: "moved" })} ${state("filings", "c2", "now()")}`);
  const rows = await mart.rows(`SELECT table_name, complete, unconfirmed, reason FROM marts.freshness
    WHERE table_name IN ('accounts', 'owners', 'contacts', 'signals', 'filings', 'job_openings') ORDER BY table_name`);
  expect(rows).toEqual([
    ["accounts", true, 0, null],
    ["contacts", false, 60, "not read to its end"],
    ["filings", false, 2, "1 of 2 lists: moved"],
    ["job_openings", false, 40, "1 of 2 lists: not read to its end"],
    ["owners", true, 0, null],
    ["signals", false, 105, "not met"],
  ]);
  const found = await mart.rows(`SELECT table_name, affected, detail FROM marts.data_quality
    WHERE check_name = 'unconfirmed' AND table_name IN ('signals', 'owners')`);
  expect(found).toEqual([["signals", 105, "not met"]]);
});

test("what is unread is called by its name: insights of accounts are no lists", async () => {
  const mart = await aMart(`
    INSERT INTO main.accounts (id, _first_synced_at) VALUES (1, now()), (2, now());
    ${wanted([], { accounts: DAY, account_insights: DAY })}
    ${state("accounts", "", "now()")} ${state("account_insights", "1", "now()")}`);
  expect(
    await mart.rows("SELECT unconfirmed_because FROM marts.freshness WHERE table_name = 'account_insights'"),
  ).toEqual([["1 of 2 insights: never read"]]);
});

test("lists under accounts are not complete before the accounts are read to their end", async () => {
  const mart = await aMart(`
    INSERT INTO main.accounts (id, company_id, _first_synced_at) VALUES (1, 'c1', now());
    ${wanted([], { accounts: DAY, filings: DAY })}
    ${state("accounts", "", "NULL", { status: "walking" })} ${state("filings", "c1", "now()")}`);
  expect(
    await mart.rows("SELECT complete, unconfirmed_because FROM marts.freshness WHERE table_name = 'filings'"),
  ).toEqual([[false, "accounts are not read to their end"]]);
});

test("followed companies are not all there are before the accounts that the mirror wants were read", async () => {
  const verdict = async (streams: Readonly<Record<string, number>>, more = "") => {
    const mart = await aMart(`
      INSERT INTO main.company_inputs (input, company_id, _first_synced_at) VALUES ('one.example', 'c1', now());
      INSERT INTO main.companies (id) VALUES ('c1');
      ${wanted(["one.example"], streams)} ${state("companies", "input:one.example", "now()")} ${more}`);
    return mart.rows("SELECT complete, reason FROM marts.freshness WHERE table_name = 'companies'");
  };
  const both = { accounts: DAY, companies: DAY };
  expect(await verdict(both)).toEqual([[false, "accounts were never read"]]);
  expect(await verdict({ companies: DAY })).toEqual([[true, null]]);
  expect(await verdict(both, state("accounts", "", "now()"))).toEqual([[true, null]]);
  const isPublic = `INSERT INTO sync.capabilities VALUES ('tier', '{"tier": "public", "since": "2026-11-01"}', now());`;
  expect(await verdict(both, isPublic)).toEqual([[true, null]]);
});

test("one empty account list does not prove that the lists of Full Access are empty", async () => {
  const verdict = async (proven: string) => {
    const tier = `{"tier": "public", "since": "2026-11-01"${proven}}`;
    const mart = await aMart(`
      ${wanted([], { accounts: DAY, contacts: DAY })} ${state("accounts", "", "now()")} ${state("contacts", "", "NULL")}
      INSERT INTO sync.capabilities VALUES ('tier', '${tier}', now());`);
    return mart.rows("SELECT complete, reason FROM marts.freshness WHERE table_name IN ('accounts', 'contacts')");
  };
  const once = [false, "the account list was empty once; it is asked for again after a day"];
  expect(await verdict(`, "proven": false`)).toEqual([once, once]);
  for (const proven of [`, "proven": true`, ""])
    expect(await verdict(proven)).toEqual([
      [true, null],
      [true, null],
    ]);
});

test.each([
  { grants: ["company", "owner"], fresh: true },
  { grants: [], fresh: false },
])(
  "profiles of tracked companies are as fresh as their accounts only where those bring them along ($grants)",
  async ({ grants, fresh }) => {
    const mart = await aMart(`
    INSERT INTO main.accounts (id, company_id, _first_synced_at) VALUES (1, 'c1', now());
    INSERT INTO main.companies (id) VALUES ('c1');
    ${wanted([], { accounts: DAY, companies: DAY })}
    INSERT INTO sync.capabilities VALUES ('shape.accounts', '${JSON.stringify({ grants })}', now());
    ${state("accounts", "", "now()")} ${state("companies", "c1", "now() - INTERVAL 3 DAY")}`);
    expect(await mart.rows("SELECT due_at > now() FROM marts.freshness WHERE table_name = 'companies'")).toEqual([
      [fresh],
    ]);
  },
);
