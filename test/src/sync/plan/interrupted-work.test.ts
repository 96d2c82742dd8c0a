// What a stored cursor says was interrupted.
import { expect, test } from "vitest";
import { initialShape } from "../../../../src/sync/list/form.ts";
import { openList } from "../../../../src/sync/list/state.ts";
import { walkingState } from "../../../../src/sync/list/stored-state.ts";
import { interruptedWork } from "../../../../src/sync/plan/candidate.ts";

const cursor = (mode: "walk" | "watermark" | "filter" | "known") => {
  const stream = mode === "known" ? "filings" : "contacts";
  const order = { stream, scope: mode === "known" ? "c_1" : "", mode, overlap: false } as const;
  return walkingState(
    openList({ order, before: undefined, shape: initialShape(10), rows: 0, runId: "r", now: 0 }),
    "r",
  );
};

test("the cursor says whether a walk was interrupted or a look; nothing was if none is under way", () => {
  const modes = ["walk", "watermark", "filter", "known"] as const;
  expect(modes.map((mode) => interruptedWork(cursor(mode)))).toEqual(["walk", "look", "look", "look"]);
  expect(interruptedWork({ status: "idle", cursor: null })).toBeNull();
  expect(interruptedWork({ ...cursor("watermark"), status: "failed" })).toBeNull();
});

test.each([null, "", "{", "{}", '{"progress":"{"}', '{"progress":{}}'])(
  "a cursor that cannot be read (%s) counts as that of a walk",
  (text) => {
    expect(interruptedWork({ status: "walking", cursor: text })).toBe("walk");
  },
);
