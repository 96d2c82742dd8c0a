// Addresses of containers of Azure Blob Storage. PURE.

export interface AzurePlace {
  readonly container: string;
  /** Without a slash at either end; empty: the whole container. */
  readonly prefix: string;
  /** null: the address does not name the account. */
  readonly account: string | null;
  /** Address of the account's blobs, with the account; null: as `account`. */
  readonly endpoint: string | null;
}

export const AZURE_SCHEMES: readonly string[] = ["az", "azure", "abfss"];

const CONTAINER = /^(?:\$web|\$root|[a-z0-9](?:-?[a-z0-9]){2,62})$/;
const HADOOP = /^([^@/]+)@([a-z0-9]{3,24})\.dfs\.(core\.[a-z.]+)$/;

/**
 * `rest`: the address without its scheme: container/prefix, or container@account.dfs.core.windows.net/prefix as Hadoop and
 * Spark write it. A text: what is wrong with it.
 */
export const parseAzure = (scheme: string, rest: string): AzurePlace | string => {
  if (/[?#]/.test(rest)) return "the address ends before ?; a SAS token belongs into AZURE_STORAGE_SAS_TOKEN";
  const [first = "", ...path] = rest.split("/");
  const prefix = path.filter((name) => name !== "").join("/");
  const [, container = "", account = "", suffix = ""] = HADOOP.exec(first) ?? [];
  if (CONTAINER.test(container)) {
    return { container, prefix, account, endpoint: `https://${account}.blob.${suffix}` };
  }
  if (scheme === "abfss") return "write abfss://container@account.dfs.core.windows.net/prefix";
  if (CONTAINER.test(first)) return { container: first, prefix, account: null, endpoint: null };
  return `it names no container: write ${scheme}://container/prefix, with the account in \`account\` or AZURE_STORAGE_ACCOUNT`;
};

/** Address of a set as engines know it: of az:// they need the account, too. Others stay as they are. */
export const engineLocation = (url: string, account: string | null): string => {
  const [, container = "", path = ""] = /^az(?:ure)?:\/\/([^/@]+)(.*)$/.exec(url) ?? [];
  return container === "" || account === null ? url : `abfss://${container}@${account}.dfs.core.windows.net${path}`;
};

/** Address that Spark and Trino know a container's key by; outside Azure's cloud only its names. */
export const azureAddress = ({ container }: AzurePlace, blobs: string, key: string): string => {
  const [, account, suffix] = /^https:\/\/([a-z0-9]+)\.blob\.(core\.[a-z.]+)\/?$/.exec(blobs) ?? [];
  return account === undefined ? `az://${container}/${key}` : `abfss://${container}@${account}.dfs.${suffix}/${key}`;
};
