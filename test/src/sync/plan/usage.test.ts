// The organization's usage: how far back its request history is read, what a breakdown costs, whose usage it is.
import { expect, test } from "vitest";
import { createFakeService, emptyData } from "../../../support/fake-service.ts";
import { startMemoryRig } from "../../../support/memory-rig.ts";
import { simulatedClock } from "../../../support/sync-rig.ts";

const DAY = 86_400_000;

/** A mirror; `queries`: those of a usage route in one more sync. */
const startWith = async (settings: Record<string, string>) => {
  const service = createFakeService(emptyData(), { credits: 1_000_000 });
  const { sync, clock } = await startMemoryRig(service, settings, simulatedClock());
  const queries = async (route: string) =>
    (await sync()).sent.filter(({ path }) => path === route).map(({ query }) => query);
  return { clock, queries };
};

test("the request history is read from usage_history_days ago, and later from the last read on", async () => {
  const { clock, queries } = await startWith({ DUCKMIRROR_USAGE_HISTORY_DAYS: "10" });
  const begin = clock.now();
  const [first] = await queries("/v1/usage/requests");
  expect(first?.window).toBe("custom");
  expect(Math.abs(Date.parse(first?.from ?? "") - (begin - 10 * DAY))).toBeLessThan(DAY / 24);
  expect(Date.parse(first?.to ?? "")).toBeGreaterThan(begin);
  const readAt = clock.now();
  await clock.sleep(2 * DAY);
  const [later] = await queries("/v1/usage/requests");
  expect(Math.abs(Date.parse(later?.from ?? "") - (readAt - DAY))).toBeLessThan(DAY / 24);
});

test("with 0 days none of the history is read", async () => {
  const { queries } = await startWith({ DUCKMIRROR_USAGE_HISTORY_DAYS: "0" });
  expect(await queries("/v1/usage/requests")).toEqual([]);
});

test("one breakdown is asked for, or each that is configured, of the configured organization", async () => {
  const asked = async (settings: Record<string, string>) => {
    const { queries } = await startWith(settings);
    return (await queries("/v1/usage")).map(({ groupBy, organizationId }) => [groupBy, organizationId]);
  };
  expect(await asked({})).toEqual([["endpoint", undefined]]);
  const many = { DUCKMIRROR_USAGE_BREAKDOWNS: "endpoint,apiKey,day", DUCKMIRROR_ORGANIZATION_ID: "org_2" };
  expect(await asked(many)).toEqual(["apiKey", "day", "endpoint"].map((groupBy) => [groupBy, "org_2"]));
});
