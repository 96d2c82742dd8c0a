// Setting `destinations`: where the mirror is delivered to after each publish.
import { z } from "zod";
import { Secret } from "../../secret.ts";
import { ducklakeSettings } from "./ducklake-settings.ts";
import { parquetSettings } from "./parquet-settings.ts";
import { postgresSettings } from "./postgres-settings.ts";

const destinationSchema = z.discriminatedUnion("kind", [postgresSettings, parquetSettings, ducklakeSettings], {
  error: "is no kind of destination: kind is postgres, parquet or ducklake",
});
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

const parsedText = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};

const listSchema = z
  .array(destinationSchema, { error: "is a list of destinations, each with name, kind and url" })
  .superRefine((list, ctx) => {
    for (const [nth, { name, url, url_env: env }] of list.entries()) {
      const issue = (message: string) => ctx.addIssue({ code: "custom", path: [nth], message });
      if (list.findIndex((other) => other.name === name) < nth) issue(`${name} is the name of two destinations`);
      if ((url === undefined) === (env === undefined)) issue(`${name} needs either url or url_env`);
    }
  });

/** A list in the file, or JSON in the environment. `known`: names of tables. */
export const destinationsSetting = (isTable: (name: string) => boolean) =>
  z
    .unknown()
    .transform((value, ctx): readonly Written[] => {
      const parsed = listSchema.safeParse(typeof value === "string" ? parsedText(value) : value);
      const problems = parsed.error?.issues.map(({ path, message }) => [...path, message].join(": ")) ?? [];
      for (const { name, tables } of parsed.data ?? []) {
        const wrong = tables.find((table) => !isTable(table));
        if (wrong !== undefined) problems.push(`${name}: ${JSON.stringify(wrong)} is not a table of the mirror`);
      }
      if (parsed.success && problems.length === 0) return parsed.data;
      for (const message of problems) ctx.addIssue({ code: "custom", message });
      return z.NEVER;
    })
    .prefault([])
    .meta({
      description:
        "Where to deliver the mirror after each publish: a list of entries with name, kind (postgres, parquet, ducklake), url and the settings of the kind.",
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
