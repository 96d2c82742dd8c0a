// Secrets: a value that does not print itself, and a scrubber that removes it from any text.
// Redacting known fields is not enough, because a token also appears in URLs, messages, stacks and arrays.

/** Replacement text of a secret. */
export const HIDDEN = "[hidden]";
/** Shorter texts are too common to remove from every line. */
const SHORTEST_SECRET = 4;

/** A secret value. Printed, logged or as JSON it is `[hidden]`; only `reveal()` returns it. */
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
 * The part of the Base64 text that does not depend on neighbouring text, for each of the three positions in a longer
 * text (Base64 of `Bearer <token>` does not contain Base64 of `<token>`).
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
  /** Removes `secret` (also Base64, URL-encoded or JSON-escaped) from every later text. */
  hide(secret: Secret | string): void;
  /** The text with every known secret replaced by `[hidden]`. */
  scrub(text: string): string;
}

/** A scrubber without secrets. */
export const createScrubber = (): Scrubber => {
  const forms = new Set<string>();
  /** null: a secret was added since the last text. */
  let longestFirst: readonly string[] | null = null;
  return {
    hide(secret) {
      const value = typeof secret === "string" ? secret : secret.reveal();
      if (value.length < SHORTEST_SECRET) return;
      for (const form of formsOf(value)) forms.add(form);
      longestFirst = null;
    },
    scrub: (text) => {
      // Replacing a short form first could leave part of a longer one readable.
      longestFirst ??= [...forms].sort((a, b) => b.length - a.length);
      let clean = text;
      for (const form of longestFirst) clean = clean.replaceAll(form, HIDDEN);
      return clean;
    },
  };
};
