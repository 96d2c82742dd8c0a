// Due work of the usage routes: the quota with its breakdown, the contracted limits, the request history. Pure.
import type { StreamSpec } from "../../catalog/streams.ts";
import type { Candidate, Context } from "./candidate.ts";
import { capture } from "./organization.ts";

/** Scopes of the stream. The quota comes last (run/backlog.ts), so that it counts the others. */
export const USAGE_SCOPES: readonly string[] = ["usage", "limits", "requests"];

export const usageWork = (context: Context, stream: StreamSpec): readonly Candidate[] =>
  USAGE_SCOPES.flatMap((scope) => capture(context, stream, scope, scope === "requests" ? "log" : "capture"));
