// The price of opt-in content in words. Pure.
import { counted, formatCount } from "../../../core/text/units.ts";
import type { ContentPrice } from "./content-prices.ts";

const ITEMS: Readonly<Record<string, readonly [string, string]>> = {
  signals: ["signal", "signals"],
  companies: ["company", "companies"],
};

/** `305 signals`. */
const recordsText = ({ stream }: ContentPrice, records: number): string => {
  const [one, many] = ITEMS[stream] ?? ["record", "records"];
  return `${formatCount(records)} ${records === 1 ? one : many}`;
};

const listText = ({ records, credits, ...price }: ContentPrice): string => {
  const free = "in the list call, no extra credit";
  if (price.stream === "companies") return "in the request for each profile, no extra credit";
  if (credits) {
    const mirrored =
      records === null ? "what is mirrored" : `the ${recordsText({ records, credits, ...price }, records)} mirrored`;
    return `${free}; one walk of the list, ${counted(credits, "credit")} more, brings it for ${mirrored} without it`;
  }
  return price.stream === "signals" ? free : `${free}; records mirrored without it get it when their list is walked`;
};

/** `305 signals, 305 credits`, or `in the list call, no extra credit`. */
export const priceText = (price: ContentPrice): string => {
  const { way, records, credits, atMost } = price;
  switch (way) {
    case "list":
      return listText(price);
    case "record":
      if (records !== null && credits !== null) return `${recordsText(price, records)}, ${counted(credits, "credit")}`;
      return atMost === null
        ? "one credit per record; how many there are is not known"
        : `one credit per record, ${formatCount(atMost)} at most`;
    case "unknown": {
      const otherwise =
        atMost === null
          ? "one credit per signal, whose number is not known"
          : `${recordsText(price, atMost)}, ${counted(atMost, "credit")}`;
      return `not known whether the list returns it: no extra credit if it does, else ${otherwise}; the first sync with it finds out`;
    }
    case "refused":
      return "the service refused to return it";
    default:
      return way satisfies never;
  }
};
