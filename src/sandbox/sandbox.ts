// The sandbox: the whole service of API.md on a local port, over a generated warehouse, for tests, demos and first steps.

import { setMaxListeners } from "node:events";
import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import { createReplica } from "../replica/replica.ts";
import { monthStart } from "../replica/usage.ts";
import type { Database } from "../warehouse/duckdb/database.ts";
import { type Change, createEvolution } from "./evolve.ts";
import { loadRows } from "./generate/load-rows.ts";
import { iso } from "./generate/rows.ts";
import { organizationOf } from "./generate/world.ts";
import { createHttp } from "./http.ts";
import { openCredits } from "./limits/credits.ts";
import { resolveOptions, type SandboxOptions } from "./options.ts";
import { type Quirks, quirkyCut } from "./quirks.ts";
import { createRequestLog } from "./request-log.ts";
import { createService, type Faults, type Intercept, type ServiceStats } from "./service.ts";
import { sandboxToken } from "./tokens.ts";
import { openWorld } from "./world-file.ts";

export interface Sandbox {
  /** Base address, e.g. `http://127.0.0.1:41234`. */
  readonly url: string;
  readonly token: string;
  readonly organizationId: string;
  /** The generated warehouse, for tests that change or compare rows behind the routes. */
  readonly database: Database;
  /** Makes `count` changes now, one after another, and returns them. */
  evolve(count: number): Promise<readonly Change[]>;
  setTier(tier: "full" | "public"): void;
  setQuirks(quirks: Quirks): void;
  /** Inserts a function between accounting and routes; undefined removes it. */
  intercept(intercept: Intercept | undefined): void;
  stats(): ServiceStats;
  /** Stops listening, ends waiting requests, closes the warehouse and deletes it unless `dir` was given. */
  close(): Promise<void>;
}

const spentThisMonth = async (database: Database, now: number): Promise<{ spent: number; lastId: number }> => {
  const [row] = await database.query(
    `SELECT count(*) FILTER (successful AND occurred_at >= CAST($1 AS TIMESTAMPTZ)) AS spent,
       coalesce(max(id), 0) AS "lastId" FROM main.usage_requests`,
    [iso(monthStart(now))],
    z.object({ spent: z.number(), lastId: z.number() }),
  );
  return row ?? { spent: 0, lastId: 0 };
};

/** Makes changes at a steady rate until the signal aborts. `perMinute` > 0. */
const evolveSteadily = async (clock: Clock, perMinute: number, change: () => Promise<unknown>, signal: AbortSignal) => {
  while (!signal.aborted) {
    try {
      await clock.sleep(60_000 / perMinute, signal);
    } catch {
      return;
    }
    await change();
  }
};

/** Generates (or reuses) the warehouse and serves it, by default on 127.0.0.1. Throws USAGE for invalid options. */
export const startSandbox = async (options: SandboxOptions = {}): Promise<Sandbox> => {
  const settings = resolveOptions(options);
  const { seed, clock } = settings;
  const organizationId = organizationOf(seed);
  const token = options.token ?? sandboxToken(organizationId, 0);
  const stopping = new AbortController();
  // Every request that waits for its latency adds a listener; Node would warn of a leak at the eleventh.
  setMaxListeners(0, stopping.signal);
  const world = await openWorld({
    ...settings,
    ...(options.dir === undefined ? {} : { dir: options.dir }),
    ...(options.threads === undefined ? {} : { threads: options.threads }),
  });
  const { database } = world;
  let tier = settings.tier;
  const faults: Faults = { quirks: settings.quirks, intercept: undefined };
  try {
    const { spent, lastId } = await spentThisMonth(database, clock.now());
    const log = createRequestLog(database, lastId + 1);
    if (!world.reused) {
      const { requestsPerMinute, creditsPerMonth } = settings;
      const limits = {
        daily: { requests: requestsPerMinute * 60 * 24 },
        monthly: { credits: creditsPerMonth, rollOverCycles: 3 },
      };
      const row = { capturedAt: iso(settings.now), data: { plan: settings.plan, ...limits } };
      await database.transaction((tx) => loadRows(tx, "usage_limits", [row], iso(settings.now)));
    }
    const replica = createReplica({
      database,
      clock,
      tier: () => tier,
      maxPerPage: settings.maxPerPage,
      organizationId,
      quota: () => service.quota(),
      feedback: async () => ({ received: true }),
      cut: (page, perPage) => quirkyCut(faults.quirks)(page, perPage),
    });
    const service = createService({
      replica,
      log,
      clock,
      seed,
      faults,
      tokens: [token, ...(options.moreTokens ?? [])],
      requestsPerMinute: settings.requestsPerMinute,
      creditsPerMonth: settings.creditsPerMonth,
      credits: openCredits(clock.now(), settings.creditsPerMonth, spent),
      exhaustedStatus: settings.exhaustedStatus,
      rateHeaders: settings.rateHeaders,
      latencyMs: settings.latencyMs,
      signal: stopping.signal,
    });
    const change = await createEvolution(database, { seed, organizationId });
    let url = "";
    const app = createHttp(service.respond, () => url);
    url = await app.listen({ host: settings.host, port: settings.port });
    const evolving =
      settings.evolve > 0
        ? evolveSteadily(clock, settings.evolve, () => change(clock.now()), stopping.signal)
        : Promise.resolve();
    let closing: Promise<void> | undefined;
    const close = async () => {
      stopping.abort(new Error("the sandbox is closing"));
      await app.close();
      await evolving;
      await log.flush();
      await world.close();
    };
    return {
      url,
      token,
      organizationId,
      database,
      evolve: async (count) => {
        const changes: Change[] = [];
        for (let done = 0; done < count; done++) changes.push(...(await change(clock.now())));
        return changes;
      },
      setTier: (changed) => {
        tier = changed;
      },
      setQuirks: (changed) => {
        faults.quirks = changed;
      },
      intercept: (changed) => {
        faults.intercept = changed;
      },
      stats: service.stats,
      close: () => {
        closing ??= close();
        return closing;
      },
    };
  } catch (error) {
    await world.close();
    throw error;
  }
};
