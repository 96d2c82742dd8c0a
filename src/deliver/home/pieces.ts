// Cuts the mirror's files into pieces along DuckDB's blocks, writes new pieces to compressed packs for the home, and joins them to files
// again. After a sync most blocks are unchanged, so that a pack has few of them.
import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { promisify } from "node:util";
import { constants, deflateRaw, inflateRaw } from "node:zlib";
import { createDurably, createOwn, openOwn } from "../../core/files/own-files.ts";
import { PIECE_BYTES, type PiecePlace } from "./home-note.ts";

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);

/** A DuckDB file begins with three headers; blocks follow. */
const HEADER_BYTES = 3 * 4096;

const nameOf = (piece: Buffer): string => createHash("sha256").update(piece).digest("base64url").slice(0, 24);

/** Where a piece is in a local file. */
export interface LocalPiece {
  readonly file: string;
  readonly start: number;
  readonly length: number;
}

const readAt = async (file: FileHandle, start: number, length: number): Promise<Buffer> => {
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await file.read(buffer, 0, length, start);
  return buffer.subarray(0, bytesRead);
};

/** The pieces of a file that nobody writes to, in order; `into` gets where each is. */
export const cutFile = async (path: string, into: Map<string, LocalPiece>): Promise<string[]> => {
  const file = await openOwn(path);
  const pieces: string[] = [];
  try {
    for (let start = 0; ; ) {
      const piece = await readAt(file, start, start === 0 ? HEADER_BYTES : PIECE_BYTES);
      if (piece.length === 0) return pieces;
      const name = nameOf(piece);
      pieces.push(name);
      if (!into.has(name)) into.set(name, { file: path, start, length: piece.length });
      start += piece.length;
    }
  } finally {
    await file.close();
  }
};

/** Open files by path, closed together. */
const withFiles = async <T>(work: (open: (path: string) => Promise<FileHandle>) => Promise<T>): Promise<T> => {
  const opened = new Map<string, FileHandle>();
  try {
    return await work(async (path) => {
      const known = opened.get(path) ?? (await openOwn(path));
      opened.set(path, known);
      return known;
    });
  } finally {
    for (const file of opened.values()) await file.close();
  }
};

export interface WrittenPack {
  readonly bytes: number;
  readonly sha256: string;
  /** Pack 0: the place of this pack in a note is not known yet. */
  readonly places: ReadonlyMap<string, PiecePlace>;
}

/** Writes these pieces as a pack to `path`, which must not exist. */
export const writePack = (
  path: string,
  wanted: readonly string[],
  pieces: ReadonlyMap<string, LocalPiece>,
): Promise<WrittenPack> =>
  withFiles(async (open) => {
    const pack = await createOwn(path);
    const hash = createHash("sha256");
    const places = new Map<string, PiecePlace>();
    let bytes = 0;
    try {
      for (const name of wanted) {
        const piece = pieces.get(name);
        if (piece === undefined) throw new Error(`the piece ${name} is in no file`);
        const body = await deflate(await readAt(await open(piece.file), piece.start, piece.length), {
          level: constants.Z_BEST_SPEED,
        });
        await pack.writeFile(body);
        hash.update(body);
        places.set(name, [0, bytes, body.length]);
        bytes += body.length;
      }
    } finally {
      await pack.close();
    }
    return { bytes, sha256: hash.digest("hex"), places };
  });

/** A piece of a pack; null: it is damaged. */
const unpack = async (pack: FileHandle, [, start, length]: PiecePlace): Promise<Buffer | null> =>
  inflate(await readAt(pack, start, length), { maxOutputLength: PIECE_BYTES }).catch(() => null);

/**
 * Writes a file of its pieces, each from a local file or from a pack. Returns the name of a piece that is not what it should be;
 * null: the file is whole.
 */
export const joinFile = (
  path: string,
  pieces: readonly string[],
  {
    local,
    packed,
  }: {
    readonly local: ReadonlyMap<string, LocalPiece>;
    /** Path of its pack, and where it is there. */
    readonly packed: (piece: string) => { readonly pack: string; readonly place: PiecePlace } | null;
  },
): Promise<string | null> =>
  withFiles(async (open) => {
    let wrong: string | null = null;
    await createDurably(path, async (file) => {
      for (const name of pieces) {
        const here = local.get(name);
        const there = packed(name);
        const piece =
          here !== undefined
            ? await readAt(await open(here.file), here.start, here.length)
            : there === null
              ? null
              : await unpack(await open(there.pack), there.place);
        if (piece === null || nameOf(piece) !== name) {
          wrong = name;
          return;
        }
        // Unlike `write`, it fails where the disk takes only the first bytes.
        await file.writeFile(piece);
      }
    });
    return wrong;
  });
