// Job accounts: mirrors the accounts, with the owners and companies embedded in them.
import { familyJob } from "./family.ts";

export const accountsJob = familyJob("accounts", ["accounts"]);
