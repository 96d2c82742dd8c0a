// Metrics of the fleet, as a monitor reads them.
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { Fleet, QueueState, SeenMember } from "../../../../src/core/report/fleet.ts";
import { addFleet } from "../../../../src/server/figures/metrics.ts";

const aQueue = (name: string, more: Partial<QueueState> = {}): QueueState => ({
  ...{
    name,
    waiting: 0,
    active: 0,
    delayed: 0,
    blocked: 0,
    failed: 0,
    paused: false,
    oldest_waiting_ms: null,
  },
  ...more,
});
const aMember = (id: string, more: Partial<SeenMember> = {}): SeenMember => ({
  ...{
    id,
    reads: 3,
    version: "1.0.0",
    host: "h",
    pid: 1,
    since: 0,
    seen_at: 0,
    in_flight: 0,
    unable: [],
    silent_ms: null,
  },
  ...more,
});
const metricsOf = async (fleet: Partial<Fleet>) => {
  const registry = new Registry();
  addFleet(registry, { now: 0, queues: [], members: [], paused: [], ...fleet });
  const lines = (await registry.metrics()).split("\n");
  return (series: string) =>
    lines
      .find((line) => line.startsWith(`${series} `))
      ?.split(" ")
      .at(-1);
};

test("each queue has its jobs by state, and the age of the oldest that waits", async () => {
  const value = await metricsOf({
    queues: [aQueue("sync", { waiting: 3, failed: 2, oldest_waiting_ms: 4_500 }), aQueue("deliver", { active: 1 })],
  });
  expect(value('duckmirror_queue_depth{queue="sync",state="waiting"}')).toBe("3");
  expect(value('duckmirror_queue_depth{queue="sync",state="failed"}')).toBe("2");
  expect(value('duckmirror_queue_depth{queue="deliver",state="active"}')).toBe("1");
  expect(value('duckmirror_queue_oldest_waiting_seconds{queue="sync"}')).toBe("4.5");
  expect(value('duckmirror_queue_oldest_waiting_seconds{queue="deliver"}')).toBe("0");
});

test("members are counted by version, so that an upgrade shows", async () => {
  const value = await metricsOf({
    members: [aMember("a"), aMember("b"), aMember("c", { version: "2.0.0" })],
  });
  expect(value('duckmirror_members{version="1.0.0"}')).toBe("2");
  expect(value('duckmirror_members{version="2.0.0"}')).toBe("1");
});

test("what is paused is 1, and nothing else is there", async () => {
  const value = await metricsOf({
    paused: [
      { kind: "fleet", name: null, since: 0 },
      { kind: "profile", name: "north", since: null },
    ],
  });
  expect(value('duckmirror_paused{kind="fleet",name=""}')).toBe("1");
  expect(value('duckmirror_paused{kind="profile",name="north"}')).toBe("1");
  expect(value('duckmirror_paused{kind="profile",name="south"}')).toBeUndefined();
});
