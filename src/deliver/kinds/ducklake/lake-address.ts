// Parses the address of a lake: its catalog, its files, and the extensions of DuckDB that reach them. PURE.
import { resolve } from "node:path";
import type { SettingsOf } from "../../../core/config/destinations/destination-settings.ts";
import { DuckmirrorError } from "../../../core/errors.ts";
import { literal } from "../../../core/text/sql-text.ts";
import type { ObjectStore } from "../../../warehouse/duckdb/extended/messages.ts";

/** Name under which the lake is attached. */
export const LAKE = "lake";

export interface LakeAddress {
  /** Statement that attaches the lake, and makes it where there is none. */
  readonly attachSql: string;
  /** Statement that attaches the lake for reading. */
  readonly readSql: string;
  /** In the order in which they must be loaded. */
  readonly extensions: readonly string[];
  readonly objectStore: ObjectStore | null;
  /** Catalog file on this machine; null: a server. */
  readonly catalogFile: string | null;
}

interface Catalog {
  readonly text: string;
  readonly extensions: readonly string[];
  readonly file: string | null;
}

const catalogOf = (url: string, folder: string, name: string): Catalog => {
  const [, type = "", rest = ""] = /^ducklake:(?:(sqlite|postgres|duckdb):)?(.+)$/s.exec(url) ?? [];
  if (rest === "") {
    const detail = `destinations: ${name}: url is not ducklake:sqlite:PATH, ducklake:PATH or ducklake:postgres:CONNECTION`;
    throw new DuckmirrorError("CONFIG_INVALID", { detail });
  }
  if (type === "postgres") return { text: `ducklake:postgres:${rest}`, extensions: ["postgres_scanner"], file: null };
  const file = resolve(folder, rest);
  const sqlite = type === "sqlite";
  return { text: `ducklake:${sqlite ? "sqlite:" : ""}${file}`, extensions: sqlite ? ["sqlite_scanner"] : [], file };
};

/** `exists`: whether a local catalog is there. Throws CONFIG_INVALID. */
export const lakeAddress = (settings: SettingsOf<"ducklake">, exists: (file: string) => boolean): LakeAddress => {
  const { url, folder, name, data_path: dataPath, region, endpoint, path_style: pathStyle } = settings;
  const catalog = catalogOf(url.reveal(), folder, name);
  const isRemote = dataPath !== undefined && /^s3:\/\//i.test(dataPath);
  const beside = catalog.file === null || exists(catalog.file) ? null : `${catalog.file}.files`;
  const files = dataPath === undefined ? beside : isRemote ? dataPath : resolve(folder, dataPath);
  // Values of small changes go to Parquet too: rows in the catalog would outlive the erasure of a person.
  const options = ["DATA_INLINING_ROW_LIMIT 0", ...(files === null ? [] : [`DATA_PATH ${literal(files)}`])];
  return {
    attachSql: `ATTACH ${literal(catalog.text)} AS ${LAKE} (${options.join(", ")})`,
    readSql: `ATTACH ${literal(catalog.text)} AS ${LAKE} (READ_ONLY)`,
    extensions: ["ducklake", ...catalog.extensions, ...(isRemote ? ["httpfs"] : [])],
    objectStore: isRemote ? { region, endpoint, pathStyle } : null,
    catalogFile: catalog.file,
  };
};

/** How the process that reaches the lake is opened. */
export const openingOf = (
  { folder, extension_directory: extensionFolder }: SettingsOf<"ducklake">,
  { extensions, objectStore }: LakeAddress,
  memoryLimit: string,
) => ({
  memoryLimit,
  extensions,
  ...(extensionFolder === undefined ? {} : { extensionDirectory: resolve(folder, extensionFolder) }),
  ...(objectStore === null ? {} : { objectStore }),
});
