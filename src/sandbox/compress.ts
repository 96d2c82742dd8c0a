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

export interface Encoded {
  readonly bytes: Buffer;
  /** Content-Encoding; undefined for identity. */
  readonly encoding?: "br" | "gzip";
}

export const compress = async (body: string, accept: string | undefined): Promise<Encoded> => {
  const bytes = Buffer.from(body);
  if (accept === undefined || bytes.length < MIN_BYTES) return { bytes };
  const brotli = quality(accept, "br");
  const gz = quality(accept, "gzip");
  if (brotli > 0 && brotli >= gz) return { bytes: await brotliText(bytes, BROTLI), encoding: "br" };
  if (gz > 0) return { bytes: await gzipText(bytes, { level: 4 }), encoding: "gzip" };
  return { bytes };
};
