// Buttons that start a sync or a verification, and the list of runs: progress, state and a button that cancels. The buttons are
// hidden if the server starts no runs.
import { badge, byId, make, ofKind } from "./dom.ts";
import { ago, counted } from "./format.ts";
import { type Abilities, type ActiveRun, ask, chosenProfile, Refused, send } from "./wire.ts";

const POLL_MS = 1500;
/** A worker without a sign of life for this long may be lost. */
const SILENT_MS = 20_000;
const WAITS: Readonly<Record<string, string>> = { rate: "the rate limit", retry: "another try", quota: "credits" };
const OVER = ["done", "partial", "stopped", "failed", "cancelled"];

/** Run id → its last event and its present wait. */
const followed = new Map<
  string,
  { run: ActiveRun | null; progress: string; wait: { text: string; until: number } | null }
>();
let polling = false;

const problem = (error: unknown): void => {
  const place = byId("notice");
  place.hidden = false;
  place.textContent = error instanceof Refused ? `${error.message}\n${error.hint}` : String(error);
};

const momentText = (at: number): string => {
  const isToday = new Date(at).toDateString() === new Date().toDateString();
  return isToday ? new Date(at).toLocaleTimeString() : new Date(at).toLocaleString();
};

const waitText = (why: string, until: number): string => `waits for ${WAITS[why] ?? why} until ${momentText(until)}`;

/** Progress of a run, as its worker reports it, on this machine or another. */
const progressTexts = ({ due_at, progress, paused }: ActiveRun): readonly string[] => {
  const now = Date.now();
  const due = due_at === null ? [] : [`ends at ${momentText(due_at)} at the latest`];
  if (progress === null) return [...(paused === true ? ["waits for the end of a pause"] : []), ...due];
  const { requests, rows, waiting, streams, heartbeat_at } = progress;
  const reading = streams.filter(({ state }) => state === "reading").map(({ stream }) => stream);
  return [
    `${counted(requests, "request")}, ${counted(rows, "row")}${reading.length === 0 ? "" : `, reading ${reading.join(", ")}`}`,
    ...(waiting !== null && waiting.until > now ? [waitText(waiting.why, waiting.until)] : []),
    ...due,
    ...(now - heartbeat_at > SILENT_MS ? [`no sign of life from its worker since ${momentText(heartbeat_at)}`] : []),
  ];
};

const showActive = (): void => {
  byId("active").replaceChildren(
    ...[...followed].map(([runId, { run, progress, wait }]) => {
      const waits = wait !== null && wait.until > Date.now() ? wait.text : "";
      const live = run === null || OVER.includes(run.state) ? [] : progressTexts(run);
      const texts = live.length > 0 ? live : [progress, waits];
      const does = texts.filter((text) => text !== "").join("; ");
      const state = run?.state ?? "queued";
      const cancel = make("button", { type: "button", "aria-label": `Cancel run ${runId}` }, "Cancel");
      cancel.addEventListener("click", () => {
        send("DELETE", `/api/syncs/${encodeURIComponent(runId)}`).catch(problem);
      });
      const mood = state === "done" ? "good" : state === "failed" ? "bad" : OVER.includes(state) ? "warn" : "plain";
      const since = run === null ? "" : ` asked ${ago(run.asked_at, Date.now())}`;
      return make(
        "div",
        { class: "buttons" },
        badge(state, mood),
        make("span", {}, `${runId}${since} ${run?.error?.message ?? does}`),
        OVER.includes(state) ? null : cancel,
      );
    }),
  );
};

const poll = async (): Promise<void> => {
  for (const [runId, entry] of followed) {
    if (entry.run !== null && OVER.includes(entry.run.state)) continue;
    entry.run = await ask<ActiveRun>(`/api/syncs/${encodeURIComponent(runId)}`).catch(() => entry.run);
  }
  showActive();
  const open = [...followed.values()].some(({ run }) => run === null || !OVER.includes(run.state));
  polling = open;
  if (open) setTimeout(() => void poll(), POLL_MS);
};

const follow = (runId: string): void => {
  if (!followed.has(runId)) followed.set(runId, { run: null, progress: "", wait: null });
  showActive();
  if (!polling) setTimeout(() => void poll(), 200);
  polling = true;
};

const start = async (path: string, body: unknown): Promise<void> => {
  byId("notice").hidden = true;
  try {
    const { run_id } = await send<{ run_id: string }>("POST", path, body);
    follow(run_id);
  } catch (error) {
    problem(error);
  }
};

/** Shows an event of a run in the list. */
export const showEvent = (event: Readonly<Record<string, unknown>>): void => {
  const runId = String(event.run_id);
  follow(runId);
  const entry = followed.get(runId);
  if (entry === undefined) return;
  if (event.kind === "page")
    entry.progress = `${event.stream}: ${counted(Number(event.rows), "row")}, ${counted(Number(event.requests), "request")}`;
  else if (event.kind === "waiting") {
    const until = Number(event.until);
    entry.wait = { text: waitText(String(event.why), until), until };
  } else if (event.kind === "published" || event.kind === "exported") entry.progress = String(event.kind);
  showActive();
};

export const startActions = ({ syncs, verify }: Abilities): void => {
  byId("actions").hidden = !syncs;
  byId("verify-now").hidden = !verify;
  byId("sync-now").addEventListener("click", () => {
    const full = ofKind("sync-full", HTMLInputElement).checked;
    void start("/api/syncs", { full, profile: chosenProfile() });
  });
  byId("verify-now").addEventListener("click", () => void start("/api/verifications", { profile: chosenProfile() }));
};

/** Lists runs that started before this page was opened. */
export const followActive = async (): Promise<void> => {
  const { runs } = await ask<{ runs: readonly ActiveRun[] }>("/api/syncs");
  for (const run of runs) follow(run.run_id);
};
