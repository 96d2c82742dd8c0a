// A job that a worker cannot take: left to another worker for a while, then failed.
import { DelayedError } from "bullmq";
import { expect, test } from "vitest";
import { type ActiveJob, knownProfile, leaveToOthers, postpone } from "../../../../src/queue/redis/job-consumers.ts";
import { config } from "../requests/a-sync-request.ts";

const NOW = 10_000_000;
const PATIENCE_MS = 60_000;
const clock = { now: () => NOW };

/** A job of this age that was left to others for `leftMs`, and the delays that it got. */
const aJob = ({ ageMs = 0, leftMs = 0, data = {} }: { ageMs?: number; leftMs?: number; data?: unknown } = {}) => {
  const delays: number[] = [];
  const taken: ActiveJob = {
    job: {
      id: "job-1",
      data,
      progress: null,
      timestamp: NOW - ageMs,
      updateProgress: async () => undefined,
      moveToDelayed: async (at, token) => void delays.push(token === "lock" ? at - NOW : Number.NaN),
      promote: async () => undefined,
    },
    token: "lock",
    signal: new AbortController().signal,
    leftFor: async () => leftMs,
  };
  return { taken, delays };
};

test("a postponed job goes back to the queue under its lock, and its worker does nothing more", async () => {
  const { taken, delays } = aJob();
  await expect(postpone(taken, 5_000, NOW)).rejects.toBeInstanceOf(DelayedError);
  expect(delays).toEqual([5_000]);
});

test("a job is offered to others soon while it is young, and ever less often, but every ten seconds", async () => {
  const delayAt = async (ageMs: number) => {
    const { taken, delays } = aJob({ ageMs });
    await expect(leaveToOthers(taken, NOW)).rejects.toBeInstanceOf(DelayedError);
    return delays[0] ?? Number.NaN;
  };
  const [young, older, old] = [await delayAt(0), await delayAt(40_000), await delayAt(86_400_000)];
  expect(young).toBeGreaterThan(0);
  expect(young).toBeLessThan(1_000);
  expect(older).toBeGreaterThan(young);
  expect(old).toBe(10_000);
});

test("a job of another worker's profile is left to that one, and fails once none has come for it", async () => {
  const profiles = [{ ...config, profile: "north" }];
  const waiting = aJob({ leftMs: PATIENCE_MS - 1 });
  await expect(knownProfile(waiting.taken, "south", { clock, profiles }, PATIENCE_MS)).rejects.toBeInstanceOf(
    DelayedError,
  );
  const given = aJob({ leftMs: PATIENCE_MS });
  await expect(knownProfile(given.taken, "south", { clock, profiles }, PATIENCE_MS)).rejects.toMatchObject({
    code: "PROFILE_UNKNOWN",
  });
});
