// duckmirror forget: erases contacts from every file, keeps later syncs from storing them, and reports the search for
// remains.
import { resolve } from "node:path";
import { z } from "zod";
import { forgetJob } from "../../../../jobs/forget.ts";
import { EXIT } from "../../../core/errors.ts";
import { counted, formatBytes } from "../../../core/text/units.ts";
import type { ForgetReport } from "../../../warehouse/forget/forget.ts";
import type { Hit } from "../../../warehouse/forget/scan.ts";
import { audited } from "../../audited.ts";
import { anyArguments, type CommandContext, defineCommand, flag, optionOf, usage } from "../../command.ts";

const inputSchema = z.object({
  args: anyArguments,
  all: flag("forget every contact that has the e-mail address"),
  resume: flag("finish an erasure that was interrupted"),
  exportDir: optionOf(z.array(z.string()).default([]), {
    value: "<dir...>",
    summary: "folders to which you copied or moved exports: clean these, too",
  }),
  yes: flag("do not ask"),
});
type Input = z.output<typeof inputSchema>;

/** Contract of `forget --json`. */
const toJson = (
  { hashes, erased, rows, archiveFiles, exports, missing, removed, scan }: ForgetReport,
  destinations: readonly string[],
) => ({
  /** Contacts of whom anything was mirrored. */
  contacts: erased,
  /** Contacts that later syncs skip, with those that were never mirrored. */
  kept_out: hashes.length,
  hashes,
  rows: { current: rows.current, history: rows.versions, rejects: rows.rejects },
  archive_files: archiveFiles,
  exports,
  /** Folders of exports that are not there now, and were not cleaned. */
  exports_missing: missing,
  removed_files: removed,
  /** Destinations from which the next delivery removes the contacts. */
  destinations_to_deliver: destinations,
  scan,
});

/** Most hashes in a line of the audit trail; state/archive/forgotten.json has all of them. */
const MOST_HASHES = 10;

/** The contacts by their keyed hashes only. */
const auditResult = ({ hashes, rows }: ForgetReport) => {
  const more = hashes.length - MOST_HASHES;
  const subject = hashes.slice(0, MOST_HASHES).join(",");
  return {
    subject: more > 0 ? `${subject} and ${more} more` : subject,
    rows: rows.current + rows.versions + rows.rejects,
  };
};

const KINDS: Readonly<Record<Hit["kind"], string>> = {
  id: "the id",
  email: "the e-mail address",
  phone: "the phone number",
  address: "a profile address",
  name: "the name",
};

const mention = ({ file, table, kind, times }: Hit): string =>
  `  ${KINDS[kind]} also occurs in ${table === null ? file : `${table} (${file})`}, ${counted(times, "time")}`;

const render = (report: ForgetReport, destinations: readonly string[]): string => {
  const { hashes, erased, rows, archiveFiles, exports, missing, removed, scan } = report;
  const lines = [
    `${counted(erased, "contact")} forgotten: ${counted(rows.current, "row")}, ${counted(rows.versions, "old version")}, ${counted(rows.rejects, "rejected record")}, ${counted(archiveFiles, "archive file")} cleaned`,
    ...(erased < hashes.length
      ? [`not mirrored, but kept out from now on: ${counted(hashes.length - erased, "contact")}`]
      : []),
    ...exports.map((dir) => `export brought up to date: ${dir}`),
    ...missing.map(
      (dir) => `export not found, so not cleaned: ${dir}; if it is only away, run this again when it is back`,
    ),
    ...removed.map((file) => `removed: ${file}`),
    ...destinations.map(
      (name) => `removed from the destination ${name} by its next delivery: duckmirror deliver ${name}`,
    ),
    `searched ${counted(scan.files, "file")} (${formatBytes(scan.bytes)}), ${counted(scan.rows, "row")} of ${counted(scan.tables, "table")} for ${counted(scan.texts, "text")}: no trace of the contact's own records`,
    ...(scan.mentions.length === 0 ? [] : ["the same texts in records that are not the contact's:"]),
    ...scan.mentions.slice(0, 20).map(mention),
  ];
  return lines.join("\n");
};

const confirmed = async ({ args, yes }: Input, { terminal, ask }: CommandContext): Promise<boolean> => {
  if (yes) return true;
  if (!terminal.isTty.in || !terminal.isTty.err)
    throw usage("an erased contact cannot be restored: confirm with --yes");
  const answer = await ask.choice({
    message: `Forget ${args.join(", ")} for good?`,
    choices: [
      { value: "no", name: "No, change nothing" },
      { value: "yes", name: "Yes, erase everything about them" },
    ],
  });
  return answer === "yes";
};

const run = async (input: Input, context: CommandContext): Promise<number> => {
  const { clock, cwd } = context;
  if (input.args.length === 0 && !input.resume) throw usage("give the id or e-mail address of a contact, or --resume");
  const config = await context.loadConfig();
  // What was begun was confirmed then.
  if (input.args.length > 0 && !(await confirmed(input, context))) return EXIT.done;
  const request = {
    contacts: input.args,
    all: input.all,
    exportDirs: input.exportDir.map((dir) => resolve(cwd, dir)),
  };
  const report = await context.withProgress(config, (emit) =>
    audited(config, context, { action: "forget" }, () => forgetJob(config, request, { clock, emit }), auditResult),
  );
  const destinations = config.destinations.map(({ name }) => name);
  return context.show(toJson(report, destinations), () => render(report, destinations));
};

export const command = defineCommand({
  configure: (cli) => cli.argument("[contacts...]", "ids or e-mail addresses of contacts"),
  examples: {
    "duckmirror forget 8a6e0804-2bd0-4672-b79d-d97027f9071a": "erase a contact from everything, after asking",
    "duckmirror forget ada@example.com --yes --json":
      "the same by e-mail address, without asking; what was done as JSON",
    "duckmirror forget --resume": "after a crash: go on until nothing is left",
  },
  input: inputSchema,
  run,
});
