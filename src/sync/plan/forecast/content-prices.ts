// Estimates for `plan` what opt-in content costs beyond a sync without it: nothing, one walk of a list that brings it, or a request per record.
// Also for configured content of which it is not known yet whether the list returns it. Also as text. Pure.
import { STREAM_NAMES, type StreamName, streamSpec, wantedContent } from "../../../catalog/streams.ts";
import { counted, formatCount } from "../../../core/text/units.ts";
import { type Context, stateKey } from "../candidate.ts";
import { embedsCompanies } from "../companies.ts";
import { dueCandidates } from "../due.ts";
import { totalOf } from "./follow-up.ts";

/** `list`: it comes with pages that are paid for anyway. `record`: one request per record. `refused`: not at all. */
export type ContentWay = "list" | "record" | "unknown" | "refused";

export interface ContentPrice {
  readonly stream: StreamName;
  readonly field: string;
  readonly way: ContentWay;
  /** Mirrored records that lack it; null: not known. */
  readonly records: number | null;
  /** Credits of the next sync beyond those without it; null: not known. */
  readonly credits: number | null;
  /** Most credits that it may be; null: not known. */
  readonly atMost: number | null;
}

/** Requests of a stream that are due with this content. */
const dueWith = (context: Context, stream: StreamName, content: readonly string[]): number =>
  dueCandidates(context.view, { ...context.options, content })
    .filter((candidate) => candidate.stream === stream)
    .reduce((sum, { requests }) => sum + (requests ?? 1), 0);

const extraOf = (context: Context, stream: StreamName, field: string): number => {
  const { content } = context.options;
  const name = `${stream}.${field}`;
  const without = content.filter((each) => each !== field && each !== name);
  return Math.max(0, dueWith(context, stream, [...without, name]) - dueWith(context, stream, without));
};

const ofSignals = (context: Context): Pick<ContentPrice, "way" | "records" | "credits" | "atMost"> => {
  const shape = context.options.shapes.get("signals");
  const isMirrored = context.view.states.get(stateKey("signals", ""))?.walkedAt != null;
  const records = isMirrored ? context.view.signalsWithoutContent.length : totalOf(context, "signals");
  if (shape?.grants.includes("fullContent")) {
    const credits = extraOf(context, "signals", "fullContent");
    return { way: "list", records, credits, atMost: credits };
  }
  if (shape?.content === false || shape?.lacks.includes("fullContent")) {
    return { way: "record", records, credits: records, atMost: records };
  }
  return { way: "unknown", records, credits: null, atMost: records };
};

/** Requests that configured content of a stream may take, while it is not known whether the list returns it. */
export const contentPerhaps = (context: Context, stream: StreamName): number => {
  if (stream !== "signals" || wantedContent(streamSpec(stream), context.options.content).length === 0) return 0;
  const { way, atMost } = ofSignals(context);
  return way === "unknown" ? (atMost ?? 0) : 0;
};

const ofCompanies = (context: Context): Pick<ContentPrice, "way" | "records" | "credits" | "atMost"> => {
  const accounts = totalOf(context, "accounts");
  const readsAccounts = context.options.streams.includes("accounts");
  if (context.view.accounts.length === 0 && readsAccounts && accounts !== 0)
    return { way: "record", records: null, credits: null, atMost: accounts };
  if (!embedsCompanies(context.options.shapes.get("accounts")))
    return { way: "list", records: 0, credits: 0, atMost: 0 };
  const credits = extraOf(context, "companies", "insights");
  return { way: "record", records: credits, credits, atMost: credits };
};

/** Lists of companies return content or never do; signals and profiles have a route per record beside their list. */
const priceOf = (context: Context, stream: StreamName, field: string): ContentPrice => {
  if (stream === "signals") return { stream, field, ...ofSignals(context) };
  if (stream === "companies") return { stream, field, ...ofCompanies(context) };
  const way = context.options.shapes.get(stream)?.content === false ? "refused" : "list";
  return { stream, field, way, records: null, credits: 0, atMost: 0 };
};

/** Prices of these fields (`signals.fullContent`, or `fullContent` for every stream that has one). */
export const contentPrices = (context: Context, names: readonly string[]): readonly ContentPrice[] =>
  STREAM_NAMES.flatMap((stream) =>
    wantedContent(streamSpec(stream), names).map(({ name }) => priceOf(context, stream, name)),
  );

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
