// What opt-in content costs that is not configured yet, by what the service was seen to grant.
import { describe, expect, test } from "vitest";
import { initialForm, type ListForm } from "../../../../../src/sync/list/form.ts";
import type { Context, DueOptions } from "../../../../../src/sync/plan/candidate.ts";
import {
  type ContentPrice,
  contentPerhaps,
  contentPrices,
  priceText,
} from "../../../../../src/sync/plan/forecast/content-prices.ts";
import { dueOptions, idleState, viewOf } from "../planning-input.ts";

const NOW = Date.UTC(2026, 10, 21);
const DAY = 86_400_000;
const lacking = ["1", "2", "3"].map((id) => ({ id, accountId: "a", updatedAt: null }));
const aShape = (more: Partial<ListForm>): ListForm => ({ ...initialForm(100), settled: true, ...more });

/** A mirror whose signals were read, three of them without full content. */
const aContext = (shape: Partial<ListForm>, options: Partial<DueOptions> = {}): Context => {
  const state = idleState({ stream: "signals", scope: "", at: NOW - DAY }, { totalCount: 250 });
  return {
    view: viewOf(NOW, [state], { signalsWithoutContent: lacking }),
    options: dueOptions({ streams: ["signals"], shapes: new Map([["signals", aShape(shape)]]), ...options }),
  };
};
const priceOf = (shape: Partial<ListForm>) => contentPrices(aContext(shape), ["signals.fullContent"])[0];

describe("full content of signals", () => {
  test("that the list returns costs one walk of it, beyond the look that is due anyway", () => {
    expect(priceOf({ grants: ["fullContent"] })).toEqual({
      stream: "signals",
      field: "fullContent",
      way: "list",
      records: 3,
      credits: 2,
      atMost: 2,
    });
  });

  test("that every row was read with costs nothing", () => {
    expect(priceOf({ grants: ["fullContent"], walkedWith: ["fullContent"] })).toMatchObject({
      way: "list",
      credits: 0,
    });
  });

  test.each([{ lacks: ["fullContent"] }, { content: false }])(
    "that it does not return costs a request each: %j",
    (shape) => {
      expect(priceOf(shape)).toMatchObject({ way: "record", records: 3, credits: 3, atMost: 3 });
    },
  );

  test("of which nothing is known costs as many at most", () => {
    expect(priceOf({})).toMatchObject({ way: "unknown", records: 3, credits: null, atMost: 3 });
  });
});

test("configured content may cost that much while it is not known", () => {
  const content = ["signals.fullContent"];
  expect(contentPerhaps(aContext({}, { content }), "signals")).toBe(3);
  expect(contentPerhaps(aContext({ grants: ["fullContent"] }, { content }), "signals")).toBe(0);
  expect(contentPerhaps(aContext({}), "signals")).toBe(0);
  expect(contentPerhaps(aContext({}, { content }), "accounts")).toBe(0);
});

test("content of a company's list comes with it, unless the service refused it; insights come with profiles", () => {
  const [article] = contentPrices(aContext({}), ["news_articles.articleBody"]);
  expect(article).toMatchObject({ way: "list", credits: 0 });
  const refused = aContext({}, { shapes: new Map([["news_articles", aShape({ content: false })]]) });
  expect(contentPrices(refused, ["news_articles.articleBody"])[0]).toMatchObject({ way: "refused" });
  const unread = aContext({}, { streams: ["accounts"], totals: new Map([["accounts", 40]]) });
  expect(contentPrices(unread, ["companies.insights"])[0]).toMatchObject({ way: "record", credits: null, atMost: 40 });
});

// The price in the words that `plan` prints.

const aPrice = (more: Partial<ContentPrice>): ContentPrice => ({
  stream: "signals",
  field: "fullContent",
  way: "list",
  records: 0,
  credits: 0,
  atMost: 0,
  ...more,
});

test.each<[Partial<ContentPrice>, string]>([
  [{}, "in the list call, no extra credit"],
  [{ stream: "companies" }, "in the request for each profile, no extra credit"],
  [
    { credits: 3, records: 305 },
    "in the list call, no extra credit; one walk of the list, 3 credits more, brings it for the 305 signals mirrored without it",
  ],
  [
    { credits: 1, records: null },
    "in the list call, no extra credit; one walk of the list, 1 credit more, brings it for what is mirrored without it",
  ],
  [
    { stream: "filings" },
    "in the list call, no extra credit; records mirrored without it get it when their list is walked",
  ],
  [{ way: "record", records: 1, credits: 1 }, "1 signal, 1 credit"],
  [{ way: "record", stream: "companies", records: 2, credits: 2 }, "2 companies, 2 credits"],
  [{ way: "record", stream: "filings", records: 1, credits: 1 }, "1 record, 1 credit"],
  [{ way: "record", records: null, credits: null, atMost: 40 }, "one credit per record, 40 at most"],
  [{ way: "record", records: 3, credits: null, atMost: 40 }, "one credit per record, 40 at most"],
  [
    { way: "record", records: null, credits: null, atMost: null },
    "one credit per record; how many there are is not known",
  ],
  [
    { way: "unknown", atMost: 9 },
    "not known whether the list returns it: no extra credit if it does, else 9 signals, 9 credits; the first sync with it finds out",
  ],
  [
    { way: "unknown", atMost: null },
    "not known whether the list returns it: no extra credit if it does, else one credit per signal, whose number is not known; the first sync with it finds out",
  ],
  [{ way: "refused" }, "the service refused to return it"],
])("%j", (price, text) => {
  expect(priceText(aPrice(price))).toBe(text);
});
