// Reads files that the user names: configuration, secrets, certificates, lists. They may be links, as in Kubernetes, and
// pipes, as of a shell's `<(...)`. A pipe that nobody writes to and a device that never ends fail after seconds instead of
// keeping the process, which a signal could not end while it waits in the system.
import { closeSync, constants, fstatSync, openSync, readdirSync, readSync } from "node:fs";
import { hasSystemCode } from "../errors.ts";
import { system } from "../system.ts";

const MOST_BYTES = 64 * 1024 * 1024;
const PIECE = 64 * 1024;
/** Longest wait for a pipe's writer to appear, and for its next bytes: a command may ask for a password first, ms. */
const WRITER_WAIT_MS = 1_000;
const BYTES_WAIT_MS = 30_000;
const WAIT_MS = 5;

const pause = new Int32Array(new SharedArrayBuffer(4));

/** Bytes read; a name: a pipe or terminal that has no bytes yet. */
const readPiece = (file: number, piece: Buffer): number | "no bytes" => {
  try {
    return readSync(file, piece);
  } catch (error) {
    if (hasSystemCode(error, "EAGAIN")) return "no bytes";
    throw error;
  }
};

/** Content of an open file. Throws an error that says what is wrong with it. */
const contentOf = (file: number, mostBytes: number): Buffer => {
  const isPipe = fstatSync(file).isFIFO();
  const pieces: Buffer[] = [];
  let bytes = 0;
  for (let waitedMs = 0; ; ) {
    const piece = Buffer.allocUnsafe(PIECE);
    const length = readPiece(file, piece);
    // Without a writer, a pipe seems to have ended.
    const waits = length === "no bytes" || (length === 0 && isPipe && bytes === 0);
    if (waits) {
      if (waitedMs >= (length === 0 ? WRITER_WAIT_MS : BYTES_WAIT_MS)) throw new Error("nobody writes to this pipe");
      Atomics.wait(pause, 0, 0, WAIT_MS);
      waitedMs += WAIT_MS;
      continue;
    }
    if (length === 0) return Buffer.concat(pieces);
    waitedMs = 0;
    bytes += length;
    if (bytes > mostBytes) throw new Error(`it holds more than ${mostBytes} bytes`);
    pieces.push(piece.subarray(0, length));
  }
};

/**
 * Text of a file that the user named. `mayBePipe`: false where nobody has a reason to name one, because no signal ends the process while it
 * waits for bytes. Throws the system's error, or one that says what is wrong with the file.
 */
export const readGiven = (path: string, mostBytes = MOST_BYTES, mayBePipe = true): string => {
  const file = openSync(path, constants.O_RDONLY | system.flags.noWait);
  try {
    if (!mayBePipe && !fstatSync(file).isFile()) throw new Error("it is no regular file");
    return contentOf(file, mostBytes).toString("utf8");
  } finally {
    closeSync(file);
  }
};

/** Names in a folder that the user named. Throws the system's error. */
export const listGiven = (folder: string): readonly string[] => readdirSync(folder).sort();
