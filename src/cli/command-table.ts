// THE table of commands, by group: name, one line for --help, and where it is. A command is only loaded when it is
// called.
import type { CommandEntry, CommandGroup } from "./command.ts";

/** Headings of --help, in its order. */
export const COMMAND_GROUPS: Readonly<Record<CommandGroup, string>> = {
  start: "Start",
  mirror: "Mirror the service",
  ask: "Ask the mirror",
  share: "Hand it on",
  operate: "Run unattended",
  keep: "Keep, rebuild and erase",
};

/** The commands of a group, in the order of --help. */
const inGroup = (
  group: CommandGroup,
  commands: Readonly<Record<string, Pick<CommandEntry, "summary" | "load">>>,
): readonly CommandEntry[] => Object.entries(commands).map(([name, entry]) => ({ name, group, ...entry }));

export const COMMANDS: readonly CommandEntry[] = [
  ...inGroup("start", {
    demo: {
      summary: "Generate a service, mirror it completely, and show what you can do with it",
      load: () => import("./commands/start/demo.ts"),
    },
    init: {
      summary: "Write a commented duckmirror.yaml",
      load: () => import("./commands/start/init.ts"),
    },
    check: {
      summary: "Check configuration, address and token; name the tier and the credits left",
      load: () => import("./commands/start/check.ts"),
    },
    sandbox: {
      summary: "Run the whole service on this machine, with generated data, to try things out",
      load: () => import("./commands/start/sandbox.ts"),
    },
    completion: {
      summary: "Print a script that completes commands and options in bash, zsh or fish",
      load: () => import("./commands/start/completion.ts"),
    },
  }),
  ...inGroup("mirror", {
    plan: {
      summary: "Show what the next sync would request and why, in credits and time; send nothing",
      load: () => import("./commands/mirror/plan.ts"),
    },
    sync: {
      summary: "Mirror what is due, within the rate limit and the credits",
      load: () => import("./commands/mirror/sync.ts"),
    },
    follow: {
      summary: "Follow companies: by id, domain, website, stock symbol or profile address",
      load: () => import("./commands/mirror/follow.ts"),
    },
    unfollow: {
      summary: "Stop following companies; with --erase also remove their rows",
      load: () => import("./commands/mirror/unfollow.ts"),
    },
    following: {
      summary: "List followed companies: what each input resolved to, since when, and what failed",
      load: () => import("./commands/mirror/following.ts"),
    },
    verify: {
      summary: "Compare the mirror with the service for a few credits; --repair corrects differences",
      load: () => import("./commands/mirror/verify.ts"),
    },
    "check-data": {
      summary: "Run your checks on what the next sync would publish; --init writes some to begin with",
      load: () => import("./commands/mirror/check-data.ts"),
    },
    feedback: {
      summary: "Report what is wrong or missing to the service; costs one credit",
      load: () => import("./commands/mirror/feedback.ts"),
    },
  }),
  ...inGroup("ask", {
    status: {
      summary: "Show rows, their age, credits, the last runs and the disk",
      load: () => import("./commands/ask/status.ts"),
    },
    query: {
      summary: "Run read-only SQL on the mirror: table, CSV, JSON or NDJSON",
      load: () => import("./commands/ask/query.ts"),
    },
    schema: {
      summary: "Explain every table and column",
      load: () => import("./commands/ask/schema.ts"),
    },
    search: {
      summary: "Find accounts, contacts, signals, articles, openings, calls, filings and insights by words",
      load: () => import("./commands/ask/search.ts"),
    },
    changes: {
      summary: "Show every insert, update and delete in order, with a cursor; --follow waits for more",
      load: () => import("./commands/ask/changes.ts"),
    },
    mcp: {
      summary: "Give the mirror to an assistant (Model Context Protocol), over stdio or HTTP",
      load: () => import("./commands/ask/mcp.ts"),
    },
    lookup: {
      summary: "Show one company or account: from the mirror if it is fresh enough, else for one credit",
      load: () => import("./commands/ask/lookup.ts"),
    },
  }),
  ...inGroup("share", {
    export: {
      summary: "Write the mirror as Parquet, CSV or NDJSON: only what changed",
      load: () => import("./commands/share/export.ts"),
    },
    deliver: {
      summary: "Bring the configured destinations (databases, lakes, folders) up to date with the mirror",
      load: () => import("./commands/share/deliver.ts"),
    },
    serve: {
      summary: "Serve the status page, the API's routes from the mirror, and metrics",
      load: () => import("./commands/share/serve.ts"),
    },
    key: {
      summary: "Make, list and revoke keys for the served page, API and metrics",
      load: () => import("./commands/share/key.ts"),
    },
  }),
  ...inGroup("operate", {
    worker: {
      summary: "Sync on a schedule and on demand; with Redis on several machines",
      load: () => import("./commands/operate/worker.ts"),
    },
    trigger: {
      summary: "Ask the worker for a sync; with --wait end with its report and exit code",
      load: () => import("./commands/operate/trigger.ts"),
    },
    jobs: {
      summary: "Show queued, running and failed jobs, queues and workers; retry, drop and cancel",
      load: () => import("./commands/operate/jobs.ts"),
    },
    alerts: {
      summary: "Show alert rules, send their messages, test a rule, send failed messages again",
      load: () => import("./commands/operate/alerts.ts"),
    },
    pause: {
      summary: "Start no new syncs of a profile or, before a deploy, of all; or no new jobs of a queue",
      load: () => import("./commands/operate/pause.ts"),
    },
    resume: {
      summary: "End a pause; what waited starts at once",
      load: () => import("./commands/operate/resume.ts"),
    },
    audit: {
      summary: "Show who queried, synced, exported and erased what, and who was refused",
      load: () => import("./commands/operate/audit.ts"),
    },
  }),
  ...inGroup("keep", {
    backup: {
      summary: "Write a proven copy of the mirror to a folder or object storage",
      load: () => import("./commands/keep/backup.ts"),
    },
    restore: {
      summary: "Fill an empty data directory from a backup",
      load: () => import("./commands/keep/restore.ts"),
    },
    replay: {
      summary: "Rebuild the working database from the archive, without a request",
      load: () => import("./commands/keep/replay.ts"),
    },
    forget: {
      summary: "Erase a contact from tables, archive and exports, and keep it out",
      load: () => import("./commands/keep/forget.ts"),
    },
  }),
];
