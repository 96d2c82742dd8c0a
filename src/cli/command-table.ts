// THE table of commands: name, one line for --help, and where it is. A command is only loaded when it is called.
import type { CommandEntry } from "./command.ts";

export const COMMANDS: readonly CommandEntry[] = [
  {
    name: "demo",
    summary: "See it work: a generated service, a complete mirror of it, and a tour",
    load: () => import("./commands/demo.ts"),
  },
  {
    name: "init",
    summary: "Write a commented duckmirror.yaml",
    load: () => import("./commands/init.ts"),
  },
  {
    name: "check",
    summary: "Check configuration, address and token; name the tier and the credits left",
    load: () => import("./commands/check.ts"),
  },
  {
    name: "plan",
    summary: "What the next sync would request and why, in credits and time; sends nothing",
    load: () => import("./commands/plan.ts"),
  },
  {
    name: "sync",
    summary: "Mirror what is due, within the rate limit and the credits",
    load: () => import("./commands/sync.ts"),
  },
  {
    name: "follow",
    summary: "Follow companies: by id, domain, website, stock symbol or profile address",
    load: () => import("./commands/follow.ts"),
  },
  {
    name: "unfollow",
    summary: "Follow companies no more; with --erase remove their rows, too",
    load: () => import("./commands/unfollow.ts"),
  },
  {
    name: "following",
    summary: "List followed companies: what each input resolved to, since when, and what failed",
    load: () => import("./commands/following.ts"),
  },
  {
    name: "worker",
    summary: "Sync on a schedule and on demand; with Redis on several machines",
    load: () => import("./commands/worker.ts"),
  },
  {
    name: "trigger",
    summary: "Ask the worker for a sync; with --wait ends as sync does",
    load: () => import("./commands/trigger.ts"),
  },
  {
    name: "jobs",
    summary: "What is queued or under way, what failed, who works; retry, drop and cancel",
    load: () => import("./commands/jobs.ts"),
  },
  {
    name: "pause",
    summary: "Let nothing new start: in a profile, a queue, or the whole fleet before a deploy",
    load: () => import("./commands/pause.ts"),
  },
  {
    name: "resume",
    summary: "End a pause; what waited starts at once",
    load: () => import("./commands/resume.ts"),
  },
  {
    name: "query",
    summary: "Run read-only SQL on the mirror: table, CSV, JSON or NDJSON",
    load: () => import("./commands/query.ts"),
  },
  {
    name: "changes",
    summary: "Show every insert, update and delete in order, with a cursor; --follow waits for more",
    load: () => import("./commands/changes.ts"),
  },
  {
    name: "lookup",
    summary: "One company or account: from the mirror if it is fresh enough, else for one credit",
    load: () => import("./commands/lookup.ts"),
  },
  {
    name: "export",
    summary: "Write the mirror as Parquet, CSV or NDJSON: only what changed",
    load: () => import("./commands/export.ts"),
  },
  {
    name: "deliver",
    summary: "Bring the configured destinations (databases, lakes, folders) up to date with the mirror",
    load: () => import("./commands/deliver.ts"),
  },
  {
    name: "alerts",
    summary: "Show the alert rules, send what they found, try one out, send dead letters again",
    load: () => import("./commands/alerts.ts"),
  },
  {
    name: "schema",
    summary: "Say what every table and column means",
    load: () => import("./commands/schema.ts"),
  },
  {
    name: "status",
    summary: "Show what the mirror holds, how fresh it is and what it cost",
    load: () => import("./commands/status.ts"),
  },
  {
    name: "verify",
    summary: "Compare the mirror with the service at the fewest credits, and repair it",
    load: () => import("./commands/verify.ts"),
  },
  {
    name: "replay",
    summary: "Rebuild the working database from the archive, without a request",
    load: () => import("./commands/replay.ts"),
  },
  {
    name: "backup",
    summary: "Write a proven copy of the mirror to a folder",
    load: () => import("./commands/backup.ts"),
  },
  {
    name: "restore",
    summary: "Make an empty data directory a mirror again, from a backup",
    load: () => import("./commands/restore.ts"),
  },
  {
    name: "serve",
    summary: "Serve the status page, a local copy of the API and metrics over the mirror",
    load: () => import("./commands/serve.ts"),
  },
  {
    name: "key",
    summary: "Make, list and revoke keys of page, API and metrics, each with a role",
    load: () => import("./commands/key.ts"),
  },
  {
    name: "audit",
    summary: "Show who queried, synced, exported and erased what, and who was refused",
    load: () => import("./commands/audit.ts"),
  },
  {
    name: "forget",
    summary: "Erase a contact from tables, archive and exports, and keep it out",
    load: () => import("./commands/forget.ts"),
  },
  {
    name: "feedback",
    summary: "Tell the service what is wrong or missing; costs one credit",
    load: () => import("./commands/feedback.ts"),
  },
  {
    name: "sandbox",
    summary: "Run the whole service on this machine, with generated data, to try things out",
    load: () => import("./commands/sandbox.ts"),
  },
  {
    name: "completion",
    summary: "Print a script that completes commands and options in bash, zsh or fish",
    load: () => import("./commands/completion.ts"),
  },
];
