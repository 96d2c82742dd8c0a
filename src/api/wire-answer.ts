// A 200 as received, and its parser.
import { constants } from "node:buffer";
import { decode } from "./body.ts";
import { readEnvelope } from "./envelope.ts";
import type { ApiCall, ApiOutcome, BrokenOutcome, RateInfo, RefusedOutcome } from "./outcome.ts";

// How many values a JSON text holds, before it is parsed: each takes memory, however few bytes it has in the text. PURE.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPENS = [0x5b, 0x7b];

/** True for a text with more values than `most`; names of fields and commas inside strings do not count. */
export const hasMoreValues = (text: string, most: number): boolean => {
  // Each value takes two characters at least, with its comma.
  if (text.length < 2 * most) return false;
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      do at = text.indexOf('"', at + 1);
      while (at > 0 && isEscaped(text, at));
      // The text breaks off inside a string.
      if (at < 0) return false;
    } else if (code === COMMA || OPENS.includes(code)) {
      count += 1;
      if (count > most) return true;
    }
  }
  return false;
};

/** True if an odd number of backslashes precedes the position. */
const isEscaped = (text: string, at: number): boolean => {
  let start = at;
  while (text.charCodeAt(start - 1) === BACKSLASH) start -= 1;
  return (at - start) % 2 === 1;
};

/** HTTP 200 with a completely received, unparsed body. */
export interface WireAnswer {
  readonly kind: "wire";
  readonly call: ApiCall;
  readonly status: 200;
  /** When the request was sent, ms since the epoch. */
  readonly sentAt: number;
  readonly durationMs: number;
  readonly rate: RateInfo | null;
  /** The Content-Encoding header, at most 100 characters and without the token; empty: none. */
  readonly contentEncoding: string;
  /** The body as received. */
  readonly bytes: Buffer;
}

/** Outcome of one request before a body is parsed. */
export type RawAnswer = WireAnswer | RefusedOutcome | BrokenOutcome;

export interface ReadingOptions {
  /** Largest body accepted when decoded, in bytes. */
  readonly limitBytes: number;
  /** Most values accepted: many small ones take far more memory than bytes. */
  readonly mostValues: number;
  /** Removes the token from a text. */
  readonly scrub: (text: string) => string;
}

/** Outcome of a body larger than allowed. It was charged. */
export const tooLarge = (
  answer: Pick<BrokenOutcome, "call" | "sentAt" | "durationMs">,
  limitBytes: number,
  what = `${limitBytes} bytes`,
): BrokenOutcome => ({
  kind: "broken",
  call: answer.call,
  sentAt: answer.sentAt,
  durationMs: answer.durationMs,
  reached: "unknown",
  status: 200,
  reason: "too_large",
  detail: `the body exceeds ${what}`,
  limitBytes,
});

/** Decodes and parses the body. Throws nothing. Source: API.md, "Envelope objects". */
export const readWireAnswer = async (
  answer: WireAnswer,
  { limitBytes, mostValues, scrub }: ReadingOptions,
): Promise<ApiOutcome> => {
  const { kind: _, contentEncoding, bytes: received, ...common } = answer;
  // A longer body would not fit into a string.
  const text = await decode(received, contentEncoding, Math.min(limitBytes, constants.MAX_STRING_LENGTH));
  if (text.kind === "too_large") return tooLarge(answer, limitBytes);
  if (text.kind === "foreign") {
    return { kind: "invalid", ...common, bytes: received.length, detail: text.detail, wire: null };
  }
  if (text.kind === "encoding") {
    const { rate: __, ...exchange } = common;
    return { kind: "broken", ...exchange, reached: "unknown", reason: "encoding", detail: scrub(text.detail) };
  }
  if (hasMoreValues(text.text, mostValues)) return tooLarge(answer, limitBytes, `${mostValues} values`);
  // A service that repeats the token in its response must not cause it to be stored.
  const plain = scrub(text.text);
  const wire =
    plain === text.text && text.wire !== null
      ? { bytes: received, encoding: text.wire }
      : ({ bytes: Buffer.from(plain), encoding: "identity" } as const);
  const reading = readEnvelope(plain, answer.call.endpoint);
  if (!reading.ok) return { kind: "invalid", ...common, bytes: text.bytes, detail: scrub(reading.detail), wire };
  return { kind: "ok", ...common, bytes: text.bytes, ...reading.value, wire };
};
