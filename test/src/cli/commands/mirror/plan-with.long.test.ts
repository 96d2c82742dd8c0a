// plan --with: what opt-in content costs, by what the service is known to grant.
import { afterEach, expect, test } from "vitest";
import { aFolder, cli } from "../../../../support/cli.ts";
import { anOrganization } from "../../../../support/fake-data.ts";
import { startFakeServer } from "../../../../support/fake-server.ts";
import { createFakeService, type FakeOptions, type FakeService } from "../../../../support/fake-service.ts";

let close = async () => {};
afterEach(() => close());

const start = async (fields: FakeOptions["fields"], more: Pick<FakeOptions, "usage"> = {}) => {
  const service: FakeService = createFakeService(anOrganization(25), {
    maxPerPage: 100,
    ...(fields ? { fields } : {}),
    ...more,
  });
  for (const signal of service.data.signals) signal.fullContent = `All of ${signal.id}`;
  const server = await startFakeServer(service);
  close = () => server.close();
  const cwd = aFolder();
  const env = { DUCKMIRROR_BASE_URL: server.url, DUCKMIRROR_TOKEN: "test-token", DUCKMIRROR_RATE_LIMIT: "100000" };
  const run = (args: readonly string[], more = {}) => cli([...args], { env: { ...env, ...more }, cwd });
  const lineOf = async (name: string) =>
    (await run(["plan", "--with", name])).out.split("\n").find((line) => line.startsWith(name));
  return { run, lineOf, service };
};
const STREAMS = { DUCKMIRROR_STREAMS: "accounts,signals" };

test("a service whose list has no full text takes a credit per signal, once that is known", async () => {
  const { run, lineOf } = await start(undefined);
  expect(await lineOf("signals.fullContent")).toMatch(/not known .* whose number is not known; the first sync/);
  await run(["sync", "--quiet"], STREAMS);
  expect(await lineOf("signals.fullContent")).toBe(
    "signals.fullContent: not known whether the list returns it: no extra credit if it does, else 150 signals, 150 credits; the first sync with it finds out",
  );
  // A sync that may spend little asks the list once and learns that it lacks the field.
  await run(["sync", "--quiet", "--max-credits", "4"], { ...STREAMS, DUCKMIRROR_CONTENT: "signals.fullContent" });
  expect(await lineOf("signals.fullContent")).toMatch(/^signals.fullContent: 14\d signals, 14\d credits$/);
  const { content } = JSON.parse((await run(["plan", "--with", "fullContent", "--json"])).out);
  expect(content).toMatchObject([
    { name: "signals.fullContent", way: "record" },
    { name: "filings.fullContent", way: "list", credits: 0 },
  ]);
});

test("a service whose list returns it costs no extra credit", async () => {
  const { run, lineOf } = await start({ fullContent: "named" });
  await run(["sync", "--quiet"], { ...STREAMS, DUCKMIRROR_CONTENT: "signals.fullContent" });
  expect(await lineOf("signals.fullContent")).toBe("signals.fullContent: in the list call, no extra credit");
});

test.each([undefined, { fullContent: "named" as const }])(
  "until a sync has found out, configured content makes the plan a range that holds what the sync spends (%o)",
  async (fields) => {
    const resetsAt = new Date(Date.now() + 10 * 86_400_000).toISOString();
    const { run } = await start(fields, { usage: { limit: 5000, used: 10, remaining: 4990, resetsAt } });
    const all = { ...STREAMS, DUCKMIRROR_CONTENT: "signals.fullContent" };
    await run(["check", "--totals"]);
    const first = JSON.parse((await run(["plan", "--json"], all)).out);
    expect(first.at_most - first.credits).toBe(150);
    await run(["sync", "--quiet"], STREAMS);
    const plan = JSON.parse((await run(["plan", "--json"], all)).out);
    expect(plan).toMatchObject({ credits: 2, at_most: 152, at_least: false, left_at_reset: null });
    expect((await run(["plan"], all)).out).toContain(
      "2 to 152 requests, as many credits: not known whether the list of signals returns full content; else it takes a request for each of up to 150;",
    );
    const { credits } = JSON.parse((await run(["sync", "--quiet", "--json"], all)).out);
    expect(credits.spent).toBeGreaterThanOrEqual(plan.credits);
    // Finding out takes a second request of a page of the list.
    expect(credits.spent).toBeLessThanOrEqual(plan.at_most + 1);
    const known = JSON.parse((await run(["plan", "--json"], all)).out);
    expect([known.at_most, known.left_at_reset]).toEqual([known.credits, expect.any(Number)]);
    // What content took once is no change that comes again.
    for (const { changes_per_day: changes } of known.projection) expect(changes).toBe(0);
  },
);

test("work of companies that were followed since the last sync is no change that comes again", async () => {
  const { run, service } = await start(undefined);
  const env = { DUCKMIRROR_STREAMS: "accounts,signals,companies,filings" };
  service.data.companies.push({ id: "c_new" });
  service.data.lists.c_new = {};
  await run(["sync", "--quiet"], env);
  expect((await run(["follow", "c_new"])).code).toBe(0);
  const plan = JSON.parse((await run(["plan", "--json"], env)).out);
  const { credits } = JSON.parse((await run(["sync", "--quiet", "--json"], env)).out);
  expect(credits.spent).toBe(plan.credits);
  const { projection } = JSON.parse((await run(["plan", "--json"], env)).out);
  for (const { changes_per_day: changes } of projection) expect(changes).toBe(0);
});

test("signals mirrored before the list was known to return it cost one walk, and plan says how much that is", async () => {
  const { run, lineOf } = await start({ fullContent: "named" });
  await run(["sync", "--quiet"], STREAMS);
  // A sync that may spend little learns that the list returns it, from a page in both forms (docs/decisions/fields.md);
  // the walk
  // is ended without the content.
  await run(["sync", "--quiet", "--max-credits", "3"], { ...STREAMS, DUCKMIRROR_CONTENT: "signals.fullContent" });
  await run(["sync", "--quiet"], STREAMS);
  const line = await lineOf("signals.fullContent");
  expect(line).toMatch(
    /^signals.fullContent: in the list call, no extra credit; one walk of the list, (\d) credits? more, brings it for the \d+ signals mirrored without it$/,
  );
  const more = Number(/, (\d) credit/.exec(line ?? "")?.[1]);
  const planOf = async (args: readonly string[]) => JSON.parse((await run(["plan", "signals", "--json", ...args])).out);
  expect((await planOf(["--with", "signals.fullContent"])).credits).toBe((await planOf([])).credits + more);
  const all = { ...STREAMS, DUCKMIRROR_CONTENT: "signals.fullContent" };
  const { credits } = JSON.parse((await run(["sync", "signals", "--quiet", "--json"], all)).out);
  expect(credits.spent).toBe(1 + more);
});

test("content of profiles costs a credit for each company that comes with its account", async () => {
  const { run, lineOf } = await start(undefined);
  await run(["sync", "--quiet"], { DUCKMIRROR_STREAMS: "accounts,companies" });
  expect(await lineOf("companies.insights")).toBe("companies.insights: 25 companies, 25 credits");
  // A list whose scope changed is no list that was never read.
  const scoped = await run(["plan", "accounts", "--json"], { DUCKMIRROR_SCOPE: '{"accounts":{"type":["customer"]}}' });
  expect(JSON.parse(scoped.out).streams).toMatchObject([
    { stream: "accounts", because: [{ reason: "its scope changed, so the list is read whole", scopes: 1 }] },
  ]);
  expect(await lineOf("news_articles.articleBody")).toMatch(/: in the list call, no extra credit; /);
});

test("an unknown name is refused with the nearest one", async () => {
  const { run } = await start(undefined);
  const { code, err } = await run(["plan", "--with", "fullContnt"]);
  expect([code, err]).toEqual([2, expect.stringContaining("Did you mean fullContent?")]);
});
