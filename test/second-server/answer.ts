// What the service answers: an envelope with 200, or a refusal in the body shape it happens to have.
import { type Fields, type Json, jsonText } from "./json-text.ts";
import { writeTime } from "./times.ts";
import type { ErrorBody, Traits } from "./traits.ts";

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What a route found. `usage`: this route carries the usage block. */
export type Found =
  | { readonly ok: true; readonly top: Fields; readonly meta?: Fields; readonly usage: boolean }
  | { readonly ok: false; readonly status: number; readonly why: string };

export const found = (data: Json, more: { included?: Json; meta?: Fields; usage?: boolean } = {}): Found => ({
  ok: true,
  top: { data, ...(more.included === undefined ? {} : { included: more.included }) },
  ...(more.meta === undefined ? {} : { meta: more.meta }),
  usage: more.usage ?? true,
});
export const notFound = (what: string): Found => ({ ok: false, status: 404, why: `${what} not found` });
export const badRequest = (why: string): Found => ({ ok: false, status: 400, why });

const HTML = (status: number, why: string) =>
  `<!DOCTYPE html><html><head><title>${status} ${why}</title></head><body><h1>${why}</h1><hr>proxy</body></html>`;

const refusalBody = (shape: ErrorBody, status: number, why: string, usage: Fields | null): string => {
  const more = usage === null ? {} : { usage };
  switch (shape) {
    case "nested":
      return jsonText({ error: { code: `E${status}`, message: why }, ...more });
    case "flat":
      return jsonText({ statusCode: status, message: why, ...more });
    case "list":
      return jsonText({ errors: [{ status: String(status), detail: why }], ...more });
    case "problem":
      return jsonText({ type: "about:blank", title: why, status, ...more });
    case "html":
      return HTML(status, why);
    case "text":
      return why;
    case "empty":
      return "";
    default:
      return shape satisfies never;
  }
};

const CONTENT_TYPE: Record<ErrorBody, string> = {
  nested: "application/json",
  flat: "application/json",
  list: "application/json",
  problem: "application/problem+json",
  html: "text/html",
  text: "text/plain",
  empty: "text/plain",
};

export const refusal = (
  traits: Traits,
  status: number,
  why: string,
  more: { shape?: ErrorBody; headers?: Record<string, string>; usage?: Fields | null } = {},
): Answer => {
  const shape = more.shape ?? traits.wire.errors;
  return {
    status,
    headers: { "Content-Type": CONTENT_TYPE[shape], ...more.headers },
    body: refusalBody(shape, status, why, more.usage ?? null),
  };
};

/** A 200 whose body says that the request failed. */
export const failedBody = ({ strangers, wire }: Traits): Answer => {
  const bodies = {
    status: { status: "error", message: "upstream timed out", data: {} },
    success: { success: false, data: [], meta: { totalCount: 0 } },
    error: { error: { code: "UPSTREAM", message: "timed out" }, data: null },
    ok: { ok: false },
    found: { status: "found", data: null },
    code: { code: 500 },
  } as const satisfies Record<string, Fields>;
  return { status: 200, headers: { "Content-Type": wire.contentType }, body: jsonText(bodies[strangers.errorBody]) };
};

export const envelope = (
  traits: Traits,
  answer: Extract<Found, { ok: true }>,
  now: number,
  requestId: string,
  usage: Fields | null,
): Answer => {
  const timestamp = writeTime(now, traits.times.moment === "date" ? "z-ms" : traits.times.moment);
  const meta = { requestId, apiVersion: "1.0.0", timestamp, ...answer.meta };
  const body = { ...answer.top, meta, ...(usage === null ? {} : { usage }) };
  const text = jsonText(body);
  // Raw control characters in texts, which JSON forbids.
  const sent = traits.strangers.rawControls ? text.replaceAll("\\t", "\t").replaceAll("\\n", "\n") : text;
  return { status: 200, headers: { "Content-Type": traits.wire.contentType }, body: sent };
};
