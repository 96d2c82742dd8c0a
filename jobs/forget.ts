// Job forget: erases contacts from all of duckmirror's files and keeps later syncs from storing them. Sends nothing,
// needs no token.
import type { Clock } from "../src/core/clock.ts";
import type { Config } from "../src/core/config/config.ts";
import { DuckmirrorError } from "../src/core/errors.ts";
import type { ProgressSink } from "../src/core/report/sync-progress.ts";
import { createForgetBodies } from "../src/sync/recovery/forget-bodies.ts";
import { type ForgetReport, type ForgetStep, forgetContacts } from "../src/warehouse/forget/forget.ts";
import { hasherOf } from "./engine.ts";
import { enterHome, homeOf } from "./home.ts";

export interface ForgetJobRequest {
  /** Ids or e-mail addresses; empty: finish an interrupted erasure only. */
  readonly contacts: readonly string[];
  /** Erase everyone with a matching address. */
  readonly all: boolean;
  /** Absolute paths of export folders that the data directory does not know. */
  readonly exportDirs: readonly string[];
}

const STEPS: Readonly<Record<ForgetStep, string>> = {
  listed: "found, and on the list that keeps syncs from storing them",
  archive: "archive cleaned",
  tables: "tables cleaned",
  rewritten: "working database rewritten",
  published: "snapshot published",
  exports: "exports brought up to date",
  scanned: "every file searched",
};

const isAddress = (text: string) => text.includes("@");

/** Erases contacts. Throws the errors of `forgetContacts`, CONFIG_INVALID, and USAGE for an empty id. */
export const forgetJob = async (
  config: Config,
  { contacts, all, exportDirs }: ForgetJobRequest,
  context: { readonly clock: Clock; readonly emit: ProgressSink },
): Promise<ForgetReport> => {
  // An empty text occurs everywhere: that of a script whose variable is empty.
  if (contacts.some((contact) => contact.trim() === "")) {
    throw new DuckmirrorError("USAGE", { detail: "a contact's id or e-mail address is empty" });
  }
  const addresses = contacts.filter(isAddress);
  await enterHome(config, context.clock);
  const hashOf = await hasherOf(config);
  // An address may be stored as a hash of its received form; try the typed and the lower-case form.
  const forms = addresses.flatMap((address) => [address, address.toLowerCase()]);
  const hashed = hashOf === null ? [] : forms.map((address) => `hmac-sha256:${hashOf(address)}`);
  return forgetContacts(
    { dataDir: config.dataDir, clock: context.clock, memory: config.memory, home: homeOf(config, context.clock) },
    {
      ids: contacts.filter((contact) => !isAddress(contact)),
      emails: [...new Set([...addresses, ...hashed])],
      all,
      exportDirs,
      bodies: createForgetBodies,
      onStep: (step) => context.emit({ kind: "note", level: "info", text: STEPS[step] }),
    },
  );
};
