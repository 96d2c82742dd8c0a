// Responses on their way from a fetcher to the loader: packed as a note and the compressed body; the loader parses
// them with the same code as its own responses. Excluded and hashed fields are removed before.
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { isBare } from "../../api/body.ts";
import type { ApiOutcome, RateInfo } from "../../api/outcome.ts";
import { type Redactor, redactOutcome } from "../../api/redact.ts";
import { type RawAnswer, type ReadingOptions, readWireAnswer, type WireAnswer } from "../../api/wire-answer.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import { WRITTEN } from "../asking/payloads.ts";
import { callOf, type Note, type RemoteRequest } from "./messages.ts";

const gzipAsync = promisify(gzip);
/** Smaller bodies hardly shrink. */
const WORTH_BYTES = 1024;
const NOTHING = Buffer.alloc(0);

export interface Packed {
  readonly note: Note;
  readonly body: Buffer;
}

/** Handling of an organization's responses before they leave the fetcher. */
export interface Handling {
  readonly reading: ReadingOptions;
  /** null: no field is excluded or hashed. */
  readonly redact: Redactor | null;
}

type Redacted = Exclude<RawAnswer, { kind: "refused" }> | Extract<ApiOutcome, { kind: "invalid" }>;

/** The response without values that must not be stored. */
const redacted = async (answer: WireAnswer, { reading, redact }: Handling): Promise<Redacted> => {
  if (redact === null) return answer;
  const outcome = redactOutcome(await readWireAnswer(answer, reading), redact);
  if (outcome.kind === "ok") {
    const { bytes, encoding } = outcome.wire;
    return { ...answer, bytes, contentEncoding: encoding === "identity" ? "" : encoding };
  }
  if (outcome.kind === "refused") throw new TypeError("a 200 is no refusal");
  return outcome;
};

/** The response to `request`, sent for the `nth` time. An uncompressed body is compressed. */
export const packAnswer = async (
  request: RemoteRequest,
  nth: number,
  raw: RawAnswer,
  handling: Handling,
): Promise<Packed> => {
  const answer = raw.kind === "wire" ? await redacted(raw, handling) : raw;
  const note = (result: Note["result"]): Note => ({ ...WRITTEN.answer, request, nth, sentAt: answer.sentAt, result });
  switch (answer.kind) {
    case "wire": {
      const { kind, durationMs, rate, bytes, contentEncoding } = answer;
      const bare = isBare(contentEncoding) && bytes.length >= WORTH_BYTES;
      return {
        note: note({ kind, durationMs, rate, contentEncoding: bare ? "gzip" : contentEncoding }),
        body: bare ? await gzipAsync(bytes) : bytes,
      };
    }
    case "invalid": {
      const { durationMs, rate, bytes, detail } = answer;
      return { note: note({ kind: "unreadable", durationMs, rate, bytes, detail }), body: NOTHING };
    }
    case "refused": {
      const { call: _, sentAt: __, ...result } = answer;
      return { note: note(result), body: NOTHING };
    }
    case "broken": {
      const { call: _, sentAt: __, ...result } = answer;
      return { note: note(result), body: NOTHING };
    }
    default:
      return answer satisfies never;
  }
};

/** Note that sending `request` is not permitted. */
export const packDenial = (request: RemoteRequest, at: number, error: DuckmirrorError): Packed => {
  const context = Object.fromEntries(
    Object.entries(error.context).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
  return {
    note: { ...WRITTEN.answer, request, nth: 0, sentAt: at, result: { kind: "denied", code: error.code, context } },
    body: NOTHING,
  };
};

const shifted = (at: number | null, byMs: number): number | null => (at === null ? null : at + byMs);
const shiftedRate = (rate: RateInfo | null, byMs: number): RateInfo | null =>
  rate === null ? null : { ...rate, resetsAt: shifted(rate.resetsAt, byMs), retryAt: shifted(rate.retryAt, byMs) };

export type Unpacked =
  | { readonly kind: "outcome"; readonly outcome: ApiOutcome }
  | { readonly kind: "denied"; readonly error: DuckmirrorError };

/** Parses a packed response. `skewMs`: Redis's clock minus the reader's. Throws nothing. */
export const unpackAnswer = async (
  { note, body }: Packed,
  skewMs: number,
  reading: ReadingOptions,
): Promise<Unpacked> => {
  const { request, result } = note;
  if (result.kind === "denied") return { kind: "denied", error: new DuckmirrorError(result.code, result.context) };
  const exchange = { call: callOf(request), sentAt: note.sentAt - skewMs };
  switch (result.kind) {
    case "wire": {
      const rate = shiftedRate(result.rate, -skewMs);
      const outcome = await readWireAnswer({ ...result, ...exchange, rate, status: 200, bytes: body }, reading);
      return { kind: "outcome", outcome };
    }
    case "unreadable": {
      const rate = shiftedRate(result.rate, -skewMs);
      return { kind: "outcome", outcome: { ...result, ...exchange, kind: "invalid", status: 200, rate, wire: null } };
    }
    case "refused":
      return { kind: "outcome", outcome: { ...result, ...exchange, rate: shiftedRate(result.rate, -skewMs) } };
    case "broken": {
      const { limitBytes, ...broken } = result;
      return {
        kind: "outcome",
        outcome: { ...broken, ...exchange, ...(limitBytes === undefined ? {} : { limitBytes }) },
      };
    }
    default:
      return result satisfies never;
  }
};
