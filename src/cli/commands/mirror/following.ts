// duckmirror following: lists followed companies, what each input resolved to, and what failed. Reads the snapshot only.
import { z } from "zod";
import { type FollowedInput, followingJob } from "../../../../jobs/following.ts";
import { defineCommand } from "../../command.ts";
import { renderTable } from "../../terminal/table.ts";

const line = ({ input, company_id: company, status, since, resolved_at: resolvedAt, error }: FollowedInput) => [
  input,
  company ?? null,
  status === "not_found" ? "not found" : status,
  since?.slice(0, 10) ?? "configured",
  resolvedAt?.slice(0, 10) ?? null,
  error ?? null,
];

export const command = defineCommand({
  examples: {
    "duckmirror following": "all followed companies",
    "duckmirror following --json": "the same for scripts",
  },
  input: z.object({}),
  run: async (_, { loadConfig, terminal, show }) => {
    const following = await followingJob(await loadConfig());
    const heads = ["input", "company", "status", "since", "resolved", "problem"];
    return show(following, () =>
      following.length === 0
        ? "No company is followed: `duckmirror follow INPUT` adds one."
        : renderTable(heads, following.map(line), terminal.columns),
    );
  },
});
