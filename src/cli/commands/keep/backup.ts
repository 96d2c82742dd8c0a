// duckmirror backup: writes a proven copy of the mirror to a folder or to object storage.
import { resolve } from "node:path";
import { z } from "zod";
import { backupJob } from "../../../../jobs/backup.ts";
import { withoutSecrets } from "../../../core/config/destinations/secrets-in.ts";
import { packageVersion } from "../../../core/program-files.ts";
import { formatBytes, formatDuration } from "../../../core/text/units.ts";
import { isStored } from "../../../deliver/stored-backup.ts";
import { audited } from "../../audited.ts";
import { defineCommand, flag } from "../../command.ts";
import { bucketOf, bucketOptions } from "../../options/streams-argument.ts";

export const command = defineCommand({
  configure: (cli) =>
    cli.argument("<target>", "folder that the backup becomes, or s3://bucket/prefix, gs://…, az://container/prefix"),
  examples: {
    "duckmirror backup /backups/2026-11-23": "the published snapshot, keys, followed companies, erased contacts",
    "duckmirror backup /backups/latest --force": "replace the backup of yesterday",
    "duckmirror backup s3://backups/mirror --force": "to object storage, with the credentials that AWS tools use",
  },
  input: z.object({
    args: z.tuple([z.string().min(1)], { error: "name the folder or address of the backup" }),
    force: flag("replace an earlier backup there"),
    ...bucketOptions,
  }),
  run: async (input, context) => {
    const config = await context.loadConfig();
    const [typed] = input.args;
    const target = isStored(typed) ? typed : resolve(context.cwd, typed);
    const request = { target, force: input.force, version: packageVersion(), bucket: bucketOf(input) };
    const report = await audited(
      config,
      context,
      { action: "backup", subject: withoutSecrets(request.target) },
      () => backupJob(config, request, context),
      ({ bytes }) => ({ bytes }),
    );
    const took = formatDuration(report.duration_ms);
    return context.show(
      report,
      () =>
        `${report.backup}: ${formatBytes(report.bytes)} in ${report.files} files, read and compared (${took})\n` +
        `Signed with ${report.key_file}: keep a copy of this key elsewhere; \`restore\` on another machine asks for it`,
    );
  },
});
