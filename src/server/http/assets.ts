// Loads the files of the page into memory at start and sends them. Serves only files that the folder held at start.
import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { FastifyReply, FastifyRequest } from "fastify";
import { listProgram, programFile, readProgram } from "../../core/program-files.ts";
import { notFound } from "./refusals.ts";

// Whether a client has an answer already, by the tags it names in If-None-Match.

/** A tag without its mark as a weak one: a proxy that compresses an answer adds it. */
const bare = (tag: string): string => tag.trim().replace(/^W\//, "");

/** Compares tags as RFC 9110, section 13.1.2 says. `*` names no answer: what it asks for may not exist. */
export const isKnown = (header: string | undefined, etag: string): boolean =>
  header?.split(",").some((tag) => bare(tag) === bare(etag)) ?? false;

const gzipBytes = promisify(gzip);

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
  png: "image/png",
  ico: "image/x-icon",
  json: "application/json; charset=utf-8",
};

export interface Asset {
  readonly type: string;
  readonly etag: string;
  readonly bytes: Buffer;
  /** Compressed on first request. */
  gzipped(): Promise<Buffer>;
}

const assetOf = (file: URL, type: string): Asset => {
  const bytes = readProgram(file);
  let zipped: Promise<Buffer> | undefined;
  return {
    type,
    bytes,
    etag: `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`,
    gzipped: () => {
      zipped ??= gzipBytes(bytes);
      return zipped;
    },
  };
};

/** Files of a page by name below its folder, e.g. `page.css`. */
export const readAssets = (folder = programFile("src/server/page/")): ReadonlyMap<string, Asset> => {
  const assets = new Map<string, Asset>();
  for (const path of listProgram(folder)) {
    const type = TYPES[path.split(".").at(-1) ?? ""];
    const file = new URL(path, folder);
    if (type !== undefined && statSync(file).isFile()) assets.set(path, assetOf(file, type));
  }
  return assets;
};

/** Sends the file, or 304 if the browser has it. Throws a 404 refusal. */
export const sendAsset = async (request: FastifyRequest, reply: FastifyReply, asset: Asset | undefined) => {
  if (asset === undefined) throw notFound("such file");
  reply.headers({ etag: asset.etag, "cache-control": "no-cache", vary: "accept-encoding" });
  if (isKnown(request.headers["if-none-match"], asset.etag)) return reply.code(304).send();
  reply.header("content-type", asset.type);
  if (!/\bgzip\b/.test(String(request.headers["accept-encoding"] ?? "")) || asset.bytes.length < 1024) {
    return reply.send(asset.bytes);
  }
  return reply.header("content-encoding", "gzip").send(await asset.gzipped());
};
