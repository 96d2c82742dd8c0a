// Response bodies: first read, then decoded, each within a size limit. undici does not decompress; without the second limit
// 291 KB of gzip became 300 MB in a test.
import { isUtf8 } from "node:buffer";
import { promisify } from "node:util";
import { brotliDecompress, gunzip } from "node:zlib";
import { detailOf } from "../core/errors.ts";
import type { OkOutcome } from "./outcome.ts";

export type Encoding = OkOutcome["wire"]["encoding"];

const inflaters = { gzip: promisify(gunzip), br: promisify(brotliDecompress) } as const;

/** The Content-Encoding, if it is one of those requested; null for any other. */
export const encodingOf = (header: string | string[] | undefined): Encoding | null => {
  const name = (Array.isArray(header) ? header.join(",") : (header ?? "")).trim().toLowerCase();
  if (name === "" || name === "identity") return "identity";
  if (name === "gzip" || name === "x-gzip") return "gzip";
  return name === "br" ? "br" : null;
};

/** Bytes 1f 8b begin every gzip stream, and no JSON text. */
const isGzip = (bytes: Buffer): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b;
/** The start of a JSON text that is an object or a list. */
const isJson = (bytes: Buffer): boolean => /^(\u00EF\u00BB\u00BF)?\s*[{[]/.test(bytes.toString("latin1", 0, 64));

/** The Content-Encoding of a body whose header may be wrong: some proxies unpack a body and keep the header, or the reverse. */
export const actualEncoding = (header: string, bytes: Buffer): string => {
  const named = encodingOf(header);
  if (named === "identity" && isGzip(bytes)) return "gzip";
  return named === "gzip" && !isGzip(bytes) && isJson(bytes) ? "" : header;
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

/**
 * The unpacked body as UTF-8 if its Content-Type names another charset and its bytes are no UTF-8; else null. JSON is UTF-8,
 * and services that name another charset mostly send UTF-8 all the same. Throws nothing.
 */
export const asUtf8 = async (wire: Buffer, header: string, contentType: string, limit: number) => {
  const charset = otherCharset(contentType);
  const encoding = encodingOf(header);
  if (charset === null || encoding === null) return null;
  const plain =
    encoding === "identity" ? wire : await inflaters[encoding](wire, { maxOutputLength: limit }).catch(() => null);
  if (plain === null || isUtf8(plain)) return null;
  const text = textIn(charset, plain);
  return text === null ? null : Buffer.from(text);
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
  | { readonly kind: "text"; readonly text: string; readonly bytes: number }
  | { readonly kind: "too_large" }
  | { readonly kind: "encoding"; readonly detail: string };

/**
 * Decodes a received body to text of at most `limit` bytes; one without encoding is as long as `readWire` let it.
 * Throws nothing.
 */
export const decode = async (wire: Buffer, encoding: Encoding, limit: number): Promise<TextReading> => {
  if (encoding === "identity" || wire.length === 0) {
    return { kind: "text", text: wire.toString("utf8"), bytes: wire.length };
  }
  try {
    const plain = await inflaters[encoding](wire, { maxOutputLength: limit });
    return { kind: "text", text: plain.toString("utf8"), bytes: plain.length };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    return code === "ERR_BUFFER_TOO_LARGE"
      ? { kind: "too_large" }
      : { kind: "encoding", detail: `the ${encoding} body is damaged or cut short: ${detailOf(error)}` };
  }
};
