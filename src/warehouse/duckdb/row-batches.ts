// Converts the rows of a user's statement to batches of limited size, on request. The processes that run users' SQL use it.
import type { OutValue, ValueReader } from "./out-values.ts";

/** Most characters per answer (or one row), so that the reader's event loop is busy for a few ms only. */
export const BATCH_CHARACTERS = 256 * 1024;

/** What each value counts beside its characters: two million empty lists are few characters, and busy the reader for seconds. */
export const VALUE_CHARACTERS = 32;

/** In an answer each takes six characters. Others take three bytes at most. */
const CONTROL = /\p{Cc}/u;
const lengthOf = (text: string): number => (CONTROL.test(text) ? JSON.stringify(text).length : text.length);

const sizeOf = (value: OutValue): number => {
  if (typeof value === "string") return lengthOf(value) + VALUE_CHARACTERS;
  if (value === null || typeof value !== "object") return VALUE_CHARACTERS;
  const parts: readonly OutValue[] = Array.isArray(value) ? value : Object.values(value);
  return parts.reduce<number>((sum, part) => sum + sizeOf(part), VALUE_CHARACTERS);
};

interface Chunk {
  readonly rowCount: number;
  getRowValues(index: number): readonly unknown[];
}

/** A streaming result of either of DuckDB's clients. */
interface Result {
  fetchChunk(): Promise<Chunk | null>;
  /** Becomes 0 when the statement fails. */
  readonly returnType: number;
}

/** The statement failed after its first rows: DuckDB's client says so of no chunk. */
export class StoppedEarly extends Error {}

/** Throws StoppedEarly if the rows ended because the statement failed. To be asked after the last chunk. */
export const assertWhole = ({ returnType }: Pick<Result, "returnType">): void => {
  if (returnType === 0) throw new StoppedEarly("it failed after its first rows");
};

/** One row, or a value in it, has too many characters. */
export class TooLarge extends Error {}

/** The row in the form of answers. Throws TooLarge, also where Node has no string that long. */
const rowOf = (chunk: Chunk, index: number, fromDuck: ValueReader["fromDuck"]): OutValue[] => {
  try {
    return chunk.getRowValues(index).map((cell) => fromDuck(cell, "iso"));
  } catch (error) {
    if (error instanceof RangeError || (error as NodeJS.ErrnoException).code === "ERR_STRING_TOO_LONG")
      throw new TooLarge();
    throw error;
  }
};

/** Throws TooLarge for a row of more than `rowCharacters`, and StoppedEarly. */
export async function* batchesOf(
  result: Result,
  rowCharacters: number,
  fromDuck: ValueReader["fromDuck"],
): AsyncGenerator<OutValue[][], void> {
  let rows: OutValue[][] = [];
  let characters = 0;
  for (let chunk = await result.fetchChunk(); chunk !== null && chunk.rowCount > 0; chunk = await result.fetchChunk()) {
    for (let index = 0; index < chunk.rowCount; index += 1) {
      const row = rowOf(chunk, index, fromDuck);
      const size = row.reduce<number>((sum, cell) => sum + sizeOf(cell), 2);
      if (size > rowCharacters) throw new TooLarge();
      rows.push(row);
      characters += size;
      if (characters < BATCH_CHARACTERS) continue;
      yield rows;
      rows = [];
      characters = 0;
    }
  }
  assertWhole(result);
  if (rows.length > 0) yield rows;
}
