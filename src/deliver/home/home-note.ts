// The file home.json of a mirror's home: which worker has taken the mirror, and which pieces its files are made of. It is replaced on
// condition, so that of two workers that both believe they have the mirror, one is refused. PURE.
import { join } from "node:path";
import { z } from "zod";

export const NOTE = "home.json";
/** The most that a piece holds: a block of DuckDB. */
export const PIECE_BYTES = 256 * 1024;

const packSchema = z.object({ key: z.string().regex(/^packs\/[\w-]+$/), bytes: z.int().nonnegative() });
export type Pack = z.output<typeof packSchema>;

/** Where a piece lies: the pack by its place in the list, then start and length in it. */
const placeSchema = z.tuple([z.int().nonnegative(), z.int().nonnegative(), z.int().positive()]);
export type PiecePlace = z.output<typeof placeSchema>;

const noteSchema = z.object({
  v: z.literal(1),
  /** Id of the mirror's history (state/history-id). */
  mirror: z.string(),
  /** Fencing number: one more with each worker that takes the mirror from another. */
  fence: z.int().positive(),
  /** Data directory that has the mirror. */
  holder: z.string(),
  /** Id of the state that is kept; null: none yet. */
  state: z.string().nullable(),
  /** When it was kept, by the holder's clock, ms since the epoch. */
  at: z.number(),
  packs: z.array(packSchema),
  /** Piece → where it is. */
  pieces: z.record(z.string(), placeSchema),
  /** File of `state/` → its pieces, in order. */
  files: z.record(z.string(), z.array(z.string())),
});
export type HomeNote = z.output<typeof noteSchema>;

/** A note as read; null: it is none. */
export const parseNote = (value: unknown): HomeNote | null => noteSchema.safeParse(value).data ?? null;

const localSchema = z.object({
  v: z.literal(1),
  url: z.string(),
  fence: z.int().nonnegative(),
  /** The state that this data directory has or goes on from; null: none, it is to be fetched. */
  state: z.string().nullable(),
  /** One that was on its way to the home when this was written. */
  pending: z.string().nullable(),
  /** When the home got its state from here, ms since the epoch; null: never. */
  at: z.number().nullable(),
  /**
   * `fetching`: the home's state is being put in place. `ahead`: what is here did not come from a home, or a job without one
   * wrote since. Unset: only the sync that ran may be here and not there.
   */
  unsure: z.enum(["fetching", "ahead"]).optional(),
});
/** What a data directory knows of its home: state/home.json. */
export type LocalNote = z.output<typeof localSchema>;
export const localFile = (state: string) => ({ path: join(state, NOTE), schema: localSchema });

export const firstNote = (mirror: string, holder: string, now: number): HomeNote => ({
  v: 1,
  mirror,
  fence: 1,
  holder,
  state: null,
  at: now,
  packs: [],
  pieces: {},
  files: {},
});

/** The note after `holder` has taken the mirror. */
export const takenBy = (note: HomeNote, holder: string): HomeNote => ({ ...note, fence: note.fence + 1, holder });

/** True if the data directory has the home's state, or goes on from it. */
export const isPresent = ({ state }: HomeNote, local: LocalNote): boolean =>
  state === null || state === local.state || state === local.pending;

/**
 * True if the data directory holds more that the home lacks than one sync, so that its state must not take the place of what is here.
 * `local` null: no home ever had what is here. `url`: address of the home.
 */
export const isAhead = (note: HomeNote, local: LocalNote | null, url: string): boolean => {
  if (local === null) return true;
  if (local.unsure !== undefined) return local.unsure === "ahead";
  // Kept in another home since this one was last written. The clocks of workers at one home may differ, so `at` decides only here.
  return local.url !== url && note.at < (local.at ?? 0);
};

/**
 * What a data directory knows that has taken the mirror and goes on from what it has. A home without a state lacks what is here, unless
 * that began with this home.
 */
export const enteredBy = (
  { fence, state }: HomeNote,
  local: LocalNote | null,
  { url, holdsMirror }: { readonly url: string; readonly holdsMirror: boolean },
): LocalNote => {
  const beganHere = local?.url === url && local.state === null;
  const ahead = local?.unsure === "ahead" || (state === null && holdsMirror && !beganHere);
  return { v: 1, url, fence, state, pending: null, at: local?.at ?? null, ...(ahead ? { unsure: "ahead" } : {}) };
};

/** Packs after which everything is sent anew as one. */
const MOST_PACKS = 24;
/** Bytes of packs that no file needs, which are left alone. */
const DEAD_BYTES = 1024 * 1024;

const liveBytes = ({ pieces }: HomeNote): number =>
  Object.values(pieces).reduce((sum, [, , length]) => sum + length, 0);

/** The most that its files can take on a disk, in bytes. */
export const mostBytes = ({ files }: HomeNote): number => Object.values(files).flat().length * PIECE_BYTES;

/** True where every piece goes into a new pack: the others hold mostly what no file needs, or someone was erased. */
export const isAnew = (note: HomeNote, files: HomeNote["files"], erased: string): boolean => {
  const all = note.packs.reduce((sum, { bytes }) => sum + bytes, 0);
  const isFull = note.packs.length >= MOST_PACKS || all > 2 * liveBytes(note) + DEAD_BYTES;
  return isFull || String(note.files[erased] ?? "") !== String(files[erased] ?? "");
};

/** The note with these files, whose new pieces are in `pack`. Packs without a piece that is needed are dropped. */
export const withFiles = (
  note: HomeNote,
  files: HomeNote["files"],
  { pack, places, isAnew: anew }: { pack: Pack | null; places: ReadonlyMap<string, PiecePlace>; isAnew: boolean },
): Pick<HomeNote, "packs" | "pieces" | "files"> => {
  const all = [...note.packs, ...(pack === null ? [] : [pack])];
  const pieces: Record<string, PiecePlace> = {};
  for (const piece of new Set(Object.values(files).flat())) {
    const fresh = places.get(piece);
    const place =
      fresh === undefined ? (anew ? undefined : note.pieces[piece]) : ([all.length - 1, fresh[1], fresh[2]] as const);
    if (place === undefined) throw new Error(`the piece ${piece} is in no pack`);
    pieces[piece] = [...place];
  }
  const used = all.map((_, nth) => Object.values(pieces).some(([at]) => at === nth));
  const moved = (nth: number) => used.slice(0, nth).filter(Boolean).length;
  return {
    packs: all.filter((_, nth) => used[nth]),
    pieces: Object.fromEntries(
      Object.entries(pieces).map(([piece, [nth, start, length]]) => [piece, [moved(nth), start, length]]),
    ),
    files,
  };
};
