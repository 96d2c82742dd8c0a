// Opens the store of an address: a folder, `s3://bucket/prefix`, `gs://bucket/prefix` or `az://container/prefix`.
import { isAbsolute, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { SettingsOf } from "../../core/config/destinations/destination-settings.ts";
import type { AzureEnvironment } from "../../core/config/destinations/secrets-in.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import type { AzureSettings } from "./azure-client.ts";
import { AZURE_SCHEMES, type AzurePlace, parseAzure } from "./azure-client.ts";
import { azureStore } from "./azure-store.ts";
import { folderStore } from "./folder-store.ts";
import type { ObjectStore } from "./object-store.ts";
import { type BucketPlace, type BucketSettings, s3Store } from "./s3-store.ts";

export type StorePlace = { readonly folder: string } | BucketPlace | AzurePlace;

/** Settings of all stores; each takes its own. */
export interface StoreSettings extends BucketSettings, AzureSettings {
  /** Nobody else may read what is written to a folder. */
  readonly ownerOnly?: boolean;
}

const invalid = (name: string, detail: string): DuckmirrorError =>
  new DuckmirrorError("CONFIG_INVALID", { detail: `destinations: ${name}: ${detail}` });

/** `baseDir`: what a relative folder is relative to; `name`: the destination. Throws CONFIG_INVALID. */
export const parsePlace = (url: string, baseDir: string, name: string): StorePlace => {
  const [, scheme = "", rest = ""] = /^([a-z][a-z0-9+.-]+):\/\/(.*)$/i.exec(url) ?? [];
  if (scheme === "") return { folder: isAbsolute(url) ? url : resolve(baseDir, url) };
  if (scheme === "file") return { folder: fileURLToPath(url) };
  if (AZURE_SCHEMES.includes(scheme)) {
    const place = parseAzure(scheme, rest);
    if (typeof place === "string") throw invalid(name, place);
    return place;
  }
  if (scheme !== "s3" && scheme !== "gs")
    throw invalid(name, `${url}: write s3://bucket/prefix, gs://bucket/prefix, az://container/prefix or a folder`);
  const [bucket = "", ...path] = rest.split("/");
  if (!/^[a-z0-9][a-z0-9._-]+$/i.test(bucket))
    throw invalid(name, `${url} names no bucket: write ${scheme}://bucket/prefix`);
  return { scheme, bucket, prefix: path.filter((part) => part !== "").join("/") };
};

/** Names, as written, of settings that the store of this place does not know. */
const foreignSettings = (place: StorePlace, settings: StoreSettings): readonly string[] => {
  const { account, region, pathStyle, sse, kmsKeyId } = settings;
  const named = "container" in place ? { region, path_style: pathStyle, sse, kms_key_id: kmsKeyId } : { account };
  return Object.entries(named).flatMap(([name, value]) => (value === undefined ? [] : [name]));
};

/** Opens the store; sends nothing yet. Throws DESTINATION_PACKAGE_MISSING, CONFIG_INVALID. */
export const openStore = async (name: string, place: StorePlace, settings: StoreSettings): Promise<ObjectStore> => {
  if ("folder" in place) return folderStore(name, place.folder, settings.ownerOnly);
  const foreign = foreignSettings(place, settings);
  if (foreign.length > 0) {
    const owner = "container" in place ? "s3:// and gs://" : "az://";
    throw invalid(name, `${foreign.join(", ")}: only for ${owner}`);
  }
  return "container" in place ? azureStore(name, place, settings) : s3Store(name, place, settings);
};

/** Settings of a destination that is a folder or in object storage. */
type StoredDestination = SettingsOf<"parquet" | "snapshot">;

/** Opens the store of a destination; sends nothing yet. Throws DESTINATION_PACKAGE_MISSING, CONFIG_INVALID. */
export const storeOf = (settings: StoredDestination, azure: AzureEnvironment): Promise<ObjectStore> => {
  const { name, url, folder, account, region, endpoint, path_style: pathStyle, sse, kms_key_id: kmsKeyId } = settings;
  const { answer_timeout: answerMs } = settings;
  const place = parsePlace(url.reveal(), folder, name);
  return openStore(name, place, { account, region, endpoint, pathStyle, sse, kmsKeyId, azure, answerMs });
};
