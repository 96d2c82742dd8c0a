// The body of feedback.
import { expect, test } from "vitest";
import { parseFeedback } from "../../../src/replica/refusal.ts";

test("a message is enough", () => {
  expect(parseFeedback({ message: "good", rating: 5 })).toEqual({ message: "good", rating: 5 });
});

test.each([
  [undefined, "body: "],
  [{ message: "" }, "message: "],
  [{ message: "x", rating: 6 }, "rating: "],
  [{ message: "x", rating: 0 }, "rating: "],
  [{ message: "x", category: "no such" }, "category: "],
  [{ message: "x", context: [] }, "context: "],
])("%j is refused with the name of what is wrong", (body, start) => {
  expect(() => parseFeedback(body)).toThrow(
    expect.objectContaining({ status: 400, message: expect.stringMatching(new RegExp(`^${start}.+\\.$`)) }),
  );
});
