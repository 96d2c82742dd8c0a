// Three simulated months of an organization that syncs twice a day. In one of two mirrors, one of the kinds of faults that strangers found
// (docs/RELIABILITY.md) happens in the first sync of each day, and has passed before the second: the other mirror has none.
// Both end with the same rows, for nearly the same credits, without a hand. STRANGE_SEED chooses what changes and what happens. Shows P7.
import { expect, test } from "vitest";
import { TABLE_NAMES, tableSpec } from "../../../src/catalog/tables.ts";
import type { Clock } from "../../../src/core/clock.ts";
import { seededRandom } from "../../support/chance.ts";
import { aContact, aJob, anOrganization, aSignal } from "../../support/fake-data.ts";
import { createFakeService, type FakeAnswer, type FakeData, type FakeService } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";

const SEED = Number(process.env.STRANGE_SEED ?? "1");
const DAYS = 92;
const DAY_MS = 86_400_000;
const START = Date.UTC(2026, 0, 1);

interface Moment {
  readonly path: string;
  readonly answer: FakeAnswer;
  /** Requests of this sync so far. */
  readonly asked: number;
  /** The first request of this path in this sync. */
  readonly first: boolean;
}
type Body = Record<string, unknown> & { readonly meta?: Record<string, unknown>; readonly data?: unknown };

const refusal = (status: number, headers: Readonly<Record<string, string>> = {}): FakeAnswer => ({
  status,
  body: { error: { message: "no" } },
  headers,
});
const bodyOf = ({ body }: FakeAnswer) => body as Body;
const withBody = (answer: FakeAnswer, more: Body): FakeAnswer => ({ ...answer, body: { ...bodyOf(answer), ...more } });

/** What happens in the first sync of a day, by kind. */
const FAULTS: Readonly<Record<string, (moment: Moment) => FakeAnswer>> = {
  "A: a route is forbidden": (m) => (m.path === "/v1/contacts" ? refusal(403) : m.answer),
  "A: companies fail": (m) => (/^\/v1\/companies\/c_[1-3]/.test(m.path) ? refusal(500) : m.answer),
  "A: companies moved": (m) =>
    /^\/v1\/companies\/c_[1-3]\//.test(m.path) ? refusal(301, { location: "/v1/companies/c_9" }) : m.answer,
  "A: 403 that is a rate limit": (m) => (m.asked === 2 ? refusal(403, { "retry-after": "5" }) : m.answer),
  // A 200 is charged, whatever it holds.
  "B: an answer of another shape": (m) =>
    m.path === "/v1/signals" && m.first ? { status: 200, body: { unexpected: true } } : m.answer,
  "B: headers that no client takes": (m) =>
    m.path === "/v1/contacts" && m.first ? { ...m.answer, headers: { "x-debug": "y".repeat(17_000) } } : m.answer,
  "D: numbers as text": (m) => {
    const { data } = bodyOf(m.answer);
    if (m.path !== "/v1/accounts" || !Array.isArray(data)) return m.answer;
    return withBody(m.answer, { data: data.map((row) => ({ ...row, mainScore: `${row.mainScore}.0` })) });
  },
  "E: insights that say they failed": (m) =>
    m.path === "/v1/account-insights" ? { status: 200, body: { status: "error", message: "busy" } } : m.answer,
  "E: details that lag": (m) => (/^\/v1\/signals\/\d+$/.test(m.path) ? refusal(404) : m.answer),
  "E: companies in part": (m) => {
    const { included } = bodyOf(m.answer) as { included?: Record<string, Body[]> };
    if (m.path !== "/v1/accounts" || included?.companies === undefined) return m.answer;
    const companies = included.companies.map(({ id, name, domain }) => ({ id, name, domain }));
    return withBody(m.answer, { included: { ...included, companies } });
  },
  "F: too many at once": (m) => (m.asked % 3 === 1 && m.asked < 12 ? refusal(429, { "retry-after": "1" }) : m.answer),
  "F: a plan without a limit": (m) =>
    m.answer.status === 200 ? withBody(m.answer, { usage: { limit: 0, remaining: 0 } }) : m.answer,
};
const CLOCK_AHEAD = "C: our clock is a day ahead";
const KINDS = [...Object.keys(FAULTS), CLOCK_AHEAD];

/** The same changes of one day in any copy of the organization. */
const change = (data: FakeData, day: number): void => {
  const random = seededRandom(SEED * 1000 + day);
  const at = new Date(START + day * DAY_MS - 3_600_000).toISOString();
  const pick = <T>(items: readonly T[]): T | undefined => items[Math.floor(random() * items.length)];
  Object.assign(pick(data.accounts) ?? {}, { mainScore: Math.floor(random() * 100), updatedAt: at });
  for (let n = 0; n < 2; n += 1)
    data.signals.push(aSignal(100_000 + day * 10 + n, { date: at, createdAt: at, updatedAt: at }));
  if (day % 5 === 0) data.contacts.push(aContact(`new${day}`, { lastChangeDetectedOn: at }));
  if (day % 7 === 0) data.lists[String(pick(data.companies)?.id)]?.["job-openings"]?.push(aJob(`job${day}`));
  if (day % 6 === 3) data.signals.splice(Math.floor(random() * data.signals.length), 1);
};

const aMirror = async () => {
  const hits = new Map<string, number>();
  let now = START;
  let ahead = 0;
  let fault: (moment: Moment) => FakeAnswer = ({ answer }) => answer;
  let from = 0;
  let today: string | null = null;
  const plain = createFakeService(anOrganization(12), { maxPerPage: 50 });
  const charged = { credits: 0 };
  const service: FakeService = {
    ...plain,
    answer: (path, query) => {
      const honest = plain.answer(path, query);
      const before = plain.log.slice(from);
      const first = before.filter((request) => request.path === path).length === 1;
      const answer = fault({ path, answer: honest, asked: before.length, first });
      if (today !== null && answer !== honest) hits.set(today, (hits.get(today) ?? 0) + 1);
      if (answer.status === 200) charged.credits += 1;
      return answer;
    },
  };
  const clock: Clock = {
    now: () => now + ahead,
    sleep: async (ms, signal) => {
      if (signal?.aborted) throw signal.reason;
      now += Math.max(0, ms);
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
  const rig = await startMemoryRig(service, { DUCKMIRROR_CONTENT: "signals.fullContent" }, clock);
  return {
    data: plain.data,
    charged,
    hits,
    rows: rig.rows,
    /** One sync of a day, at this hour. */
    sync: async (day: number, hour: number, kind: string | null) => {
      now = Math.max(now, START + day * DAY_MS + hour * 3_600_000);
      from = plain.log.length;
      ahead = kind === CLOCK_AHEAD ? DAY_MS : 0;
      today = kind;
      fault = (kind === null ? undefined : FAULTS[kind]) ?? (({ answer }) => answer);
      const { report } = await rig.sync();
      ahead = 0;
      return report;
    },
  };
};

const OWN = ["usage_snapshots", "usage_breakdown", "usage_requests", "usage_limits", "signal_counts", "company_inputs"];

const contentOf = ({ rows }: Awaited<ReturnType<typeof aMirror>>) =>
  Object.fromEntries(
    TABLE_NAMES.filter((name) => !OWN.includes(name)).map((name) => {
      const columns = tableSpec(name).fields.map(({ column }) => column);
      return [
        name,
        rows(name, ...columns)
          .map((row) => JSON.stringify(row, (_, cell) => (typeof cell === "bigint" ? String(cell) : cell)))
          .sort(),
      ];
    }),
  );

test(`three months in which something strange happens each day end as three quiet ones (seed ${SEED})`, async () => {
  const [quiet, strange] = [await aMirror(), await aMirror()];
  const random = seededRandom(SEED);
  for (let day = 0; day < DAYS; day += 1) {
    const kind = KINDS[Math.floor(random() * KINDS.length)] ?? null;
    // The first mirror of both is a quiet one.
    const today = day === 0 ? null : kind;
    for (const mirror of [quiet, strange]) {
      if (day > 0) change(mirror.data, day);
      await mirror.sync(day, 8, mirror === strange ? today : null);
      await mirror.sync(day, 20, null);
    }
  }
  const last = await strange.sync(DAYS, 8, null);
  await quiet.sync(DAYS, 8, null);
  // Each kind was met.
  expect([...strange.hits.keys()].sort()).toEqual(Object.keys(FAULTS).sort());
  expect(contentOf(strange)).toEqual(contentOf(quiet));
  expect(last.streams.filter(({ complete }) => !complete)).toEqual([]);
  const { credits } = strange.charged;
  expect(credits / quiet.charged.credits, `${credits} against ${quiet.charged.credits}`).toBeLessThanOrEqual(1.05);
});
