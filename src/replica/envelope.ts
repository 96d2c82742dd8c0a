// Writes the text of a response: `data`, `included`, `meta`, `usage` around records that DuckDB wrote as JSON. PURE.
// Source: API.md, "Conventions common to all endpoints" and "Envelope objects".
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

// Compresses a body in a form that the client accepts: brotli, gzip or none.

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

/** Paging part of `meta`. */
interface Paging {
  readonly page: number;
  readonly perPage: number;
  readonly totalCount: number;
}

/** Records embedded for one value of `include`. */
export interface Embedded {
  /** Name of one record, e.g. `company`, and of several, e.g. `companies`. */
  readonly one: string;
  readonly many: string;
  /** `record`: one record under `one`. `list`: an array under `many`; its shape in `included` is not shown in API.md. */
  readonly kind: "record" | "list";
  /** Key and JSON text of each record. */
  readonly records: readonly { readonly key: string; readonly object: string }[];
}

export interface Quota {
  readonly limit: number;
  readonly used: number;
  readonly remaining: number;
  /** ms since the epoch. */
  readonly resetsAt: number;
}

/** Content of a 200 before it is written as text. */
export interface Answer {
  /** Top-level members before `data`: `status`, `message` of account-insights. JSON texts. */
  readonly head: readonly (readonly [name: string, json: string])[];
  /** JSON text; absent for an insight that was not found. */
  readonly data?: string;
  /** Top-level members after `data`: `candidates`, `bestMatch`. JSON texts. */
  readonly tail: readonly (readonly [name: string, json: string])[];
  readonly included: readonly Embedded[];
  readonly paging?: Paging;
  /** True when the response has a `usage` block. */
  readonly usageBlock: boolean;
}

export interface EnvelopeContext {
  readonly requestId: string;
  /** ms since the epoch. */
  readonly now: number;
  readonly usage: Quota | null;
}

/** `meta.apiVersion` (API.md, "Versioning"). */
export const API_VERSION = "1.0.0";

/** A response with `data` only. */
export const dataAnswer = (data: string, usageBlock: boolean): Answer => ({
  head: [],
  data,
  tail: [],
  included: [],
  usageBlock,
});

const member = (name: string, json: string): string => `${JSON.stringify(name)}:${json}`;
const array = (records: Embedded["records"]): string => `[${records.map(({ object }) => object).join(",")}]`;

const embeddedJson = ({ one, many, kind, records }: Embedded): readonly string[] => {
  if (kind === "list") return [member(many, array(records))];
  const [record] = records;
  return record === undefined ? [] : [member(one, record.object)];
};

/** Quota in the form of API.md. */
export const quotaJson = (quota: Quota): string =>
  JSON.stringify({
    limit: quota.limit,
    used: quota.used,
    remaining: quota.remaining,
    resetsAt: new Date(quota.resetsAt).toISOString(),
  });

/** Body of a 200. */
export const writeEnvelope = (answer: Answer, context: EnvelopeContext): string => {
  const { paging } = answer;
  const members = answer.head.map(([name, json]) => member(name, json));
  if (answer.data !== undefined) members.push(member("data", answer.data));
  members.push(...answer.tail.map(([name, json]) => member(name, json)));
  const included = answer.included.flatMap(embeddedJson);
  if (answer.included.length > 0) members.push(member("included", `{${included.join(",")}}`));
  const meta = {
    requestId: context.requestId,
    apiVersion: API_VERSION,
    timestamp: new Date(context.now).toISOString(),
    ...(paging === undefined ? {} : { ...paging, totalPages: Math.ceil(paging.totalCount / paging.perPage) }),
  };
  members.push(member("meta", JSON.stringify(meta)));
  if (answer.usageBlock && context.usage !== null) members.push(member("usage", quotaJson(context.usage)));
  return `{${members.join(",")}}`;
};
