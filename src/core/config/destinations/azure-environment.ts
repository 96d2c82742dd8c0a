// Variables of the environment for az:// addresses, named as Azure's command line names them. Those of a service principal or
// a managed identity (AZURE_CLIENT_ID and the like) are read by Azure's SDK itself.
import { Secret } from "../../secret.ts";
import { secretsIn } from "./secrets-in.ts";

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
