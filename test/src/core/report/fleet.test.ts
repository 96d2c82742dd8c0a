// The fleet as operators see it.
import { expect, test } from "vitest";
import { asSeen, type Fleet, jobsByState, type Member, type QueueState } from "../../../../src/core/report/fleet.ts";

const member: Member = {
  id: "m",
  reads: 3,
  version: "1",
  host: "h",
  pid: 1,
  since: 0,
  seen_at: 1_000,
  in_flight: 0,
  unable: [],
};
const queue = (name: string): QueueState => ({
  name,
  waiting: 1,
  active: 2,
  delayed: 3,
  blocked: 4,
  failed: 5,
  paused: false,
  oldest_waiting_ms: null,
});

test("a member that missed three renewals may be lost", () => {
  expect(asSeen(member, 16_000).silent_ms).toBeNull();
  expect(asSeen(member, 16_001).silent_ms).toBe(15_001);
});

test("jobs are counted over all queues", () => {
  const fleet: Fleet = {
    now: 0,
    queues: [queue("sync"), queue("verify")],
    members: [],
    paused: [],
  };
  expect(jobsByState(fleet)).toEqual({ waiting: 2, active: 4, delayed: 6, "waiting-children": 8, failed: 10 });
});
