// Reads the body of a response, unpacks it (undici does not decompress), each within a size limit, and parses that of a 200. Without the
// second limit 291 KB of gzip became 300 MB in a test. The bytes decide where they contradict the Content-Encoding, because proxies change
// one without the other.
import { constants, isUtf8 } from "node:buffer";
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate, inflateRaw } from "node:zlib";
import { detailOf } from "../core/errors.ts";
import { hasMoreValues } from "../core/json.ts";
import { readEnvelope } from "./envelope.ts";
import type { ApiCall, ApiOutcome, BrokenOutcome, OkOutcome, RateInfo } from "./outcome.ts";

/** Encodings in which a body is kept as received. */
export type Encoding = OkOutcome["wire"]["encoding"];

type Coding = "gzip" | "br" | "zlib" | "deflate";

const unpackers = {
  gzip: promisify(gunzip),
  br: promisify(brotliDecompress),
  zlib: promisify(inflate),
  deflate: promisify(inflateRaw),
} as const satisfies Record<Coding, unknown>;

/** More layers than any chain of proxies makes. */
const MOST_LAYERS = 4;

/** The start of a JSON object or list, or of a page of HTML. */
const isText = (bytes: Buffer): boolean => /^(\u00EF\u00BB\u00BF)?\s*[{[<]/.test(bytes.toString("latin1", 0, 64));

/** How the outermost layer of a body may be packed, most likely first; empty: it is not. */
const codingsOf = (bytes: Buffer, named: string | undefined): readonly Coding[] => {
  const marked: Coding[] = [];
  // Bytes 1f 8b begin every gzip stream. A zlib stream begins with 78, and its first two bytes are a multiple of 31. No JSON text
  // begins so.
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) marked.push("gzip");
  else if (bytes[0] === 0x78 && bytes.length > 2 && bytes.readUInt16BE(0) % 31 === 0) marked.push("zlib");
  // Nothing marks brotli, and it may begin like gzip.
  if (named === "br") return ["br", ...marked];
  // Some servers send `deflate` without the header of zlib.
  if (named === "deflate") return [...marked, "deflate"];
  if (named !== "gzip" && named !== "x-gzip") return marked;
  return marked.length > 0 || isText(bytes) ? marked : ["gzip"];
};

type Layer =
  | { readonly kind: "packed"; readonly bytes: Buffer; readonly coding: Coding }
  | { readonly kind: "plain" }
  | { readonly kind: "too_large" }
  | { readonly kind: "encoding"; readonly detail: string }
  /** Named with an encoding that nobody here knows. */
  | { readonly kind: "foreign"; readonly detail: string };

/** Removes one layer. */
const unpackLayer = async (bytes: Buffer, named: string | undefined, limit: number): Promise<Layer> => {
  let problem: string | null = null;
  for (const coding of codingsOf(bytes, named)) {
    try {
      return { kind: "packed", bytes: await unpackers[coding](bytes, { maxOutputLength: limit }), coding };
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : undefined;
      if (code === "ERR_BUFFER_TOO_LARGE") return { kind: "too_large" };
      problem ??= `the ${named ?? coding} body is damaged or cut short: ${detailOf(error)}`;
    }
  }
  if (isText(bytes)) return { kind: "plain" };
  if (problem !== null) return { kind: "encoding", detail: problem };
  return named === undefined
    ? { kind: "plain" }
    : { kind: "foreign", detail: `the body has the content encoding ${named}` };
};

type Unpacked =
  | { readonly kind: "plain"; readonly bytes: Buffer; readonly wire: Encoding | null }
  | Exclude<Layer, { kind: "packed" | "plain" }>;

/** `wire`: the encoding of the body as received, if it can be kept so; null: its layers must go. Throws nothing. */
const unpack = async (wire: Buffer, header: string, limit: number): Promise<Unpacked> => {
  if (wire.length === 0) return { kind: "plain", bytes: wire, wire: "identity" };
  // In the order in which a sender applied them.
  const names =
    header
      .toLowerCase()
      .match(/[^\s,]+/g)
      ?.filter((name) => name !== "identity") ?? [];
  const removed: Coding[] = [];
  let bytes = wire;
  while (removed.length < MOST_LAYERS) {
    const named = names.pop();
    if (named === undefined && isText(bytes)) break;
    const layer = await unpackLayer(bytes, named, limit);
    if (layer.kind === "plain") break;
    if (layer.kind !== "packed") return layer;
    bytes = layer.bytes;
    removed.push(layer.coding);
  }
  const [first = "identity", ...more] = removed;
  return { kind: "plain", bytes, wire: more.length > 0 || first === "zlib" || first === "deflate" ? null : first };
};

/** The charset in a Content-Type, if it names another one than UTF-8; null: none. */
const otherCharset = (contentType: string): string | null => {
  const named = /;\s*charset\s*=\s*"?([\w.:-]+)/i.exec(contentType)?.[1]?.toLowerCase();
  return named === undefined || /^(utf-?8|us-ascii)$/.test(named) ? null : named;
};

/** The bytes in the named charset as text; null: nobody knows it. */
const textIn = (charset: string, bytes: Buffer): string | null => {
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return null;
  }
};

export type WireReading =
  | { readonly kind: "whole"; readonly bytes: Buffer }
  | { readonly kind: "too_large"; readonly bytes: Buffer }
  | { readonly kind: "broken"; readonly bytes: Buffer; readonly error: unknown };

/** Reads at most `limit` bytes; `too_large` holds what came before the limit was passed. Throws nothing. */
export const readWire = async (body: AsyncIterable<unknown>, limit: number): Promise<WireReading> => {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      if (!Buffer.isBuffer(chunk)) continue;
      if (size + chunk.length > limit) {
        // Leaving the loop destroys the stream and its connection.
        return { kind: "too_large", bytes: Buffer.concat(chunks) };
      }
      size += chunk.length;
      chunks.push(chunk);
    }
  } catch (error) {
    return { kind: "broken", bytes: Buffer.concat(chunks), error };
  }
  return { kind: "whole", bytes: Buffer.concat(chunks) };
};

export type TextReading =
  | { readonly kind: "text"; readonly text: string; readonly bytes: number; readonly wire: Encoding | null }
  | Exclude<Unpacked, { kind: "plain" }>;

/**
 * The text of a body that is no UTF-8, which JSON is, and which services that name another charset mostly send: in the charset
 * that its Content-Type names, or in UTF-16 with a byte order mark, which some services send without naming it; null: in neither.
 */
const otherText = (bytes: Buffer, contentType: string): string | null => {
  const charset = otherCharset(contentType);
  const text = charset === null ? null : textIn(charset, bytes);
  if (text !== null || bytes.length < 2) return text;
  const mark = bytes.readUInt16BE(0);
  return mark === 0xfffe ? textIn("utf-16le", bytes) : mark === 0xfeff ? textIn("utf-16be", bytes) : null;
};

/**
 * Unpacks a received body to text of at most `limit` bytes; one without encoding is as long as `readWire` let it. `wire` is
 * the encoding of the body as received; null: it must be kept as this text. Throws nothing.
 */
export const decode = async (
  wire: Buffer,
  { encoding, contentType = "" }: { readonly encoding: string; readonly contentType?: string },
  limit: number,
): Promise<TextReading> => {
  const unpacked = await unpack(wire, encoding, limit);
  if (unpacked.kind !== "plain") return unpacked;
  const { bytes } = unpacked;
  const text = isUtf8(bytes) ? null : otherText(bytes, contentType);
  if (text === null) return { kind: "text", text: bytes.toString("utf8"), bytes: bytes.length, wire: unpacked.wire };
  return { kind: "text", text, bytes: Buffer.byteLength(text), wire: null };
};

// A 200 as received becomes an outcome.

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
