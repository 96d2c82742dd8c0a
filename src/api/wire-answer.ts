// Reads a 200 as received: decodes and parses its body.
import { constants } from "node:buffer";
import { hasMoreValues } from "../core/json.ts";
import { decode } from "./body.ts";
import { readEnvelope } from "./envelope.ts";
import type { ApiCall, ApiOutcome, BrokenOutcome, RateInfo } from "./outcome.ts";

/** HTTP 200 with a completely received, unparsed body. */
export interface WireAnswer {
  readonly call: ApiCall;
  readonly status: 200;
  /** When the request was sent, ms since the epoch. */
  readonly sentAt: number;
  readonly durationMs: number;
  readonly rate: RateInfo | null;
  /** The Content-Encoding header, at most 100 characters and without the token; empty: none. */
  readonly contentEncoding: string;
  readonly contentType: string;
  /** The body as received. */
  readonly bytes: Buffer;
}

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
  const { contentEncoding: encoding, contentType, bytes: received, ...common } = answer;
  // A longer body would not fit into a string.
  const text = await decode(received, { encoding, contentType }, Math.min(limitBytes, constants.MAX_STRING_LENGTH));
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
