// Secrets: a value that does not print itself, and a scrubber that takes it out of any text.
// Redacting known fields is not enough: a token also turns up in URLs, messages, stacks and arrays.

/** Text shown in place of a secret. */
export const HIDDEN = "[hidden]";
/** Shorter texts are too common to be taken out of every line. */
const SHORTEST_SECRET = 4;

/** A secret value. Printed, logged or put into JSON it shows as `[hidden]`; only `reveal()` gives it out. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return HIDDEN;
  }

  toJSON(): string {
    return HIDDEN;
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return HIDDEN;
  }
}

/**
 * The part of the Base64 text that is the same whatever stands before and after the secret, for each of the three
 * positions it can have inside a longer text (`Bearer <token>` in Base64 does not contain Base64 of `<token>`).
 */
const base64Forms = (secret: string): string[] => {
  const bytes = Buffer.from(secret, "utf8");
  return [0, 1, 2].flatMap((shift) => {
    const encoded = Buffer.concat([Buffer.alloc(shift), bytes]).toString("base64");
    const from = Math.ceil((shift * 8) / 6);
    const to = Math.floor(((shift + bytes.length) * 8) / 6);
    const stable = encoded.slice(from, to);
    return [stable, stable.replaceAll("+", "-").replaceAll("/", "_")];
  });
};

const formsOf = (secret: string): string[] => {
  const encoded = encodeURIComponent(secret);
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encoded,
    encoded.replace(/%[0-9A-F]{2}/g, (octet) => octet.toLowerCase()),
    ...base64Forms(secret).filter((form) => form.length >= 8),
  ];
};

export interface Scrubber {
  /** From now on, `secret` (also Base64, URL-encoded or JSON-escaped) is taken out of every text. */
  hide(secret: Secret | string): void;
  /** The text with every known secret replaced by `[hidden]`. */
  scrub(text: string): string;
}

/** A scrubber that knows no secret yet. */
export const createScrubber = (): Scrubber => {
  let forms: readonly string[] = [];
  return {
    hide(secret) {
      const value = typeof secret === "string" ? secret : secret.reveal();
      if (value.length < SHORTEST_SECRET) return;
      // Longest first: a short form must not cut a longer one in two and leave its rest readable.
      forms = [...new Set([...forms, ...formsOf(value)])].sort((a, b) => b.length - a.length);
    },
    scrub: (text) => forms.reduce((clean, form) => clean.replaceAll(form, HIDDEN), text),
  };
};
