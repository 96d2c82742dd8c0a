// What a stored cursor says was interrupted.
import { expect, test } from "vitest";
import { interruptedWork } from "../../../../src/sync/plan/candidate.ts";

const cursor = (kind: string) => JSON.stringify({ progress: JSON.stringify({ kind }) });

test("the cursor says whether a walk was interrupted or a look; nothing was if none is under way", () => {
  const walking = (kind: string) => interruptedWork({ status: "walking", cursor: cursor(kind) });
  expect(["walk", "watermark", "filter", "known"].map(walking)).toEqual(["walk", "look", "look", "look"]);
  expect(interruptedWork({ status: "idle", cursor: null })).toBeNull();
  expect(interruptedWork({ status: "failed", cursor: cursor("watermark") })).toBeNull();
});

test.each([null, "", "{", "{}", '{"progress":"{"}', '{"progress":"{}"}'])(
  "a cursor that cannot be read (%s) counts as that of a walk",
  (text) => {
    expect(interruptedWork({ status: "walking", cursor: text })).toBe("walk");
  },
);
