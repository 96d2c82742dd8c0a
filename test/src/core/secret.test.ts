// Secrets do not print, and the scrubber takes them out in every form they travel in.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createScrubber, HIDDEN, Secret } from "../../../src/core/secret.ts";

describe("Secret", () => {
  test("shows only when asked to", () => {
    const secret = new Secret("hunter22");
    expect([`${secret}`, String(secret), JSON.stringify({ secret }), Object.values(secret).join()]).toEqual([
      HIDDEN,
      HIDDEN,
      `{"secret":"${HIDDEN}"}`,
      "",
    ]);
    expect(secret.reveal()).toBe("hunter22");
  });
});

describe("createScrubber", () => {
  const token = "eyJhbGciOi/+JIUzI1NiJ9.eyJvcmciOiJ4In0.sig_nature-1";

  test.each([
    ["plain", token],
    ["in a header", `authorization: Bearer ${token}`],
    ["URL-encoded", `https://x/?t=${encodeURIComponent(token)}`],
    ["in Base64", Buffer.from(token).toString("base64")],
    ["in URL-safe Base64", Buffer.from(token).toString("base64url")],
    ["in Base64 of a longer text", Buffer.from(`Bearer ${token}:x`).toString("base64")],
  ])("takes the token out %s", (_, text) => {
    const scrubber = createScrubber();
    scrubber.hide(new Secret(token));
    const clean = scrubber.scrub(text);
    expect(clean).toContain(HIDDEN);
    expect(clean).not.toContain(token.slice(4, 24));
    expect(Buffer.from(clean.replaceAll(HIDDEN, ""), "base64").toString()).not.toContain(token.slice(4, 24));
  });

  test("takes any token out of any JSON line, wherever it stands in it", () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 8, unit: "grapheme-ascii" }),
        fc.string(),
        fc.string(),
        (secret, before, after) => {
          const scrubber = createScrubber();
          scrubber.hide(secret);
          const line = JSON.stringify({ [before]: [{ url: `${before}${secret}${after}` }] });
          const kept: unknown = JSON.parse(JSON.stringify(scrubber.scrub(line)));
          const inside = JSON.stringify(secret).slice(1, -1);
          expect(String(kept).split(HIDDEN).join("\u0000")).not.toContain(inside);
        },
      ),
    );
  });

  test("hides several secrets, and leaves text alone when it knows none", () => {
    const scrubber = createScrubber();
    expect(scrubber.scrub("nothing to see")).toBe("nothing to see");
    scrubber.hide("first-one");
    scrubber.hide("first-one-longer");
    expect(scrubber.scrub("first-one-longer and first-one")).toBe(`${HIDDEN} and ${HIDDEN}`);
  });
});
