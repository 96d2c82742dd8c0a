// duckmirror restore: makes an empty data directory a mirror again, from a backup.
import { resolve } from "node:path";
import { z } from "zod";
import { restoreJob } from "../../../../jobs/backup.ts";
import { withoutSecrets } from "../../../core/config/destinations/secrets-in.ts";
import { isStored } from "../../../deliver/stored-backup.ts";
import { audited } from "../../audited.ts";
import { defineCommand, flag, optionOf } from "../../command.ts";
import { bucketOf, bucketOptions } from "../../options/streams-argument.ts";

export const command = defineCommand({
  configure: (cli) =>
    cli.argument("<source>", "folder of a backup, or s3://bucket/prefix, gs://…, az://container/prefix"),
  examples: {
    "duckmirror restore /backups/2026-11-23": "into the configured data directory, which must hold no mirror",
    "duckmirror restore /backups/2026-11-23 --data-dir ./trial": "into another one, e.g. to try the backup",
    "duckmirror restore s3://backups/mirror --backup-key ./backup.key": "from object storage, on a new machine",
    "duckmirror restore /backups/2025 --trust": "a backup of a version before signatures",
  },
  input: z.object({
    args: z.tuple([z.string().min(1)], { error: "name the folder or address of the backup" }),
    withKeys: flag("take over the keys of its server, too: whoever wrote the backup may know them"),
    backupKey: optionOf(z.string().min(1).optional(), {
      value: "<file>",
      summary: "key that signed the backup: state/backup.key of its mirror",
    }),
    trust: flag("do without a signature: whoever may write to the place of the backup decides what the mirror holds"),
    ...bucketOptions,
  }),
  run: async (input, context) => {
    const { cwd } = context;
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
      () => restoreJob(config, { ...request, bucket: bucketOf(input) }, context),
      ({ bytes }) => ({ bytes }),
    );
    return context.show(
      report,
      () => `${report.warehouse} is the mirror of ${report.made_at}; the next sync reads what is new`,
    );
  },
});
