// Frames: messages as JSON texts over plain pipes. The process of a user's SQL may be in the hands of that SQL: its bytes become plain
// values only, and are limited in size.

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

const unpacked = (_name: string, value: unknown): unknown => {
  if (typeof value !== "string" || !value.startsWith(MARK)) return value;
  const rest = value.slice(2);
  // A longer one is none of DuckDB's, and takes minutes to convert.
  if (value[1] === "b") return rest.length <= MOST_DIGITS ? BigInt(rest) : rest;
  return value[1] === "n" ? Number(rest) : rest;
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

/** Collects bytes and calls `take` with each message. */
export const frameReader = <T>(mostBytes: number, take: (message: T) => void) => {
  let pieces: Buffer[] = [];
  let held = 0;
  const next = (): boolean => {
    if (held < HEAD_BYTES) return false;
    if ((pieces[0]?.length ?? 0) < HEAD_BYTES) pieces = [Buffer.concat(pieces)];
    const [first = Buffer.alloc(0)] = pieces;
    const end = HEAD_BYTES + first.readUInt32LE(0);
    if (end > mostBytes) throw new RangeError("the frame is too large");
    if (held < end) return false;
    const all = pieces.length === 1 ? first : Buffer.concat(pieces);
    pieces = [all.subarray(end)];
    held -= end;
    const text = all.toString("utf8", HEAD_BYTES, end);
    take(all[4] === WITH_MARKS ? JSON.parse(text, unpacked) : JSON.parse(text));
    return true;
  };
  /** Throws for bytes that are no frames; nothing may be fed after that. */
  return (bytes: Buffer): void => {
    pieces.push(bytes);
    held += bytes.length;
    while (next());
  };
};
