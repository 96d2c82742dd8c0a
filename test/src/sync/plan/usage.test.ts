// The organization's usage: how far back its request history is read, what a breakdown costs, whose usage it is.
import { expect, test } from "vitest";
import { createFakeService, emptyData, type FakeService } from "../../../support/fake-service.ts";
import { startMemoryRig } from "../../../support/memory-rig.ts";
import { simulatedClock } from "../../../support/sync-rig.ts";

const DAY = 86_400_000;

const startWith = async (service: FakeService, settings: Record<string, string>) => {
  const clock = simulatedClock();
  const rig = await startMemoryRig(service, settings, clock);
  /** Queries of the usage routes that a sync asks for, by path. */
  const queries = async (path: string): Promise<readonly URLSearchParams[]> => {
    const before = service.log.length;
    await rig.sync();
    return service.log
      .slice(before)
      .filter((entry) => entry.path === path)
      .map(({ query }) => new URLSearchParams(query));
  };
  return { clock, queries };
};

const aService = () => createFakeService(emptyData(), { credits: 1_000_000 });

test("the request history is read from usage_history_days ago, and later from the last read on", async () => {
  const { clock, queries } = await startWith(aService(), { DUCKMIRROR_USAGE_HISTORY_DAYS: "10" });
  const begin = clock.now();
  const [first] = await queries("/v1/usage/requests");
  expect(first?.get("window")).toBe("custom");
  expect(Math.abs(Date.parse(first?.get("from") ?? "") - (begin - 10 * DAY))).toBeLessThan(DAY / 24);
  expect(Date.parse(first?.get("to") ?? "")).toBeGreaterThan(begin);
  const readAt = clock.now();
  await clock.sleep(2 * DAY);
  const [later] = await queries("/v1/usage/requests");
  expect(Math.abs(Date.parse(later?.get("from") ?? "") - (readAt - DAY))).toBeLessThan(DAY / 24);
});

test("with 0 days none of the history is read", async () => {
  const { queries } = await startWith(aService(), { DUCKMIRROR_USAGE_HISTORY_DAYS: "0" });
  expect(await queries("/v1/usage/requests")).toEqual([]);
});

test("one breakdown is asked for, or each that is configured, of the configured organization", async () => {
  const one = await startWith(aService(), {});
  const asked = await one.queries("/v1/usage");
  expect(asked.map((query) => [query.get("groupBy"), query.get("organizationId")])).toEqual([["endpoint", null]]);
  const many = await startWith(aService(), {
    DUCKMIRROR_USAGE_BREAKDOWNS: "endpoint,apiKey,day",
    DUCKMIRROR_ORGANIZATION_ID: "org_2",
  });
  const queries = await many.queries("/v1/usage");
  expect(queries.map((query) => [query.get("groupBy"), query.get("organizationId")])).toEqual([
    ["apiKey", "org_2"],
    ["day", "org_2"],
    ["endpoint", "org_2"],
  ]);
});
