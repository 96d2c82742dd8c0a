// The price of opt-in content, in the words that `plan` prints.
import { expect, test } from "vitest";
import type { ContentPrice } from "../../../../../src/sync/plan/forecast/content-prices.ts";
import { priceText } from "../../../../../src/sync/plan/forecast/price-text.ts";

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
