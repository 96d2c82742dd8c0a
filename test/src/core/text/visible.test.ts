// Text from outside must not steer a terminal, wherever it is shown.
import fc from "fast-check";
import { expect, test } from "vitest";
import { createLogger } from "../../../../src/core/log.ts";
import { createScrubber } from "../../../../src/core/secret.ts";
import { visible, withTexts } from "../../../../src/core/text/visible.ts";

const STEERS = /(?![\t\n]|\r\n)\p{Cc}/u;

test("no control character is left but line ends and tabs; other text stays as it is", () => {
  expect(visible("a\u001b]0;owned\u0007b\u009b2J\tü\r\n")).toBe("a\\u001b]0;owned\\u0007b\\u009b2J\tü\r\n");
  expect(visible("safe\rfake\r")).toBe("safe\\u000dfake\\u000d");
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => !STEERS.test(visible(text))));
});

test("no message or member of a log line steers the terminal, and backslashes stay what they are", () => {
  const linesOf = (text: string): string => {
    let written = "";
    const write = (line: string): void => {
      written += line;
    };
    const options = {
      level: "info",
      format: "pretty",
      colour: false,
      scrubber: createScrubber(),
      target: { write },
    } as const;
    createLogger(options).warn({ title: text }, text);
    return written;
  };
  expect(linesOf("\u001b[2J\\u001b \\\u001b")).toContain("\\u001b[2J\\u001b \\\\u001b");
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => !STEERS.test(linesOf(text))));
});

test("the texts and names of JSON are changed, and nothing else", () => {
  const hostile = "\u001b[2J";
  expect(withTexts({ [hostile]: [hostile, 1, null, { a: true }] }, visible)).toEqual({
    "\\u001b[2J": ["\\u001b[2J", 1, null, { a: true }],
  });
});
