// Applies a fault to a response: the bytes sent, their timing, and the end of the connection. Pure: proxy.ts carries
// out the result.
import { gzipSync } from "node:zlib";
import { z } from "zod";
import { headerTimeMs, timeMs } from "../../core/time.ts";

// Faults: kinds of failure of one response, and their form in a file. Kinds and parameters are data; faulty-response.ts applies
// them to the bytes, proxy.ts selects the requests.

const ms = (fallback: number) => z.int().min(0).max(3_600_000).default(fallback);

/** The kinds with their parameters. Sizes in bytes, times in ms unless the name says otherwise. */
const faultObject = z.discriminatedUnion("kind", [
  /** The connection is reset before the request reaches the service. */
  z.strictObject({ kind: z.literal("reset-before") }),
  /** The service responds (and charges); the connection is reset before the first byte arrives. */
  z.strictObject({ kind: z.literal("reset-after") }),
  /** Half of the body, then a reset. */
  z.strictObject({ kind: z.literal("reset-midway") }),
  /** Half of the body, then an orderly end, although Content-Length promised more. */
  z.strictObject({ kind: z.literal("end-midway") }),
  /** A gzip body with the right length and truncated content. */
  z.strictObject({ kind: z.literal("truncated-gzip") }),
  /** Half of the body without a length; only the JSON shows the cut. */
  z.strictObject({ kind: z.literal("cut-unframed") }),
  /** Content-Length is too small: the rest looks like the next response on the connection. */
  z.strictObject({ kind: z.literal("short-length") }),
  /** The body arrives `bytes` at a time, every `every` ms: never idle, almost endless. */
  z.strictObject({ kind: z.literal("trickle"), every: ms(20), bytes: z.int().min(1).default(1) }),
  /** The request arrives; no response follows. */
  z.strictObject({ kind: z.literal("hang-headers") }),
  /** Half of the body, then silence. */
  z.strictObject({ kind: z.literal("hang-midway") }),
  /** The response arrives after `ms`. */
  z.strictObject({ kind: z.literal("delay"), ms: ms(1_000) }),
  /** 200 with an empty body. */
  z.strictObject({ kind: z.literal("empty-body") }),
  /** 200 with a login page, as from a captive portal. */
  z.strictObject({ kind: z.literal("html") }),
  /** The true response with another content type. */
  z.strictObject({ kind: z.literal("content-type"), value: z.string().default("text/plain") }),
  /** 200 with a body that is JSON up to its middle. */
  z.strictObject({ kind: z.literal("invalid-json") }),
  /** 200 with JSON that is no envelope. */
  z.strictObject({
    kind: z.literal("wrong-shape"),
    shape: z.enum(["list", "text", "no-data", "data-object", "data-null", "error"]).default("no-data"),
  }),
  /** Refused with this status; the request does not reach the service. */
  z.strictObject({
    kind: z.literal("status"),
    status: z.int().min(201).max(599),
    /** Retry-After: seconds, or a date as text. */
    retry_after: z.union([z.int().min(0), z.string()]).optional(),
    body: z.enum(["json", "html", "empty"]).default("json"),
  }),
  /** The token is no longer valid. */
  z.strictObject({ kind: z.literal("expired-token") }),
  /** The request reaches the service twice; the second response is passed on. */
  z.strictObject({ kind: z.literal("duplicate") }),
  /** Every time in the response (Date, meta.timestamp, resetsAt) is shifted by `by` ms. */
  z.strictObject({ kind: z.literal("clock-jump"), by: z.int().default(-86_400_000) }),
  /** 302 to another origin. */
  z.strictObject({
    kind: z.literal("redirect"),
    location: z.string().default("https://login.example.com/sign-in?session=1"),
  }),
  /** The response, followed by white space up to `bytes`. */
  z.strictObject({ kind: z.literal("oversized"), bytes: z.int().min(1).default(100_000_000) }),
  /** White space of `bytes` as gzip, a thousandth of that on the network. */
  z.strictObject({ kind: z.literal("gzip-bomb"), bytes: z.int().min(1).default(100_000_000) }),
  /** 103 Early Hints before the answer. */
  z.strictObject({ kind: z.literal("informational") }),
  /** A response that is not HTTP. */
  z.strictObject({ kind: z.literal("not-http") }),
]);

export type Fault = z.output<typeof faultObject>;
export type FaultKind = Fault["kind"];

/** Every kind, in the order of the table. */
export const FAULT_KINDS: readonly FaultKind[] = faultObject.options.map(({ shape }) => shape.kind.value);

/** `503`, `reset-midway`, or a map with `kind` and parameters. */
export const faultSchema = z.preprocess((written) => {
  if (typeof written === "number") return { kind: "status", status: written };
  return typeof written === "string" ? { kind: written } : written;
}, faultObject);

/** True when the request reaches the service despite this fault; it was then charged if the response was a 200. */
export const reachesService = ({ kind }: Fault): boolean => !UNREACHED.has(kind);

const UNREACHED: ReadonlySet<FaultKind> = new Set<FaultKind>([
  "reset-before",
  "html",
  "status",
  "expired-token",
  "redirect",
  "not-http",
]);

/** A response of the service: decoded body, no hop-by-hop headers. */
export interface Answer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** One action on the connection. */
export type Step =
  | { readonly do: "write"; readonly bytes: Buffer }
  /** ms. */
  | { readonly do: "pause"; readonly ms: number }
  /** Orderly end, TCP reset, or silence until the client gives up. */
  | { readonly do: "end" | "reset" | "hang" };

/**
 * `answer`: complete and well-formed; the connection stays open. `script`: byte by byte; the connection is closed.
 */
export type FaultyResponse =
  | { readonly kind: "answer"; readonly answer: Answer; readonly afterMs?: number }
  | { readonly kind: "script"; readonly steps: Iterable<Step> };

const LOGIN_PAGE = "<!doctype html><html><head><title>Sign in</title></head><body><h1>Sign in</h1></body></html>";
const JSON_TYPE = { "content-type": "application/json; charset=utf-8" } as const;
const HTML_TYPE = { "content-type": "text/html" } as const;
/** Bytes per write of a very large body. */
const BLOCK = 65_536;

const write = (bytes: Buffer | string): Step => ({ do: "write", bytes: Buffer.from(bytes) });
const END: Step = { do: "end" };
const RESET: Step = { do: "reset" };
const HANG: Step = { do: "hang" };
const script = (...steps: readonly Step[]): FaultyResponse => ({ kind: "script", steps });

/** Status line and headers as sent. */
const head = (status: number, headers: Readonly<Record<string, string | number>>): Step => {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return write(`HTTP/1.1 ${status} Faulty\r\n${lines.join("")}\r\n`);
};
const framed = ({ status, headers, body }: Answer, more: Readonly<Record<string, string | number>> = {}): Step =>
  head(status, { ...headers, "content-length": body.length, ...more });
const halfOf = (body: Buffer): Buffer => body.subarray(0, Math.floor(body.length / 2));

const answerOf = (status: number, headers: Readonly<Record<string, string>>, body: string): FaultyResponse => ({
  kind: "answer",
  answer: { status, headers, body: Buffer.from(body) },
});

function* trickling(answer: Answer, every: number, bytes: number): Iterable<Step> {
  yield framed(answer);
  for (let at = 0; at < answer.body.length; at += bytes) {
    yield { do: "pause", ms: every };
    yield write(answer.body.subarray(at, at + bytes));
  }
  yield END;
}

function* padded(answer: Answer, bytes: number): Iterable<Step> {
  yield head(answer.status, { ...answer.headers, connection: "close" });
  yield write(answer.body);
  const block = Buffer.alloc(BLOCK, " ");
  for (let sent = answer.body.length; sent < bytes; sent += block.length) yield write(block.subarray(0, bytes - sent));
  yield END;
}

const bomb = (bytes: number): FaultyResponse => {
  const body = gzipSync(Buffer.alloc(bytes, " "));
  const headers = { ...JSON_TYPE, "content-encoding": "gzip" };
  return { kind: "answer", answer: { status: 200, headers, body } };
};

const SHAPES = {
  list: "[]",
  text: '"fine"',
  "no-data": '{"meta":{"requestId":"req_x","apiVersion":"1.0.0","timestamp":"2026-01-01T00:00:00Z"}}',
  "data-object": '{"data":{"items":[]},"meta":{"page":1}}',
  "data-null": '{"data":null,"meta":{"page":1}}',
  error: '{"error":{"code":"internal","message":"Something went wrong."}}',
} as const;

const REFUSALS = {
  json: [JSON_TYPE, '{"error":{"code":"fault","message":"The service is not available right now."}}'],
  html: [HTML_TYPE, "<html><head><title>502 Bad Gateway</title></head><body><hr>nginx</body></html>"],
  empty: [{}, ""],
} as const;

const refusal = ({ status, retry_after, body }: Extract<Fault, { kind: "status" }>): FaultyResponse => {
  const [headers, text] = REFUSALS[body];
  const retry = retry_after === undefined ? {} : { "retry-after": String(retry_after) };
  return answerOf(status, { ...headers, ...retry }, text);
};

const shifted = (text: string, by: number): string => {
  const at = timeMs(text);
  return at === null ? text : new Date(at + by).toISOString();
};

/** The response with its times shifted by `by` ms. */
const atAnotherTime = (answer: Answer, by: number): FaultyResponse => {
  const body = answer.body
    .toString("utf8")
    .replace(
      /("(?:timestamp|resetsAt)":\s*")([^"]*)(")/g,
      (_, before, time, after) => `${before}${shifted(time, by)}${after}`,
    );
  const { date } = answer.headers;
  const at = date === undefined ? null : headerTimeMs(date);
  const headers = at === null ? answer.headers : { ...answer.headers, date: new Date(at + by).toUTCString() };
  return { kind: "answer", answer: { ...answer, headers, body: Buffer.from(body) } };
};

/** `answer` after `fault`. Faults before the service is reached ignore `answer`. */
export const faultyResponse = (fault: Fault, answer: Answer): FaultyResponse => {
  const half = halfOf(answer.body);
  const midway = (end: Step) => script(framed(answer), write(half), end);
  switch (fault.kind) {
    case "reset-before":
    case "reset-after":
      return script(RESET);
    case "reset-midway":
      return midway(RESET);
    case "end-midway":
      return midway(END);
    case "hang-midway":
      return midway(HANG);
    case "hang-headers":
      return script(HANG);
    case "truncated-gzip": {
      const cut = halfOf(gzipSync(answer.body));
      const headers = { ...answer.headers, "content-encoding": "gzip" };
      return { kind: "answer", answer: { ...answer, headers, body: cut } };
    }
    case "cut-unframed":
      return script(head(answer.status, { ...answer.headers, connection: "close" }), write(half), END);
    case "short-length":
      return script(framed(answer, { "content-length": half.length }), write(answer.body), END);
    case "trickle":
      return { kind: "script", steps: trickling(answer, fault.every, fault.bytes) };
    case "delay":
      return { kind: "answer", answer, afterMs: fault.ms };
    case "empty-body":
      return answerOf(200, JSON_TYPE, "");
    case "html":
      return answerOf(200, HTML_TYPE, LOGIN_PAGE);
    case "content-type":
      return { kind: "answer", answer: { ...answer, headers: { ...answer.headers, "content-type": fault.value } } };
    case "invalid-json":
      return { kind: "answer", answer: { ...answer, body: half } };
    case "wrong-shape":
      return answerOf(200, JSON_TYPE, SHAPES[fault.shape]);
    case "status":
      return refusal(fault);
    case "expired-token":
      return answerOf(401, JSON_TYPE, '{"error":{"code":"unauthorized","message":"The token has expired."}}');
    case "duplicate":
      return { kind: "answer", answer };
    case "clock-jump":
      return atAnotherTime(answer, fault.by);
    case "redirect":
      return answerOf(302, { location: fault.location }, "");
    case "oversized":
      return { kind: "script", steps: padded(answer, fault.bytes) };
    case "gzip-bomb":
      return bomb(fault.bytes);
    case "informational":
      return script(
        write("HTTP/1.1 103 Early Hints\r\nlink: </style.css>\r\n\r\n"),
        framed(answer),
        write(answer.body),
        END,
      );
    case "not-http":
      return script(write("SSH-2.0-OpenSSH_9.2\r\n"), END);
    default:
      return fault satisfies never;
  }
};
