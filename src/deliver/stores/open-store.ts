// The store of an address: a folder, `s3://bucket/prefix` or `gs://bucket/prefix`.
import { isAbsolute, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { DuckmirrorError } from "../../core/errors.ts";
import { folderStore } from "./folder-store.ts";
import type { ObjectStore } from "./object-store.ts";
import { type BucketPlace, type BucketSettings, s3Store } from "./s3-store.ts";

export type StorePlace = { readonly folder: string } | BucketPlace;

/** `baseDir`: what a relative folder is relative to; `name`: the destination. Throws CONFIG_INVALID. */
export const parsePlace = (url: string, baseDir: string, name: string): StorePlace => {
  const refuse = (detail: string) =>
    new DuckmirrorError("CONFIG_INVALID", { detail: `destinations: ${name}: ${detail}` });
  const [, scheme = "", rest = ""] = /^([a-z][a-z0-9+.-]+):\/\/(.*)$/i.exec(url) ?? [];
  if (scheme === "") return { folder: isAbsolute(url) ? url : resolve(baseDir, url) };
  if (scheme === "file") return { folder: fileURLToPath(url) };
  if (scheme === "az" || scheme === "azure" || scheme === "abfss") {
    throw refuse(`${scheme}:// is not supported yet: use s3://, gs:// or a folder`);
  }
  if (scheme !== "s3" && scheme !== "gs")
    throw refuse(`${url}: write s3://bucket/prefix, gs://bucket/prefix or a folder`);
  const [bucket = "", ...path] = rest.split("/");
  if (!/^[a-z0-9][a-z0-9._-]+$/i.test(bucket)) throw refuse(`${url} names no bucket: write ${scheme}://bucket/prefix`);
  return { scheme, bucket, prefix: path.filter((name) => name !== "").join("/") };
};

/** Opens the store; sends nothing yet. Throws DESTINATION_PACKAGE_MISSING. */
export const openStore = async (name: string, place: StorePlace, settings: BucketSettings): Promise<ObjectStore> =>
  "folder" in place ? folderStore(name, place.folder) : s3Store(name, place, settings);
