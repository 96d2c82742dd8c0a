// Names of streams as arguments.
import { expect, test } from "vitest";
import { streamsOf } from "../../../../src/cli/options/streams-argument.ts";

test("names are parted by spaces and commas alike", () => {
  expect(streamsOf(["accounts,signals", " usage ", "a,,b"])).toEqual(["accounts", "signals", "usage", "a", "b"]);
  expect(streamsOf([])).toEqual([]);
});

test.each([[[""]], [[" , "]], [["", ""]]])("%j names nothing, which does not mean all", (args) => {
  expect(() => streamsOf(args)).toThrow("the argument for the streams is empty");
});
