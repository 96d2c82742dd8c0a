// List form: page size, order, filters and embedded records with which a list route accepts requests, and what its answers showed of the route
// (fields that it returns or lacks, page sizes that failed, a window of its search). Chooses the first form and the one to try after a
// refusal, which costs nothing; the run stores the accepted form in sync.capabilities. Pure. Source: API.md, which shows no maximum perPage.
import { z } from "zod";
import type { EmbedSpec, StreamSpec } from "../../catalog/streams.ts";
import type { Proof } from "./coverage/read-types.ts";

export const listFormSchema = z.object({
  perPage: z.number().int().positive(),
  /** The service takes pages of that size only. */
  fixed: z.boolean(),
  /** The order of walks is sent. */
  sort: z.boolean(),
  /** The service sorts by the stream's change date. */
  changeOrder: z.boolean(),
  /** The service takes the stream's filter by change date. */
  changeFilter: z.boolean(),
  /** `include` is sent. */
  include: z.boolean(),
  /** Values of `include` that the service refused. */
  without: z.array(z.string()).readonly(),
  /** `onlyWithFields` with opt-in fields is sent. */
  content: z.boolean(),
  /** They are not sent in this run only, because the organization may not read them: its plan may change. */
  contentForbidden: z.boolean(),
  /** `onlyWithFields` is sent for light fields that the default response may lack. */
  names: z.boolean(),
  /** Filters of the setting `scope` are sent. */
  filters: z.boolean(),
  /** Optional fields that the list returns on request, and those that it does not (rows/granted-fields.ts). */
  grants: z.array(z.string()).readonly(),
  lacks: z.array(z.string()).readonly(),
  /** Values of `include` whose embedded records lack fields that the record's own route returns; null: not compared yet. */
  partial: z.array(z.string()).readonly().nullable(),
  /** What default responses hold, what only named fields bring (rows/granted-fields.ts). */
  inDefault: z.array(z.string()).readonly(),
  byName: z.array(z.string()).readonly(),
  namedInVain: z.number().int(),
  unknown: z.array(z.string()).readonly().nullable(),
  /** Heavy fields that every row of the list was read with. */
  walkedWith: z.array(z.string()).readonly(),
  /** A page was returned in this shape. */
  settled: z.boolean(),
  /** Pages of this size failed, and smaller ones are asked for since (smaller-pages.ts). */
  failed: z.object({ perPage: z.number(), at: z.number() }).nullable(),
  /** The list ends before its count (list/search-window.ts). */
  window: z.object({ rows: z.number(), walks: z.number(), notBefore: z.number(), spread: z.number() }).nullable(),
});
export type ListForm = z.infer<typeof listFormSchema>;

/** What joins the pages of a walk: growing ids, if the service takes the order by id; else only ids that two pages share. */
export const proofOf = ({ walkOrder }: StreamSpec, { sort }: Pick<ListForm, "sort">): Proof =>
  walkOrder?.grows === true && sort ? "descending" : "identity";

/** Page sizes to try, largest first. The last ones are below the documented default of 20. */
export const SIZES = [1000, 750, 500, 400, 300, 250, 200, 150, 100, 75, 50, 40, 30, 25, 20, 10, 5, 1];

export const initialForm = (perPage: number): ListForm => ({
  perPage,
  fixed: false,
  sort: true,
  changeOrder: true,
  changeFilter: true,
  include: true,
  without: [],
  content: true,
  contentForbidden: false,
  names: true,
  filters: true,
  grants: [],
  lacks: [],
  partial: null,
  inDefault: [],
  byName: [],
  namedInVain: 0,
  unknown: [],
  walkedWith: [],
  settled: false,
  failed: null,
  window: null,
});

/** Parts of the refused request; only these can be at fault. */
export interface RefusedRequest {
  readonly perPage: number;
  readonly sort: boolean;
  readonly include: boolean;
  /** Values of `include`. */
  readonly included?: readonly string[];
  readonly content: boolean;
  /** Light fields were named that were not configured. */
  readonly names: boolean;
  /** Fields were named that API.md does not know. */
  readonly unknown?: boolean;
  readonly filters: boolean;
  /** A page behind the first of a list whose shape the service accepted. */
  readonly later?: boolean;
}

/** Words of a service that returns no page behind some row: no other form of the request reaches there. */
const TOO_DEEP = /\bwindow\b|\boffset\b|\btoo (?:deep|far)\b|\bdeep pag/;

/** Tags of HTML: the `<h1>` of an error page is not "less than 1". */
const TAG = /<[a-z/!][^>]*>/g;

/**
 * Maxima named in an error text ("must be between 1 and 250", "exceeds the maximum of 100"); other numbers do not
 * count.
 */
const namedMaxima = (text: string, limit: number): readonly number[] => {
  const named =
    /(?:max\w*|at most|exceed(?:s|ing)?|up to|(?:no|not|not be|cannot be) (?:more|greater|larger|bigger|higher) than|less than(?: or equal to)?|between \d+ and|<=?)\D{0,24}?(\d{1,5})\b/g;
  return [...text.replaceAll(TAG, " ").matchAll(named)]
    .map((match) => Number(match[1]))
    .filter((value) => value >= 1 && value < limit);
};

/**
 * The shape with pages of one size, after a later page of another size was refused. The first page was accepted in this form, so the
 * size is tried first. null: the response blames something else, or that was tried.
 */
export const withFixedPages = (shape: ListForm, refused: RefusedRequest, excerpt: string): ListForm | null => {
  const words = excerpt.toLowerCase();
  const mayBeSize = refused.later === true && refused.perPage < shape.perPage && !shape.fixed;
  const blamesOther = TOO_DEEP.test(words) || namedMaxima(words, refused.perPage).length > 0;
  return mayBeSize && !blamesOther ? { ...shape, fixed: true } : null;
};

/**
 * The shape without one value of `include`: the one that the response names, or the last one of a single record; null:
 * the response names none, or all.
 */
const withLessIncluded = (shape: ListForm, { included = [], perPage }: RefusedRequest, words: string) => {
  const isNamed = (value: string) => new RegExp(`\\b${value.toLowerCase()}(?:limit)?\\b`).test(words);
  const named = included.filter(isNamed);
  const less = (values: readonly string[]): ListForm => ({ ...shape, without: [...shape.without, ...values] });
  const speaksOfIt = perPage === 0 || /\binclude/.test(words);
  if (speaksOfIt && named.length > 0 && named.length < included.length) return less(named);
  return perPage === 0 && included.length > 1 ? less(included.slice(-1)) : null;
};

/** The parts of a stream's records that a request embeds. */
export const embedsOf = (stream: StreamSpec, shape: Pick<ListForm, "include" | "without">): readonly EmbedSpec[] =>
  shape.include ? stream.embeds.filter((embed) => !shape.without.includes(embed.include)) : [];

/** The shape without the part of the request that the response names; null: it names none. */
const withoutNamed = (shape: ListForm, refused: RefusedRequest, words: string): ListForm | null => {
  if (refused.filters && /filter/.test(words)) return { ...shape, filters: false };
  const less = refused.include ? withLessIncluded(shape, refused, words) : null;
  if (less !== null) return less;
  const fields = /onlywithfields|field/;
  const parts = [
    { sent: refused.include, blamed: /\binclude\b/, without: { include: false } },
    { sent: refused.sort, blamed: /sort|order/, without: { sort: false } },
    { sent: refused.unknown, blamed: fields, without: { unknown: null } },
    { sent: refused.names, blamed: fields, without: { names: false } },
    { sent: refused.content, blamed: fields, without: { content: false } },
  ];
  const named = parts.find(({ sent, blamed }) => sent === true && blamed.test(words));
  return named === undefined ? null : { ...shape, ...named.without };
};

/** The shape without a further part, in the largest pages; null: none is left. */
const withoutNext = (shape: ListForm, refused: RefusedRequest, largest: number): ListForm | null => {
  const next = { ...shape, names: true, perPage: largest };
  if (refused.sort) return { ...next, sort: false };
  if (refused.include) return { ...next, include: false };
  if (refused.content) return { ...next, content: false };
  // What was given up so far was not at fault.
  return refused.filters ? { ...initialForm(largest), grants: shape.grants, filters: false } : null;
};

interface OtherSizes {
  readonly largest: number;
  /** The size that other lists are returned in; null: not known. */
  readonly elsewhere: number | null;
}

/**
 * The shape to try after a refusal with 400 or 422; null when none is left. Words in the response are hints
 * (parameter, maximum). Without hints, first smaller pages are tried, then no sorting, no embedding and no opt-in
 * fields, each from the largest page again. Each is tried with light fields named, then without.
 */
export const formAfterRefusal = (
  shape: ListForm,
  refused: RefusedRequest,
  excerpt: string,
  { largest, elsewhere }: OtherSizes,
): ListForm | null => {
  const words = excerpt.toLowerCase();
  if (refused.later === true && TOO_DEEP.test(words)) return null;
  const named = withoutNamed(shape, refused, words);
  if (named !== null) return named;
  const { perPage } = refused;
  const hinted = namedMaxima(words, perPage);
  if (hinted.length > 0) return { ...shape, names: true, perPage: Math.max(...hinted) };
  if (refused.unknown === true) return { ...shape, unknown: null };
  if (elsewhere !== null && elsewhere < perPage && perPage === largest)
    return { ...shape, names: true, perPage: elsewhere };
  if (refused.names) return { ...shape, names: false };
  const smaller = SIZES.find((size) => size < perPage);
  return smaller === undefined ? withoutNext(shape, refused, largest) : { ...shape, names: true, perPage: smaller };
};
