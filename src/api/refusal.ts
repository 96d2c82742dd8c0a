// Reads responses other than 200: enough of the body to show it and to detect a spent quota. They cost nothing, and a
// body that breaks off does not matter, because the status suffices.
import type { Dispatcher } from "undici";
import { decode, readWire } from "./body.ts";
import { readAnswerId, readQuota } from "./envelope.ts";
import { JsonSyntaxError, parseJson } from "./json/lossless-json.ts";
import type { AnswerId, Quota } from "./outcome.ts";

const MAX_READ_BYTES = 256 * 1024;
const MAX_EXCERPT_BYTES = 2 * 1024;

export interface Refusal {
  readonly excerpt: string;
  readonly usage: Quota | null;
  readonly id: AnswerId;
  /** Size of the decoded body in bytes; 0 when it could not be read. */
  readonly bytes: number;
}

/** The start of a text, at most 2 KiB in UTF-8, without control characters that would affect a terminal. */
const excerptOf = (text: string): string => {
  const printable = text.replace(/\p{Cc}+/gu, " ").trim();
  const bytes = Buffer.from(printable, "utf8").subarray(0, MAX_EXCERPT_BYTES);
  return bytes.toString("utf8").replace(/\uFFFD+$/, "");
};

const UNREAD: Refusal = { excerpt: "", usage: null, id: { requestId: null, apiVersion: null }, bytes: 0 };

/** Quota and ids in a JSON body. */
const saidIn = (text: string): Pick<Refusal, "usage" | "id"> => {
  try {
    const body = parseJson(text);
    return { usage: readQuota(body), id: readAnswerId(body) };
  } catch (error) {
    if (error instanceof JsonSyntaxError) return UNREAD;
    throw error;
  }
};

/** Of another server only the origin: path and query may contain a session. Of the service itself also the path. */
const redirectTarget = (location: string, base: URL): string => {
  if (!URL.canParse(location, base.href)) return "an address that cannot be read";
  const { origin, pathname } = new URL(location, base.href);
  return origin === base.origin ? `${origin}${pathname}` : origin;
};

/** Reads the response. `scrub` removes the token from everything kept. Throws nothing. */
export const readRefusal = async (
  response: Dispatcher.ResponseData,
  base: URL,
  scrub: (text: string) => string,
): Promise<Refusal> => {
  const wire = await readWire(response.body, MAX_READ_BYTES);
  const location = response.headers.location;
  if (response.statusCode >= 300 && response.statusCode < 400 && typeof location === "string") {
    return { ...UNREAD, excerpt: `redirect to ${scrub(redirectTarget(location, base))}` };
  }
  const text = await decode(wire.bytes, String(response.headers["content-encoding"] ?? ""), MAX_READ_BYTES);
  if (text.kind !== "text") return UNREAD;
  // Scrub before cutting, so that no half token remains at the end.
  const { usage, id } = saidIn(scrub(text.text));
  return { excerpt: excerptOf(scrub(text.text)), usage, id, bytes: text.bytes };
};
