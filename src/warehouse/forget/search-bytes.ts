// Searches a stream of bytes for texts.

/** Shorter texts occur in any file by chance, so they are searched in cells only, as whole words. */
const SHORTEST_BYTES = 6;
/** Bytes before and after a match that distinguish it from another. */
const AROUND = 8;

/** The forms a text can have in a file: plain, in JSON, in a URL. None if it is too short to search for in bytes. */
export const formsOf = (text: string): readonly Buffer[] => {
  const forms = new Set([text, JSON.stringify(text).slice(1, -1), encodeURIComponent(text)]);
  return [...forms].map((form) => Buffer.from(form)).filter((form) => form.length >= SHORTEST_BYTES);
};

const isWordByte = (byte: number | undefined): boolean =>
  byte !== undefined && (byte >= 0x80 || /[0-9A-Za-z]/.test(String.fromCharCode(byte)));

/**
 * Every match of the forms, with the bytes around it, as hexadecimal digits. `words`: only where no letter or digit is
 * next to it.
 */
export const matchesIn = async (
  chunks: AsyncIterable<Buffer>,
  forms: readonly Buffer[],
  { words }: { readonly words: boolean },
): Promise<readonly string[]> => {
  const longest = Math.max(0, ...forms.map((form) => form.length));
  const matches: string[] = [];
  /** Matches from `from` on; those that start behind `limit` are left to the next chunk. */
  const search = (text: Buffer, from: number, limit: number) => {
    for (const form of forms) {
      for (let at = text.indexOf(form, from); at >= 0 && at < limit; at = text.indexOf(form, at + 1)) {
        const end = at + form.length;
        if (!words || !(isWordByte(text[at - 1]) || isWordByte(text[end])))
          matches.push(text.subarray(Math.max(0, at - AROUND), end + AROUND).toString("hex"));
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
