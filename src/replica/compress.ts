// Compresses a body in a form that the client accepts: brotli, gzip or none.
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

const gzipText = promisify(gzip);
const brotliText = promisify(brotliCompress);

/** Smaller bodies hardly shrink. */
const MIN_BYTES = 1024;

/** Fast settings: compressing a page of a thousand rows must not take longer than reading it. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };

/** Quality of a coding in Accept-Encoding, 0 when it is not accepted. */
const quality = (accept: string, coding: string): number => {
  for (const part of accept.toLowerCase().split(",")) {
    const [name = "", ...params] = part.split(";").map((text) => text.trim());
    if (name !== coding) continue;
    const q = params.find((param) => param.startsWith("q="));
    return q === undefined ? 1 : Number(q.slice(2)) || 0;
  }
  return 0;
};

export type Coding = "br" | "gzip";

/** The coding for a body of this many bytes; undefined: none. */
export const codingFor = (accept: string | string[] | undefined, bytes: number): Coding | undefined => {
  if (accept === undefined || bytes < MIN_BYTES) return undefined;
  const brotli = quality(String(accept), "br");
  const gz = quality(String(accept), "gzip");
  if (brotli > 0 && brotli >= gz) return "br";
  return gz > 0 ? "gzip" : undefined;
};

export const compressed = (bytes: Buffer, coding: Coding): Promise<Buffer> =>
  coding === "br" ? brotliText(bytes, BROTLI) : gzipText(bytes, { level: 4 });
