// Searches a stream of bytes for texts, in every form in which they can be written.
import { ESCAPED_SIGN, formsInBytes, longestForm, samePartOf } from "../../core/text/forms.ts";

/** Shorter texts occur in any file by chance, so they are searched in cells only, as whole words. */
const SHORTEST_BYTES = 6;
/** Bytes before and after a match that distinguish it from another. */
const AROUND = 8;

/** Every form of a text in a file: plain, in JSON, in a URL. For bytes that were read as Latin-1. */
export interface Form {
  /** Bytes without this part hold no match. */
  readonly samePart: string;
  readonly pattern: RegExp;
  /** Bytes of the longest match. */
  readonly longest: number;
}

export const formOf = (text: string): Form => ({
  samePart: samePartOf(text),
  pattern: new RegExp(formsInBytes(text), "g"),
  longest: longestForm(text),
});

const LETTERS_END = /[0-9A-Za-z\x80-\xff]$/;
const LETTERS_START = /^[0-9A-Za-z\x80-\xff]/;
const SIGN_END = new RegExp(`${ESCAPED_SIGN}$`);

/** Whether no letter or digit is next to these bytes. */
const isApart = (text: string, start: number, end: number): boolean => {
  const before = text.slice(Math.max(0, start - AROUND), start);
  return (!LETTERS_END.test(before) || SIGN_END.test(before)) && !LETTERS_START.test(text.slice(end, end + 1));
};

/**
 * Every match of the forms, with the bytes around it, as hexadecimal digits. `words`: only where no letter or digit is
 * next to it.
 */
export const matchesIn = async (
  chunks: AsyncIterable<Buffer>,
  forms: readonly Form[],
  { words }: { readonly words: boolean },
): Promise<readonly string[]> => {
  const longest = Math.max(0, ...forms.map((form) => form.longest));
  const matches: string[] = [];
  /** Matches from `from` on; those that start behind `limit` are left to the next chunk. */
  const search = (text: Buffer, from: number, limit: number) => {
    const latin = text.toString("latin1");
    for (const { samePart, pattern } of forms) {
      if (!text.includes(samePart)) continue;
      pattern.lastIndex = from;
      for (let match = pattern.exec(latin); match !== null && match.index < limit; match = pattern.exec(latin)) {
        const end = match.index + match[0].length;
        pattern.lastIndex = match.index + 1;
        if (end - match.index < SHORTEST_BYTES || (words && !isApart(latin, match.index, end))) continue;
        matches.push(text.subarray(Math.max(0, match.index - AROUND), end + AROUND).toString("hex"));
      }
    }
  };
  let kept = Buffer.alloc(0);
  let from = 0;
  for await (const chunk of chunks) {
    const text = Buffer.concat([kept, chunk]);
    const limit = Math.max(from, text.length - longest - AROUND);
    search(text, from, limit);
    const start = Math.max(0, limit - AROUND);
    kept = text.subarray(start);
    from = limit - start;
  }
  search(kept, from, kept.length);
  return matches;
};
