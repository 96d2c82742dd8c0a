// Parts that several kinds of destinations share in the configuration: schemas of their settings, Azure's environment variables, and the
// search for secrets inside an address or a connection string, which messages must not show. PURE.

import { z } from "zod";
import { HIDDEN, Secret } from "../../secret.ts";
import { duration, plainText, shown, textList } from "../setting-parsers.ts";

// Parts that the settings of every kind of destination share: name, address, tables, and parsers of texts. PURE.

/** A text that matches; `expected` completes "is not …". */
export const textLike = (expected: string, pattern: RegExp) =>
  plainText.superRefine((value, ctx) => {
    if (!pattern.test(value)) ctx.addIssue({ code: "custom", message: `${shown(value)} is not ${expected}` });
  });

/** One of these texts. */
export const oneOf = <const T extends readonly [string, ...string[]]>(values: T) =>
  plainText.pipe(z.enum(values, { error: `is not one of ${values.join(", ")}` }));

const [LEAST_WAIT_MS, MOST_WAIT_MS] = [1_000, 86_400_000];

/** How long a destination may give no sign of life until its delivery fails, ms. */
export const answerTimeout = (usual: string) =>
  duration
    .refine((ms) => ms >= LEAST_WAIT_MS && ms <= MOST_WAIT_MS, { error: "is not between 1s and 24h" })
    .prefault(usual);

/** Members of the settings of a kind: spread them into its object. */
export const sharedParts = {
  /** Unique; names the destination in commands, messages and jobs. */
  name: textLike("a name of letters, digits, - and _", /^[A-Za-z0-9][\w-]{0,62}$/),
  /** Where it is; its user names, passwords and keys are never shown. */
  url: textLike("an address", /\S/).optional(),
  /** Environment variable that holds the address. */
  url_env: textLike("the name of an environment variable", /^[A-Za-z_]\w*$/).optional(),
  /** Tables of the mirror to deliver; empty: all. */
  tables: textList.default([]),
};

// Variables of the environment for az:// addresses, named as Azure's command line names them. Those of a service principal or
// a managed identity (AZURE_CLIENT_ID and the like) are read by Azure's SDK itself.

export interface AzureEnvironment {
  readonly account: string | null;
  readonly connectionString: Secret | null;
  readonly key: Secret | null;
  readonly sasToken: Secret | null;
}

export const azureEnvironment = (env: Readonly<Record<string, string | undefined>>): AzureEnvironment => {
  const text = (name: string) => env[`AZURE_STORAGE_${name}`]?.trim() || null;
  const secret = (name: string) => {
    const value = text(name);
    return value === null ? null : new Secret(value);
  };
  return {
    account: text("ACCOUNT"),
    connectionString: secret("CONNECTION_STRING"),
    key: secret("KEY"),
    sasToken: secret("SAS_TOKEN"),
  };
};

/** Texts that no line may hold. */
export const azureSecrets = ({ connectionString, key, sasToken }: AzureEnvironment): readonly string[] =>
  [connectionString, key, sasToken].flatMap((secret) => {
    const value = secret?.reveal();
    return value === undefined ? [] : [value, ...secretsIn(value)];
  });

const NAMED_SECRET = /(?:password|passwd|secret|token|key|signature|sig)\w*\s*=\s*('[^']*'|"[^"]*"|[^\s&;,'"]+)/gi;

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** Parts of an address that must not be shown: its password, and values of parameters that are named like secrets. */
export const secretsIn = (url: string): readonly string[] => {
  const [, password = ""] = /:\/\/[^/?#\s]*?:([^/?#\s]*)@/.exec(url) ?? [];
  const named = [...url.matchAll(NAMED_SECRET)].map(([, value = ""]) => value.replace(/^(['"])(.*)\1$/, "$2"));
  return [password, ...named].filter((text) => text !== "").flatMap((text) => [...new Set([text, decoded(text)])]);
};

/** The address as it may be shown. */
export const withoutSecrets = (url: string): string =>
  secretsIn(url).reduce((text, secret) => text.replaceAll(secret, HIDDEN), url);
