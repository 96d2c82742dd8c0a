// How this process appears in the register of the fleet.
import { hostname } from "node:os";
import type { MemberIdentity } from "../../core/report/fleet.ts";

export const identityOf = (version: string): MemberIdentity => ({
  version,
  host: hostname(),
  pid: process.pid,
});
