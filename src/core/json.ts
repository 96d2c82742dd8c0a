// JSON values in duckmirror: integers that a double cannot hold exactly are bigint, other such numbers keep their digits.

/** A number with a fraction or an exponent that no double holds exactly. */
export class ExactNumber {
  /** As received: valid JSON. */
  readonly literal: string;
  constructor(literal: string) {
    this.literal = literal;
  }
  /** Throws, as JSON.stringify does for a bigint: only `writeJson` writes such a number. */
  toJSON(): never {
    throw new TypeError("JSON.stringify cannot write an exact number");
  }
}

export type JsonValue = null | boolean | number | bigint | string | ExactNumber | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: JsonValue;
}

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);

/** A text of duckmirror's own as JSON; null for what is none, such as a line that a crash cut off. */
export const jsonOrNull = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};
