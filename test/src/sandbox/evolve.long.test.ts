// Changes while the sandbox runs: what they say they did is what the routes then show.
import { expect, test } from "vitest";
import { z } from "zod";
import { fakeClock, get, NOW, one, walk, withSandbox } from "./sandbox-client.ts";

test("every announced change can be seen through the API, and ids of deleted records never come back", async () => {
  const clock = fakeClock();
  await withSandbox({ accounts: 10, clock, now: NOW }, async (sandbox) => {
    const highest = Number((await walk(sandbox, "/v1/signals?sortBy=id&perPage=1")).map(({ id }) => id)[0]);
    const created = new Set<string>();
    const deleted = new Set<string>();
    const seen = new Set<string>();
    for (let round = 0; round < 30; round++) {
      clock.advance(60_000);
      for (const change of await sandbox.evolve(20)) {
        const name = `${change.table}/${change.id}`;
        seen.add(`${change.kind} ${change.table}`);
        if (change.kind === "insert") {
          expect(deleted.has(name), `${name} came back`).toBe(false);
          created.add(name);
        }
        if (change.kind === "delete") deleted.add(name);
        if (change.kind === "delete" && change.table === "contacts")
          await get(sandbox, `/v1/contacts/${change.id}`, 404);
        if (change.kind === "delete" && change.table === "signals") await get(sandbox, `/v1/signals/${change.id}`, 404);
      }
    }
    for (const kind of [
      "insert signals",
      "insert contacts",
      "insert news_articles",
      "insert job_openings",
      "insert accounts",
      "update accounts",
      "update contacts",
      "update job_openings",
      "update account_insights",
      "delete contacts",
      "delete signals",
      "delete job_openings",
      "delete accounts",
    ]) {
      expect(seen).toContain(kind);
    }
    const signals = await walk(sandbox, "/v1/signals?sortBy=id");
    const fresh = signals.filter(({ id }) => Number(id) > highest);
    expect(fresh.every(({ createdAt }) => Date.parse(String(createdAt)) > NOW)).toBe(true);
    const live = [...created].filter((name) => name.startsWith("signals/") && !deleted.has(name));
    expect(fresh.map(({ id }) => `signals/${id}`).sort()).toEqual(live.sort());
    const accounts = new Set((await walk(sandbox, "/v1/accounts")).map(({ id }) => id));
    expect(signals.every(({ accountId }) => accounts.has(accountId))).toBe(true);
  });
});

test("a career change moves the title, keeps the previous one and is found by its date", async () => {
  const clock = fakeClock();
  await withSandbox({ accounts: 10, clock }, async (sandbox) => {
    const before = new Map((await walk(sandbox, "/v1/contacts")).map((row) => [row.id, row]));
    clock.advance(3_600_000);
    await sandbox.evolve(60);
    const changed = await walk(sandbox, `/v1/contacts?lastChangeDetectedAfter=${new Date(NOW).toISOString()}`);
    const promoted = changed.filter(({ id, changeType }) => changeType === "promotion" && before.has(id));
    expect(promoted.length).toBeGreaterThan(0);
    for (const row of promoted) {
      expect(row.previousTitle).toBe(before.get(row.id)?.currentTitle);
      expect(row.currentTitle).not.toBe(row.previousTitle);
    }
  });
});

test("with a rate, changes happen by themselves at that pace", async () => {
  // Each sleep ends when the test lets it: ten changes, no real time.
  const waits: number[] = [];
  let now = NOW;
  let release: (() => void) | undefined;
  const tenth = new Promise<void>((resolve) => {
    release = resolve;
  });
  const clock = {
    now: () => now,
    sleep: (ms: number, signal?: AbortSignal) => {
      waits.push(ms);
      now += ms;
      if (waits.length <= 10) return Promise.resolve();
      release?.();
      return new Promise<void>((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    },
  };
  await withSandbox({ accounts: 5, clock, evolve: 120 }, async (sandbox) => {
    await tenth;
    expect(new Set(waits)).toEqual(new Set([500]));
    const [row] = await sandbox.database.query(
      `SELECT (SELECT count(*) FROM main.signals WHERE created_at > CAST($1 AS TIMESTAMPTZ))
         + (SELECT count(*) FROM main.contacts WHERE last_change_detected_on > CAST($1 AS TIMESTAMPTZ))
         + (SELECT count(*) FROM main.accounts WHERE updated_at > CAST($1 AS TIMESTAMPTZ)) AS changed`,
      [new Date(NOW).toISOString()],
      z.object({ changed: z.number() }),
    );
    expect(row?.changed).toBeGreaterThan(0);
    expect(one((await get(sandbox, "/v1/signals/counts")).data).all).toBeGreaterThan(0);
  });
});
