// Settings of a destination of kind ducklake.
import { z } from "zod";
import { duration, yesNo } from "../setting-parsers.ts";
import { answerTimeout, sharedParts, textLike } from "./destination-parts.ts";

export const ducklakeSettings = z.strictObject({
  ...sharedParts,
  kind: z.literal("ducklake"),
  /** Folder or s3:// address of the lake's files; unset: where the catalog says, or beside a new local catalog. */
  data_path: textLike("a path", /\S/).optional(),
  /** Schema of the tables; each mirror in one lake has its own. The analysts' views are in `marts` or `<schema>_marts`. */
  schema: textLike("the name of a schema", /^[A-Za-z]\w{0,62}$/).default("main"),
  /**
   * Name of this mirror's organization: its rows share the tables of the schema with those of other organizations, in a
   * column `organization`. Unset: the tables are this mirror's alone.
   */
  organization: textLike("a name of letters, digits, - and _", /^[A-Za-z0-9][\w-]{0,62}$/).optional(),
  /** Folder with files NAME.duckdb_extension; unset: DuckDB's own, where it installs them from the internet. */
  extension_directory: textLike("a folder", /\S/).optional(),
  /** The bucket's region; unset: AWS_REGION or AWS_DEFAULT_REGION. */
  region: textLike("a region", /^[\w-]+$/).optional(),
  /** Address of a service that speaks S3's protocol; unset: Amazon's. */
  endpoint: textLike("an http address", /^https?:\/\/\S+$/).optional(),
  /** The bucket is in the path of the address, not in its host name. */
  path_style: yesNo.optional(),
  /** How long the lake's earlier snapshots can be read, ms. */
  keep_snapshots: duration.prefault("7d"),
  /** Least time between two cleanings of the lake: small files merged, old snapshots and files removed, ms; 0: never. */
  maintain_every: duration.prefault("24h"),
  /** Longest time of one statement. */
  answer_timeout: answerTimeout("1h"),
});
