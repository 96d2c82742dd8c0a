// Setting `destinations`: where the mirror is delivered to after each publish.
import { z } from "zod";
import { Secret } from "../../secret.ts";
import { duration, keptSnapshots, structure, yesNo } from "../setting-parsers.ts";
import { answerTimeout, oneOf, sharedParts, textLike } from "./secrets-in.ts";

// Settings of a destination of kind postgres.

const postgresSettings = z.strictObject({
  ...sharedParts,
  kind: z.literal("postgres"),
  /** Schema that holds the tables; made if there is none. */
  schema: textLike("the name of a schema", /^[^\0"]{1,63}$/).default("duckmirror"),
  /** Longest time of one statement; a COPY may take longer while it goes on. */
  answer_timeout: answerTimeout("1h"),
});

// Settings of a destination of kind parquet.

/** Settings of folders and object storage. */
const storeParts = {
  /** Longest time in which a request to object storage moves no byte; then it is sent again. */
  answer_timeout: answerTimeout("1m"),
  /** The bucket's region; unset: AWS_REGION or the AWS configuration. */
  region: textLike("a region", /^[\w-]+$/).optional(),
  /**
   * Address of a service that speaks S3's protocol, or of an account's blobs for az://; unset: Amazon's, Google's or
   * Azure's.
   */
  endpoint: textLike("an http address", /^https?:\/\/\S+$/).optional(),
  /** The bucket is in the path of the address, not in its host name. */
  path_style: yesNo.optional(),
  /** Storage account of an az:// address; unset: AZURE_STORAGE_ACCOUNT. */
  account: textLike("a storage account", /^[a-z0-9]{3,24}$/).optional(),
  /** Encryption at the service. */
  sse: oneOf(["AES256", "aws:kms"]).optional(),
  kms_key_id: textLike("the id of a key", /^\S+$/).optional(),
};

const NEEDS_KMS = { path: ["kms_key_id"], error: "needs sse: aws:kms" };
const hasItsKms = ({ sse, kms_key_id: key }: { readonly sse?: unknown; readonly kms_key_id?: unknown }): boolean =>
  key === undefined || sse === "aws:kms";

const parquetSettings = z
  .strictObject({
    ...sharedParts,
    kind: z.literal("parquet"),
    /** How long files of earlier sets stay, so that readers can finish, ms. */
    keep_old_parts: duration.prefault("24h"),
    ...storeParts,
  })
  .refine(hasItsKms, NEEDS_KMS);

// Settings of a destination of kind snapshot.

const snapshotSettings = z
  .strictObject({
    ...sharedParts,
    kind: z.literal("snapshot"),
    /** Snapshots that stay at the destination, the present one included. */
    keep_snapshots: keptSnapshots,
    ...storeParts,
  })
  .refine(hasItsKms, NEEDS_KMS)
  .refine(({ tables }) => tables.length === 0, { path: ["tables"], error: "a snapshot has every table" });

// Settings of a destination of kind ducklake.

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

const destinationSchema = z.discriminatedUnion(
  "kind",
  [postgresSettings, parquetSettings, snapshotSettings, ducklakeSettings],
  { error: "is no kind of destination: kind is postgres, parquet, snapshot or ducklake" },
);
type Written = z.output<typeof destinationSchema>;

/** A destination as configured: its own settings, and what all kinds have. */
type Resolved<T extends Written> = T extends Written
  ? Omit<T, "url" | "url_env"> & {
      /** Empty where `unset` says so. */
      readonly url: Secret;
      /** Variable of the environment that should hold the address and is not set; null: there is an address. */
      readonly unset: string | null;
      /** Absolute; relative paths in the address start here. */
      readonly folder: string;
    }
  : never;
export type DestinationSettings = Resolved<Written>;
export type DestinationKind = DestinationSettings["kind"];
/** Settings of one kind. */
export type SettingsOf<K extends DestinationKind> = Extract<DestinationSettings, { readonly kind: K }>;

/** `isTable`: whether the mirror has a table of this name. */
const listSchema = (isTable: (name: string) => boolean) =>
  z
    .array(destinationSchema, { error: "is a list of destinations, each with name, kind and url" })
    .superRefine((list, ctx) => {
      for (const [nth, { name, url, url_env: env, tables }] of list.entries()) {
        const issue = (message: string) => ctx.addIssue({ code: "custom", path: [nth], message });
        if (list.findIndex((other) => other.name === name) < nth) issue(`${name} is the name of two destinations`);
        if ((url === undefined) === (env === undefined)) issue(`${name} needs either url or url_env`);
        const wrong = tables.find((table) => !isTable(table));
        if (wrong !== undefined) issue(`${name}: ${JSON.stringify(wrong)} is not a table of the mirror`);
      }
    });

export const destinationsSetting = (isTable: (name: string) => boolean) =>
  structure(listSchema(isTable))
    .prefault([])
    .meta({
      description:
        "Where to deliver the mirror after each publish: a list of entries with name, kind (postgres, parquet, snapshot, ducklake), url and the settings of the kind.",
      examples: [[{ name: "crm", kind: "postgres", url: "postgres://mirror@db.example.com/crm", schema: "accounts" }]],
    });

/** The configured destinations with their addresses. One without is an error of its deliveries, not of other commands. */
export const resolveDestinations = (
  written: readonly Written[],
  env: Readonly<Record<string, string | undefined>>,
  folder: string,
): readonly DestinationSettings[] =>
  written.map((one): DestinationSettings => {
    const { url: own, url_env: variable = "", ...settings } = one;
    const url = own ?? env[variable]?.trim() ?? "";
    return { ...settings, url: new Secret(url), unset: url === "" ? variable : null, folder };
  });
