// List shape: what a list route grants (page size, sorting, embedding), found by failures, which cost nothing.
// Pure. Remembered in sync.capabilities, so it is found once. docs/ARCHITECTURE.md; API.md: maximum perPage not shown.
import { z } from "zod";

export const listShapeSchema = z.object({
  perPage: z.number().int().positive(),
  /** Sort parameters are sent. */
  sort: z.boolean(),
  /** The service sorts by the stream's change date, too. */
  changeOrder: z.boolean(),
  /** `include` is sent. */
  include: z.boolean(),
  /** `onlyWithFields` with opt-in fields is sent. */
  content: z.boolean(),
  /** `onlyWithFields` is sent for light fields that the default answer may lack. */
  names: z.boolean().default(true),
  /** What the list returns when asked beyond its default answer, and what it does not (rows/granted-fields.ts). */
  grants: z.array(z.string()).readonly().default([]),
  lacks: z.array(z.string()).readonly().default([]),
  /** Heavy fields that every row of the list has been read with. */
  walkedWith: z.array(z.string()).readonly().default([]),
  /** A page has been granted in this shape. */
  settled: z.boolean(),
});
export type ListShape = z.infer<typeof listShapeSchema>;

/** Page sizes tried from the largest down. The last one is below the documented default of 20. */
const SIZES = [1000, 750, 500, 400, 300, 250, 200, 150, 100, 75, 50, 40, 30, 25, 20, 10, 5, 1];

export const initialShape = (perPage: number): ListShape => ({
  perPage,
  sort: true,
  changeOrder: true,
  include: true,
  content: true,
  names: true,
  grants: [],
  lacks: [],
  walkedWith: [],
  settled: false,
});

/** What the refused request carried: only what was sent can be at fault. */
export interface RefusedRequest {
  readonly perPage: number;
  readonly sort: boolean;
  readonly include: boolean;
  readonly content: boolean;
  /** Fields were named that nobody configured. */
  readonly names: boolean;
}

/** Tags of HTML: the `<h1>` of an error page is not "less than 1". */
const TAG = /<[a-z/!][^>]*>/g;

/** Maxima an error text names ("must be between 1 and 250", "exceeds the maximum of 100"); no other number counts. */
const namedMaxima = (text: string, limit: number): readonly number[] => {
  const named =
    /(?:max\w*|at most|exceed(?:s|ing)?|up to|(?:no|not|not be|cannot be) (?:more|greater|larger|bigger|higher) than|less than(?: or equal to)?|between \d+ and|<=?)\D{0,24}?(\d{1,5})\b/g;
  return [...text.replaceAll(TAG, " ").matchAll(named)]
    .map((match) => Number(match[1]))
    .filter((value) => value >= 1 && value < limit);
};

/**
 * The shape to try after the service refused a request with 400 or 422; null when nothing is left to try.
 * Words in the answer are hints (which parameter, which maximum); without any, the page size is stepped down first,
 * then sorting, embedding and opt-in fields are given up, each from the largest page again. Each is tried with light
 * fields named and without: they are the first to be given up, and come back with the next try.
 */
export const shapeAfterRefusal = (
  shape: ListShape,
  refused: RefusedRequest,
  excerpt: string,
  options: { largest: number; elsewhere: number | null },
): ListShape | null => {
  const words = excerpt.toLowerCase();
  const blames = (pattern: RegExp) => pattern.test(words);
  if (refused.include && blames(/\binclude\b/)) return { ...shape, include: false };
  if (refused.sort && blames(/sort|order/)) return { ...shape, sort: false };
  if (refused.names && blames(/onlywithfields|field/)) return { ...shape, names: false };
  if (refused.content && blames(/onlywithfields|field/)) return { ...shape, content: false };
  const hinted = namedMaxima(words, refused.perPage);
  const ladder = SIZES.filter((size) => size < refused.perPage);
  const elsewhere =
    options.elsewhere !== null && options.elsewhere < refused.perPage && refused.perPage === options.largest
      ? options.elsewhere
      : undefined;
  const smaller = hinted.length > 0 ? Math.max(...hinted) : (elsewhere ?? ladder[0]);
  if (refused.names && hinted.length === 0 && elsewhere === undefined) return { ...shape, names: false };
  const next = { ...shape, names: true };
  if (smaller !== undefined) return { ...next, perPage: smaller };
  if (refused.sort) return { ...next, sort: false, perPage: options.largest };
  if (refused.include) return { ...next, include: false, perPage: options.largest };
  if (refused.content) return { ...next, content: false, perPage: options.largest };
  return null;
};
