// A month of an organization in simulated time. The planner, its order by value and the pacing of credits are the
// program's own; requests are not sent, each costs what it would.
import { createLedger } from "../src/budget/credits/local-ledger.ts";
import { STREAM_NAMES, type StreamName, streamSpec } from "../src/catalog/streams.ts";
import type { Clock } from "../src/core/clock.ts";
import { accessOf, type KnownTier, tierAfter } from "../src/core/state/tier.ts";
import { PLANS, type PlanName } from "../src/sandbox/limits/credits.ts";
import {
  type AccountFact,
  type Candidate,
  type Context,
  type MirrorView,
  stateKey,
} from "../src/sync/plan/candidate.ts";
import { dueCandidates } from "../src/sync/plan/due.ts";
import { INPUT_SCOPE } from "../src/sync/rows/loads.ts";
import type { ScopeState } from "../src/warehouse/record/checkpoint.ts";
import { createForecasts } from "./plan-forecasts.ts";

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
export const START = Date.UTC(2026, 10, 1);
const MONTH = 30 * DAY;
const RUN_EVERY = 6 * HOUR;
const PAGE = 100;

/** What an organization is taken to hold and do, per account: the sandbox's own proportions. */
export const WORLD = {
  rows: { accounts: 1, contacts: 10, signals: 28 },
  /** Share of accounts, contacts and signals that change or come in a day. */
  changedPerDay: { accounts: 0.03, contacts: 0.01, signals: 0.01 },
  /** Accounts in which a signal of a day announces something in one of the four lists. */
  announcedPerDay: 0.15,
} as const;
type List = keyof typeof WORLD.rows;
const isList = (name: StreamName): name is List => Object.hasOwn(WORLD.rows, name);
const COMPANY_LISTS = ["news_articles", "job_openings", "earnings_calls", "filings"] as const;

export const randomFrom = (seed: number) => {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state >>> 0) / 2 ** 32;
  };
};

/** Credits by what they bought. */
export interface Spending {
  companies: number;
  /** Lists of Full Access, which are empty without it. */
  organization: number;
  usage: number;
}

export interface Month {
  readonly spent: number;
  readonly on: Spending;
  /** Day on which every scope had been mirrored once; null: not within the month. */
  readonly wholeOn: number | null;
  /** Share of company lists, insights and (by name) companies mirrored at the end. */
  readonly covered: number;
  /** ms since the last look, at the end of the month: organization lists and company lists. */
  readonly organization: readonly number[];
  readonly company: readonly number[];
  /** Errors of the forecasts of its syncs, in percent, without a sign. */
  readonly errors: readonly number[];
  /** Those of syncs that the credits did not cut. */
  readonly uncutErrors: readonly number[];
  /** Credits left at the reset, foreseen every five days. */
  readonly leftAtReset: readonly number[];
}

const ALWAYS_OPEN = { access: "open", creditLimit: null } as const;

interface MonthOptions {
  /** The planner knows the tier and the credits of the period (docs/decisions/configuration.md). Default: it does. */
  readonly knowing?: boolean;
  /** Time between two complete walks of each list, ms; default: 30 days. */
  readonly reconcileEveryMs?: number;
  /** Called when a list or record was read, and after each sync. */
  readonly watch?: { read(candidate: Candidate, now: number): void; synced(now: number): void };
}

/**
 * One organization for a month. The free plan has no Full Access: companies come by name, and organization lists are
 * empty.
 */
export const simulate = (plan: PlanName, size: number, options: MonthOptions = {}): Month => {
  const { knowing = true, reconcileEveryMs = 30 * DAY, watch } = options;
  const random = randomFrom(size + plan.length);
  const isPublic = plan === "free";
  const names = Array.from({ length: size }, (_, i) => `company-${i}.example`);
  const facts: AccountFact[] = names.map((_, i) => ({
    id: String(i),
    companyId: `c${i}`,
    priority: 1 + Math.floor(random() * 3),
    score: Math.floor(random() * 100),
    changedAt: START,
  }));
  const states = new Map<string, ScopeState>();
  const hints = new Map<string, { count: number; type: string }>();
  const inputs = new Map<string, { input: string; companyId: string; resolvedAt: number }>();
  let now = START;
  // `check` was run before the first sync: it asked for the account list.
  let spent = knowing ? 1 : 0;
  let tier: KnownTier | null = knowing
    ? tierAfter(null, { shows: isPublic ? "public" : "full", because: "", held: false }, START)
    : null;
  const on: Spending = { companies: 0, organization: knowing ? 1 : 0, usage: 0 };
  let wholeOn: number | null = null;
  const clock: Clock = { now: () => now, sleep: async () => undefined };
  const { creditsPerMonth: limit } = PLANS[plan];
  /** Pages that the credits of a run did not suffice for: the next one goes on there. */
  const pagesLeft = new Map<string, number>();

  const stateOf = (stream: StreamName, scope: string) => states.get(stateKey(stream, scope));
  const known = () => stateOf("accounts", "")?.walkedAt != null;
  const view = (): MirrorView => ({
    now,
    creditLimit: knowing ? limit : ALWAYS_OPEN.creditLimit,
    creditsUsed: spent,
    states,
    accounts: known() && !isPublic ? facts : [],
    companies: new Set(known() && !isPublic ? facts.map(({ companyId }) => companyId ?? "") : []),
    inputs: [...inputs.values()],
    sameAccounts: new Set(),
    hints,
    signalsWithoutContent: [],
  });
  const totals = new Map(Object.entries(WORLD.rows).map(([list, rows]) => [list, isPublic ? 0 : rows * size]));
  const contextNow = (): Context => ({
    view: view(),
    options: {
      streams: STREAM_NAMES,
      access: knowing ? accessOf(tier, now, false) : ALWAYS_OPEN.access,
      named: false,
      full: false,
      companies: isPublic ? names : [],
      content: [],
      maxAgeMs: {},
      reconcileEveryMs,
      budgets: {},
      rowScope: {},
      shapes: new Map(),
      largestPage: PAGE,
      totals,
      usage: { historyDays: 30, breakdowns: ["endpoint"] },
    },
  });
  const forecasts = createForecasts(RUN_EVERY, STREAM_NAMES);

  const rowsOf = (stream: StreamName) => {
    if (!isList(stream)) return 5;
    return isPublic ? 0 : WORLD.rows[stream] * size;
  };
  /** Requests that a look or a walk takes now. */
  const costOf = ({ stream, scope, mode }: Candidate): number => {
    if (mode === "walk") return Math.max(1, Math.ceil(rowsOf(stream) / PAGE));
    if (mode !== "watermark" || !isList(stream)) return 1;
    const days = (now - (stateOf(stream, scope)?.checkedAt ?? now)) / DAY;
    return Math.max(1, Math.ceil((rowsOf(stream) * WORLD.changedPerDay[stream] * days) / PAGE));
  };
  const lookedAt = (candidate: Candidate) => {
    watch?.read(candidate, now);
    const { stream, scope, mode } = candidate;
    const before = stateOf(stream, scope);
    const walked = mode === "walk" ? now : (before?.walkedAt ?? now);
    const common = {
      status: "idle",
      walkId: null,
      cursor: null,
      watermark: now,
      error: null,
      runId: "r",
      unconfirmed: null,
    } as const;
    const counts = { totalCount: rowsOf(stream), rowsAtWalk: rowsOf(stream), checkedAt: now, walkedAt: walked };
    const since = now - (before?.checkedAt ?? now);
    if (mode === "resolve") {
      const input = scope.slice(INPUT_SCOPE.length);
      inputs.set(input, {
        input,
        companyId: `c${input.slice("company-".length).replace(".example", "")}`,
        resolvedAt: now,
      });
    }
    states.set(stateKey(stream, scope), { stream, scope, ...common, ...counts });
    if (stream === "accounts") {
      const shows = isPublic ? "public" : "full";
      tier = tierAfter(tier, { shows, because: "", held: false }, now);
    }
    hints.delete(stateKey(stream, scope));
    if (stream === "accounts" && before !== undefined) {
      for (const [i, fact] of facts.entries())
        if (random() < (WORLD.changedPerDay.accounts * since) / DAY) facts[i] = { ...fact, changedAt: now };
    }
    if (stream === "signals" && before !== undefined) {
      for (const { companyId } of facts) {
        if (random() >= (WORLD.announcedPerDay * since) / DAY) continue;
        const list = COMPANY_LISTS[Math.floor(random() * COMPANY_LISTS.length)] ?? "news_articles";
        if (stateOf(list, companyId ?? "") !== undefined)
          hints.set(stateKey(list, companyId ?? ""), { count: 1, type: streamSpec(list).hints[0] ?? "" });
      }
    }
  };

  /** One sync: what is due by its value, as far as the credits go. */
  const sync = () => {
    const ledger = createLedger({ clock, pace: "even", runEveryMs: RUN_EVERY });
    const spend = (stream: StreamName): boolean => {
      const reservation = ledger.tryReserve();
      // Refused by the service, at no credit.
      if (!reservation.ok || spent === limit) return false;
      spent += 1;
      on[stream === "usage" ? "usage" : streamSpec(stream).tier === "full" ? "organization" : "companies"] += 1;
      ledger.settle(reservation.id, "spent");
      ledger.observe({ limit, used: spent, remaining: limit - spent, resetsAt: START + MONTH }, now);
      return true;
    };
    const taken = new Set<string>();
    const start = contextNow();
    const figures = { limit, used: spent, remaining: limit - spent, resetsAt: START + MONTH };
    const due = dueCandidates(start.view, start.options);
    const forecast = forecasts.begin(start, due, ledger.expects(figures), figures);
    const bought = new Map<StreamName, number>();
    for (;;) {
      const { view: seen, options } = contextNow();
      const fresh = dueCandidates(seen, options).filter(({ stream, scope }) => !taken.has(stateKey(stream, scope)));
      if (fresh.length === 0) return forecast.end(bought, true);
      for (const candidate of fresh) {
        const key = stateKey(candidate.stream, candidate.scope);
        taken.add(key);
        for (let left = pagesLeft.get(key) ?? costOf(candidate); left > 0; left--) {
          if (spend(candidate.stream)) {
            bought.set(candidate.stream, (bought.get(candidate.stream) ?? 0) + 1);
            continue;
          }
          pagesLeft.set(key, left);
          return forecast.end(bought, false);
        }
        pagesLeft.delete(key);
        lookedAt(candidate);
      }
    }
  };

  const companyScopes = COMPANY_LISTS.flatMap((list) => facts.map(({ companyId }) => [list, companyId ?? ""] as const));
  const insights = isPublic ? [] : facts.map(({ id }) => ["account_insights", id] as const);
  const resolved = isPublic ? names.map((name) => ["companies", `${INPUT_SCOPE}${name}`] as const) : [];
  const scopes = [...companyScopes, ...insights, ...resolved];
  for (; now < START + MONTH; now += RUN_EVERY) {
    sync();
    watch?.synced(now);
    if (wholeOn === null && scopes.every(([stream, scope]) => stateOf(stream, scope) !== undefined))
      wholeOn = (now - START) / DAY;
  }
  const age = (stream: StreamName, scope: string) => now - (stateOf(stream, scope)?.checkedAt ?? Number.NaN);
  const seen = scopes.filter(([stream, scope]) => stateOf(stream, scope) !== undefined);
  return {
    spent,
    on,
    wholeOn,
    covered: seen.length / scopes.length,
    organization: isPublic ? [] : (["accounts", "contacts", "signals"] as const).map((list) => age(list, "")),
    errors: forecasts.errors,
    uncutErrors: forecasts.uncutErrors,
    leftAtReset: forecasts.leftAtReset,
    company: companyScopes.map(([list, scope]) => age(list, scope)).filter((ms) => !Number.isNaN(ms)),
  };
};
