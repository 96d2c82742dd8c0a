// Queues, members and pauses for people.
import { expect, test } from "vitest";
import { pauseName, renderMembers, renderPauses, renderQueues } from "../../../../src/cli/terminal/fleet-tables.ts";
import type { Fleet, Pause, QueueState, SeenMember } from "../../../../src/core/report/fleet.ts";

const fleet = (more: Partial<Fleet>): Fleet => ({ now: 0, queues: [], members: [], paused: [], ...more });
const queue = (more: Partial<QueueState>): QueueState => ({
  ...{ name: "sync", profile: null, waiting: 1, active: 2, delayed: 3, blocked: 4, failed: 5, paused: false },
  oldest_waiting_ms: null,
  ...more,
});
const member = (more: Partial<SeenMember>): SeenMember => ({
  ...{ id: "m", reads: 3, version: "1", host: "box", pid: 7, since: 0, seen_at: 0, in_flight: 2, unable: [] },
  silent_ms: null,
  ...more,
});

/** The cells of a table, row by row, without its head. */
const cellsOf = (table: string) =>
  table
    .split("\n")
    .filter((line) => line.startsWith("│"))
    .slice(1)
    .map((line) =>
      line
        .split("│")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );

test("a pause is named with its time where it is known, and its name cannot steer the terminal", () => {
  const paused: Pause[] = [
    { kind: "fleet", name: null, since: 0 },
    { kind: "queue", name: "sync", since: null },
  ];
  expect(renderPauses(fleet({ paused }))).toBe(
    "Paused since 1970-01-01T00:00:00.000Z: the fleet\nPaused: queue sync\n",
  );
  expect(renderPauses(fleet({}))).toBe("");
  expect(pauseName({ kind: "profile", name: "a\u001b[2J" })).not.toContain("\u001b");
});

test("a queue says whether it is paused, and how long its oldest job waits", () => {
  const text = renderQueues(
    fleet({ queues: [queue({}), queue({ name: "deliver", paused: true, oldest_waiting_ms: 90_000 })] }),
    200,
  );
  expect(cellsOf(text)).toEqual([
    ["sync", "1", "2", "3", "5", ""],
    ["deliver (paused)", "1", "2", "3", "5", "1m 30s"],
  ]);
});

test("a member that may be lost says for how long it was silent; without members a sentence says so", () => {
  const text = renderMembers(fleet({ members: [member({}), member({ pid: 8, silent_ms: 20_000 })] }), 200);
  expect(cellsOf(text).map((row) => [row[2], row[3], row.at(-1)])).toEqual([
    ["7", "2", "now"],
    ["8", "2", "silent for 20s"],
  ]);
  expect(renderMembers(fleet({}), 200)).toBe("No worker is registered.\n");
});
