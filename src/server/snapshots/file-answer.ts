// Answers a request for a file by its conditions and its range (RFC 9110, sections 13 and 14). PURE.

/** The headers of a request that decide. */
export interface Asked {
  readonly "if-match"?: string | undefined;
  readonly "if-none-match"?: string | undefined;
  readonly "if-range"?: string | undefined;
  readonly range?: string | undefined;
}

export type FileAnswer =
  /** The bytes from `start` to before `end`; `status` 206: they are a part. */
  { readonly status: 200 | 206; readonly start: number; readonly end: number } | { readonly status: 304 | 412 | 416 };

/** Whether a list of tags names a strong tag. */
const names = (header: string, etag: string): boolean =>
  header.split(",").some((tag) => tag.trim() === etag || tag.trim() === "*");

/** The range of a header: `null`: answer with the whole file; `unsatisfiable`: the file has no such bytes. */
const rangeOf = (header: string, size: number) => {
  const [, first = "", last = ""] = /^bytes=(\d*)-(\d*)$/.exec(header.trim()) ?? [];
  // Several ranges, other units and nonsense may be ignored (section 14.2).
  if ((first === "" && last === "") || (first !== "" && last !== "" && Number(last) < Number(first))) return null;
  const start = first === "" ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === "" || last === "" ? size : Math.min(size, Number(last) + 1);
  return start < end ? { start, end } : "unsatisfiable";
};

/** The answer for a file of `size` bytes whose strong tag is `etag`. HEAD takes no range. */
export const fileAnswer = (
  method: string,
  asked: Asked,
  { etag, size }: { readonly etag: string; readonly size: number },
): FileAnswer => {
  const { "if-match": match, "if-none-match": noneMatch, "if-range": ifRange, range } = asked;
  if (match !== undefined && !names(match, etag)) return { status: 412 };
  if (noneMatch !== undefined && names(noneMatch.replaceAll("W/", ""), etag)) return { status: 304 };
  const whole = { status: 200, start: 0, end: size } as const;
  // A date as If-Range is no proof, because two snapshots can have the same second.
  if (method === "HEAD" || range === undefined || (ifRange !== undefined && ifRange.trim() !== etag)) return whole;
  const part = rangeOf(range, size);
  if (part === null) return whole;
  return part === "unsatisfiable" ? { status: 416 } : { status: 206, ...part };
};
