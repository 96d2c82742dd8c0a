// Secrets that are part of an address or of a connection string. PURE.
import { HIDDEN, Secret } from "../../secret.ts";

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
