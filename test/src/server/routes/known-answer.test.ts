// Answers that a client has already.
import { expect, test } from "vitest";
import { isKnown } from "../../../../src/server/http/assets.ts";

test("a client that names the tag has the answer, whatever a proxy made of its strength", () => {
  for (const [header, etag] of [
    ['"a"', '"a"'],
    ['W/"a"', '"a"'],
    ['"a"', 'W/"a"'],
    ['"other", W/"a"', 'W/"a"'],
  ] as const)
    expect(isKnown(header, etag), `${header} ${etag}`).toBe(true);
});

test("a client that names no tag, or another one, has not", () => {
  for (const header of [undefined, "", '"other"', "a", "*"]) expect(isKnown(header, '"a"'), String(header)).toBe(false);
});
