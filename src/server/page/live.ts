// Server-sent events: new snapshots, and events of running syncs. The browser reconnects automatically.
import { byId } from "./dom.ts";
import { eventsUrl } from "./wire.ts";

let source: EventSource | null = null;

const show = (state: "on" | "off" | "busy", text: string): void => {
  const live = byId("live");
  live.dataset.state = state;
  live.textContent = text;
};

/** Listens to the chosen profile. `onSnapshot` is called for each version, including the first. */
export const listen = (
  onSnapshot: (version: string | null) => void,
  onRun: (event: Readonly<Record<string, unknown>>) => void,
): void => {
  source?.close();
  source = new EventSource(eventsUrl());
  source.addEventListener("open", () => show("on", "live"));
  source.addEventListener("error", () => show("off", "connection lost, trying again"));
  source.addEventListener("snapshot", (event) => onSnapshot(JSON.parse(event.data).version));
  source.addEventListener("run", (event) => {
    show("busy", "a sync is running");
    onRun(JSON.parse(event.data));
  });
};

/** Shows the idle state again, after a run has ended. */
export const rest = (): void => show("on", "live");
