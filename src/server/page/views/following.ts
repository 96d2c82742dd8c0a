// Followed companies: what each input resolved to, those with a problem first.
import type { FollowedInput } from "../../../../jobs/following.ts";
import { badge, byId, fillTable, ofKind } from "../dom.ts";
import { ago, count, counted } from "../format.ts";
import { ask } from "../wire.ts";

/** Rows shown; `duckmirror following` lists all. */
const SHOWN = 200;

const state = ({ status }: FollowedInput): HTMLElement => {
  if (status === "resolved") return badge("resolved", "good");
  return status === "pending" ? badge("pending", "warn") : badge("not found", "bad");
};

/** `offered`: the server knows the companies that this profile follows. */
export const showFollowing = async (offered: boolean, now: number): Promise<void> => {
  const card = byId("following-card");
  const { following } = offered
    ? await ask<{ following: readonly FollowedInput[] }>("/api/following")
    : { following: [] };
  card.hidden = following.length === 0;
  const hasProblem = ({ error }: FollowedInput) => error !== undefined;
  const rows = [...following.filter(hasProblem), ...following.filter((row) => !hasProblem(row))];
  const problems = rows.filter(hasProblem).length;
  const more = rows.length > SHOWN ? ` The first ${count(SHOWN)} are shown; \`duckmirror following\` lists all.` : "";
  byId("following-lead").textContent =
    `${counted(rows.length, "input")}, ${problems === 0 ? "none" : count(problems)} with a problem.${more}`;
  fillTable(
    ofKind("following", HTMLTableElement),
    "Followed companies",
    [
      { head: "input", kind: "cell", cell: ({ input }) => input },
      { head: "company", cell: ({ company_id }) => company_id ?? "–" },
      { head: "status", cell: state },
      {
        head: "since",
        wideOnly: true,
        cell: ({ since }) => (since === null ? "configured" : ago(Date.parse(since), now)),
      },
      { head: "problem", kind: "cell", cell: ({ error }) => error ?? "" },
    ],
    rows.slice(0, SHOWN),
  );
};
