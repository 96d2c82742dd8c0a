// Azure's SDK, which is installed only where a destination needs it. Newer versions than these need Node 22.
import { loadPackages } from "./store-calls.ts";

const STORAGE = "@azure/storage-blob@12.32";
const IDENTITY = "@azure/identity@4.13.1";

const storage = () => import("@azure/storage-blob");
const identity = () => import("@azure/identity");
export type AzureStorage = Awaited<ReturnType<typeof storage>>;
type AzureIdentity = Awaited<ReturnType<typeof identity>>;

/** Throws DESTINATION_PACKAGE_MISSING. */
export const loadAzureStorage = (name: string, from: () => Promise<AzureStorage> = storage): Promise<AzureStorage> =>
  loadPackages(name, `${STORAGE} ${IDENTITY}`, from);

/** For credentials that are neither a key nor a SAS token. Throws DESTINATION_PACKAGE_MISSING. */
export const loadAzureIdentity = (
  name: string,
  from: () => Promise<AzureIdentity> = identity,
): Promise<AzureIdentity> => loadPackages(name, IDENTITY, from);
