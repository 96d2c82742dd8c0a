// duckmirror following: lists followed companies, what each input resolved to, and what failed. Reads the snapshot only.
import { z } from "zod";
import { type FollowedInput, followingJob } from "../../../../jobs/following.ts";
import { EXIT } from "../../../core/errors.ts";
import { defineCommand } from "../../command.ts";
import { renderTable } from "../../terminal/table.ts";

const line = ({ input, company_id: company, status, since, resolved_at: resolvedAt, error }: FollowedInput) => [
  input,
  company ?? "",
  status === "not_found" ? "not found" : status,
  since?.slice(0, 10) ?? "configured",
  resolvedAt?.slice(0, 10) ?? "",
  error ?? "",
];

export const command = defineCommand({
  configure: (cli) => cli,
  examples: {
    "duckmirror following": "all followed companies",
    "duckmirror following --json": "the same for scripts",
  },
  input: z.object({}),
  run: async (_, { loadConfig, shared, terminal, printJson }) => {
    const following = await followingJob(await loadConfig());
    if (shared.json) await printJson(following);
    else if (following.length === 0)
      await terminal.out("No company is followed: `duckmirror follow INPUT` adds one.\n");
    else {
      const heads = ["input", "company", "status", "since", "resolved", "problem"].map((name) => ({ name }));
      await terminal.out(`${renderTable(heads, following.map(line), terminal.columns)}\n`);
    }
    return EXIT.done;
  },
});
