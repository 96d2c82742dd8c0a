// Idempotency keys as they are kept in Redis: what is read of what was written.
import { expect, test } from "vitest";
import { askedBefore, keyReads, keyWrites } from "../../../../../src/queue/syncs/redis/start-sync.ts";
import { anAsk } from "../../asking/an-ask.ts";

const ask = anAsk({ idempotencyKey: "nightly 2026-11-21", streams: ["accounts"] });

/** Redis's memory after these commands: key -> value. */
const after = (...commands: readonly (readonly (string | number)[])[]) => {
  const memory = new Map<string, string>();
  for (const [name, key, value] of commands) if (name === "set") memory.set(String(key), String(value));
  return memory;
};
const found = (memory: ReadonlyMap<string, string>, profile: string, asked = ask): string | null => {
  const [[, key] = []] = keyReads(profile, asked);
  return askedBefore(memory.get(String(key)) ?? null, asked);
};

test("the same request with the same key finds its sync; another key, profile or none finds nothing", () => {
  const memory = after(...keyWrites("north", ask, "run-1"));
  expect(found(memory, "north")).toBe("run-1");
  expect(found(memory, "south")).toBeNull();
  expect(found(memory, "north", { ...ask, idempotencyKey: "another" })).toBeNull();
});

test("a request without a key reads nothing and writes nothing", () => {
  expect(keyReads("north", anAsk({}))).toEqual([]);
  expect(keyWrites("north", anAsk({}), "run-1")).toEqual([]);
});

test("a key that is used for another request is refused, and the error names its sync", () => {
  const memory = after(...keyWrites("north", ask, "run-1"));
  expect(() => found(memory, "north", { ...ask, full: true })).toThrow(
    expect.objectContaining({ code: "IDEMPOTENCY_REUSED", context: { run: "run-1" } }),
  );
});

test("a key lasts a day, and its text is not in Redis, where it could be anything", () => {
  const [command = []] = keyWrites("north", ask, "run-1");
  expect(command.slice(-2)).toEqual(["EX", 24 * 60 * 60]);
  expect(command.join(" ")).not.toContain("nightly");
});
