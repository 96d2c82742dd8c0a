// Faults: what can go wrong with one answer on its way, and how a file writes it. Kinds and their parameters are data;
// what they do to the bytes is play.ts' business, whom they strike schedule.ts'.
import { z } from "zod";

const ms = (fallback: number) => z.int().min(0).max(3_600_000).default(fallback);

/** The kinds with their parameters. Sizes in bytes, times in ms unless the name says otherwise. */
const faultObject = z.discriminatedUnion("kind", [
  /** The connection is reset; the request never reached the service. */
  z.strictObject({ kind: z.literal("reset-before") }),
  /** The service answered (and charged); the connection is reset before a byte of it arrives. */
  z.strictObject({ kind: z.literal("reset-after") }),
  /** Half of the body, then a reset. */
  z.strictObject({ kind: z.literal("reset-midway") }),
  /** Half of the body, then an orderly end, although the length promised more. */
  z.strictObject({ kind: z.literal("end-midway") }),
  /** A gzip body that is whole by its length and cut by its content. */
  z.strictObject({ kind: z.literal("truncated-gzip") }),
  /** Half of the body without a length: nothing but the JSON shows that it was cut. */
  z.strictObject({ kind: z.literal("cut-unframed") }),
  /** The length says less than comes: the rest stands on the connection as if it were the next answer. */
  z.strictObject({ kind: z.literal("short-length") }),
  /** The body comes `bytes` at a time, every `every` ms: never a pause, hardly an end. */
  z.strictObject({ kind: z.literal("trickle"), every: ms(20), bytes: z.int().min(1).default(1) }),
  /** The request arrives, an answer never does. */
  z.strictObject({ kind: z.literal("hang-headers") }),
  /** Half of the body, then silence. */
  z.strictObject({ kind: z.literal("hang-midway") }),
  /** The answer comes after `ms`. */
  z.strictObject({ kind: z.literal("delay"), ms: ms(1_000) }),
  /** 200 and nothing in it. */
  z.strictObject({ kind: z.literal("empty-body") }),
  /** 200 and a page to log in, as from a captive portal. */
  z.strictObject({ kind: z.literal("html") }),
  /** The true answer under another content type. */
  z.strictObject({ kind: z.literal("content-type"), value: z.string().default("text/plain") }),
  /** 200 whose body is JSON up to its middle. */
  z.strictObject({ kind: z.literal("invalid-json") }),
  /** 200 and JSON that is no envelope. */
  z.strictObject({
    kind: z.literal("wrong-shape"),
    shape: z.enum(["list", "text", "no-data", "data-object", "data-null", "error"]).default("no-data"),
  }),
  /** Refused with this status; the request never reached the service. */
  z.strictObject({
    kind: z.literal("status"),
    status: z.int().min(201).max(599),
    /** Retry-After: seconds, or a date as text. */
    retry_after: z.union([z.int().min(0), z.string()]).optional(),
    body: z.enum(["json", "html", "empty"]).default("json"),
  }),
  /** The token is not valid any more. */
  z.strictObject({ kind: z.literal("expired-token") }),
  /** The request reaches the service twice; the second answer is passed on. */
  z.strictObject({ kind: z.literal("duplicate") }),
  /** Every time the service tells (Date, meta.timestamp, resetsAt) is off by `by` ms. */
  z.strictObject({ kind: z.literal("clock-jump"), by: z.int().default(-86_400_000) }),
  /** 302 to another origin. */
  z.strictObject({
    kind: z.literal("redirect"),
    location: z.string().default("https://login.example.com/sign-in?session=1"),
  }),
  /** The answer, followed by white space up to `bytes`. */
  z.strictObject({ kind: z.literal("oversized"), bytes: z.int().min(1).default(100_000_000) }),
  /** White space of `bytes` as gzip: a thousandth of it on the wire. */
  z.strictObject({ kind: z.literal("gzip-bomb"), bytes: z.int().min(1).default(100_000_000) }),
  /** 103 Early Hints before the answer. */
  z.strictObject({ kind: z.literal("informational") }),
  /** Something that is not HTTP. */
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

/** Does the request reach the service before this fault strikes? What does was charged if it was answered with 200. */
export const reachesService = ({ kind }: Fault): boolean => !UNREACHED.has(kind);

const UNREACHED: ReadonlySet<FaultKind> = new Set<FaultKind>([
  "reset-before",
  "html",
  "status",
  "expired-token",
  "redirect",
  "not-http",
]);
