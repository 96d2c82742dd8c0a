// Response bodies: first read, then decoded, each within a size limit. undici does not decompress; without the second limit
// 291 KB of gzip became 300 MB in a test.
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
