// Messages between duckmirror and the process that runs a user's SQL: JSON texts over pipes, each as one frame. That process may be under a
// user's control, so the reader limits size, number of values and depth before it parses.
import { z } from "zod";
import type { OutValue } from "../duckdb/out-values.ts";

// Messages between the program and the process that runs a user's SQL (as frames: frames.ts).

export interface Ask {
  readonly kind: "run";
  /** Path of the snapshot, absolute. */
  readonly snapshot: string;
  readonly sql: string;
  /** Whether the statement must pass the gate (gate/check-statement.ts). */
  readonly gated: boolean;
  /** DuckDB size text, e.g. `512MB`. */
  readonly memoryLimit: string;
  /** Most characters of one row. A row crosses to the asking process as a whole, so a larger one is refused here. */
  readonly rowCharacters: number;
}

/** `inspect` reads the catalog of a file, instead of a statement. Each later message requests more rows. */
export type ToProcess =
  | Ask
  | {
      readonly kind: "inspect";
      readonly snapshot: string;
      readonly memoryLimit: string;
      /** What each view and macro of this version selects (generated/view-texts.ts). */
      readonly own: readonly (readonly [name: string, select: string])[];
    }
  | { readonly kind: "next" };

/** One check for all: of a million wrong rows, each would become a complaint of its own. */
const isRows = (value: unknown): boolean => Array.isArray(value) && value.every((row) => Array.isArray(row));

/** An error quotes its statement. */
const detail = z.string().transform((text) => text.slice(0, 20_000));

/**
 * Answers. `ready` comes first, unasked: the process is fenced (fence/proof.ts). `rows` is empty at the end. `failed`: the statement
 * failed. `refused`: it did not pass the gate. `tooLarge`: one row has too many characters.
 */
export const fromProcessSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("ready") }),
  z.object({ kind: z.literal("columns"), columns: z.array(z.object({ name: z.string(), type: z.string() })) }),
  z.object({ kind: z.literal("rows"), rows: z.custom<OutValue[][]>(isRows) }),
  z.object({ kind: z.literal("inspected"), foreign: z.array(z.string()), unlike: z.array(z.string()) }),
  z.object({ kind: z.literal("failed"), detail }),
  z.object({ kind: z.literal("refused"), detail }),
  z.object({ kind: z.literal("tooLarge") }),
]);
export type FromProcess = z.output<typeof fromProcessSchema>;

/** First character of a text for a value that JSON lacks: `b` bigint, `n` number, `s` a text that begins with MARK. */
const MARK = "\u0001";

/** Digits of an integer that is read as one; DuckDB's longest but BIGNUM has 39. */
const MOST_DIGITS = 100;

const packed = (value: unknown): unknown => {
  if (typeof value === "bigint") return `${MARK}b${value}`;
  if (typeof value === "string") return value.startsWith(MARK) ? `${MARK}s${value}` : value;
  if (typeof value !== "number" || (Number.isFinite(value) && !Object.is(value, -0))) return value;
  return `${MARK}n${Object.is(value, -0) ? "-0" : value}`;
};

const unmarked = (text: string): unknown => {
  const rest = text.slice(2);
  // A longer one is none of DuckDB's, and takes minutes to convert.
  if (text[1] === "b") return rest.length <= MOST_DIGITS ? BigInt(rest) : rest;
  return text[1] === "n" ? Number(rest) : rest;
};

/** Replaces marks in place. A reviver of `JSON.parse` would take ten times as long. The depth is limited by then. */
const unpacked = (value: unknown): unknown => {
  if (typeof value === "string") return value.startsWith(MARK) ? unmarked(value) : value;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) value[index] = unpacked(value[index]);
  } else if (typeof value === "object" && value !== null) {
    for (const [name, part] of Object.entries(value)) {
      const found = unpacked(part);
      // An assignment to `__proto__` would change the object's prototype.
      if (found !== part) Object.defineProperty(value, name, { value: found });
    }
  }
  return value;
};

const PLAIN = 0;
const WITH_MARKS = 1;
const HEAD_BYTES = 5;

/** A message as a frame: its length (4 bytes), whether it holds marks (1 byte), JSON. Throws RangeError beyond the longest string. */
export const frameOf = (message: object): Buffer => {
  let marks = PLAIN;
  const text = JSON.stringify(message, (_name, value: unknown) => {
    const written = packed(value);
    if (written !== value) marks = WITH_MARKS;
    return written;
  });
  const length = Buffer.byteLength(text);
  const frame = Buffer.allocUnsafe(HEAD_BYTES + length);
  frame.writeUInt32LE(length, 0);
  frame.writeUInt8(marks, 4);
  frame.write(text, HEAD_BYTES);
  return frame;
};

/** What one frame may hold. Parsing it keeps the reader's event loop busy, and the sender may be in others' hands. */
export interface FrameLimits {
  readonly bytes: number;
  /** Values in it, those of lists and objects among them. */
  readonly values: number;
}

export const ANY_FRAME: FrameLimits = { bytes: Number.POSITIVE_INFINITY, values: Number.POSITIVE_INFINITY };

/** Most levels of lists and objects in a value of a row. */
export const MOST_LEVELS = 100;
/** A frame is an object with rows of cells. */
const LEVELS_AROUND = 4;

const [QUOTE, BACKSLASH, COMMA, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [34, 92, 44, 91, 93, 123, 125];

/** The place behind the text that begins at `from`. */
const behindText = (json: Buffer, from: number): number => {
  let at = from + 1;
  while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
  return at;
};

/** Throws RangeError for a JSON text of too many values, or nested too deep, at a fraction of what parsing it costs. */
const assertSimple = (json: Buffer, most: number): void => {
  let values = 0;
  let level = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === QUOTE) at = behindText(json, at);
    else if (byte === COMMA) values += 1;
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      values += 1;
      level += 1;
      if (level > MOST_LEVELS + LEVELS_AROUND) throw new RangeError("the frame is nested too deep");
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) level -= 1;
  }
  if (values > most) throw new RangeError("the frame has too many values");
};

/** Collects bytes and calls `take` with each message. */
export const frameReader = <T>(most: FrameLimits, take: (message: T) => void) => {
  // One buffer that grows, because many small pieces would take more memory than they hold.
  let held = Buffer.alloc(0);
  let used = 0;
  const hold = (bytes: Buffer): void => {
    if (used + bytes.length > held.length) {
      const larger = Buffer.allocUnsafe(Math.max(used + bytes.length, 2 * held.length));
      held.copy(larger, 0, 0, used);
      held = larger;
    }
    used += bytes.copy(held, used);
  };
  const messageIn = (frame: Buffer): T => {
    const json = frame.subarray(HEAD_BYTES);
    if (Number.isFinite(most.values)) assertSimple(json, most.values);
    const message = JSON.parse(json.toString("utf8"));
    if (frame[4] === WITH_MARKS) unpacked(message);
    return message;
  };
  /** Throws for bytes that are no frames within the limits; nothing may be fed after that. */
  return (bytes: Buffer): void => {
    hold(bytes);
    let start = 0;
    while (used - start >= HEAD_BYTES) {
      const end = start + HEAD_BYTES + held.readUInt32LE(start);
      if (end - start > most.bytes) throw new RangeError("the frame is too large");
      if (end > used) break;
      const frame = held.subarray(start, end);
      start = end;
      take(messageIn(frame));
    }
    held.copy(held, 0, start, used);
    used -= start;
    if (used === 0) held = Buffer.alloc(0);
  };
};
