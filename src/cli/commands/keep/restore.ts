// duckmirror restore: makes an empty data directory a mirror again, from a backup.
import { resolve } from "node:path";
import { z } from "zod";
import { restoreJob } from "../../../../jobs/backup.ts";
import { withoutSecrets } from "../../../core/config/destinations/secrets-in.ts";
import { EXIT } from "../../../core/errors.ts";
import { isStored } from "../../../deliver/stored-backup.ts";
import { audited } from "../../audited.ts";
import { defineCommand } from "../../command.ts";
import { bucketInput, bucketOf, withBucketOptions } from "../../options/streams-argument.ts";

const inputSchema = z.object({
  args: z.tuple([z.string().min(1)], { error: "name the folder or address of the backup" }),
  withKeys: z.boolean().default(false),
  backupKey: z.string().min(1).optional(),
  trust: z.boolean().default(false),
  ...bucketInput,
});

export const command = defineCommand({
  configure: (cli) =>
    withBucketOptions(
      cli
        .argument("<source>", "folder of a backup, or s3://bucket/prefix, gs://…, az://container/prefix")
        .option("--with-keys", "take over the keys of its server, too: whoever wrote the backup may know them")
        .option("--backup-key <file>", "key that signed the backup: state/backup.key of its mirror")
        .option(
          "--trust",
          "do without a signature: whoever may write to the place of the backup decides what the mirror holds",
        ),
    ),
  examples: {
    "duckmirror restore /backups/2026-11-23": "into the configured data directory, which must hold no mirror",
    "duckmirror restore /backups/2026-11-23 --data-dir ./trial": "into another one, e.g. to try the backup",
    "duckmirror restore s3://backups/mirror --backup-key ./backup.key": "from object storage, on a new machine",
    "duckmirror restore /backups/2025 --trust": "a backup of a version before signatures",
  },
  input: inputSchema,
  run: async (input, context) => {
    const { shared, clock, terminal, cwd, signal } = context;
    const config = await context.loadConfig();
    const [typed] = input.args;
    const source = isStored(typed) ? typed : resolve(cwd, typed);
    const { withKeys, trust, backupKey } = input;
    const keyFile = backupKey === undefined ? {} : { keyFile: resolve(cwd, backupKey) };
    const request = { source, withKeys, trust, ...keyFile };
    const report = await audited(
      config,
      context,
      { action: "restore", subject: withoutSecrets(source) },
      () => restoreJob(config, { ...request, bucket: bucketOf(input) }, { clock, signal }),
      ({ bytes }) => ({ bytes }),
    );
    if (shared.json) await context.printJson(report);
    else
      await terminal.out(`${report.warehouse} is the mirror of ${report.made_at}; the next sync reads what is new\n`);
    return EXIT.done;
  },
});
