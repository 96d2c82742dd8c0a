// Faults: kinds of failure of one response, and their form in a file. Kinds and parameters are data; faulty-response.ts applies
// them to the bytes, proxy.ts selects the requests.
import { z } from "zod";

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
