// State that all parts of the page share, as hooks: the address, the server's clock, the version of the snapshot, and responses of the
// server, which are requested again after each publish.
import { createContext } from "preact";
import { useContext, useEffect, useReducer, useState } from "preact/hooks";
import { type Abilities, ask, eventsUrl, type Overview, type Refused, refusalOf, withProfile } from "./wire.ts";

/** A value with listeners; a component that calls `use` is drawn again when it changes. */
const shared = <T>(first: T) => {
  let value = first;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set: (next: T): void => {
      if (next === value) return;
      value = next;
      for (const listener of listeners) listener();
    },
    use: (): T => {
      const [, again] = useReducer((n: number) => n + 1, 0);
      useEffect(() => {
        const listener = () => again(undefined as never);
        listeners.add(listener);
        return () => void listeners.delete(listener);
      }, []);
      return value;
    },
  };
};

const path = shared(location.pathname);
/** Version of the published snapshot; null: there is none; undefined: not known yet. */
export const version = shared<string | null | undefined>(undefined);
export const live = shared<{ readonly state: "on" | "off"; readonly text: string }>({
  state: "off",
  text: "connecting",
});
export type RunEvent = Readonly<Record<string, unknown>> & { readonly run_id: string; readonly kind: string };
/** The latest event of a running sync. */
export const runEvent = shared<RunEvent | null>(null);

const clock = shared(Date.now());
let aheadMs = 0;
/** Every age on the page is counted from this one clock: the server's. */
export const useNow = (): number => clock.use();
export const setServerTime = (now: number): void => {
  aheadMs = now - Date.now();
  clock.set(now);
};
setInterval(() => clock.set(Date.now() + aheadMs), 15_000);

export const usePath = (): string => path.use();

/** Opens another address of the page without loading it anew. */
export const go = (to: string): void => {
  history.pushState(null, "", withProfile(to));
  path.set(location.pathname);
  scrollTo(0, 0);
  document.getElementById("content")?.focus({ preventScroll: true });
};

/** Follows links to pages of this server inside the page. */
export const startNavigation = (): void => {
  addEventListener("popstate", () => path.set(location.pathname));
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[data-inside]") : null;
    const isPlain =
      !event.defaultPrevented && event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey;
    if (!(link instanceof HTMLAnchorElement) || !isPlain) return;
    event.preventDefault();
    go(`${link.pathname}${link.hash}`);
  });
};

/** Follows publishes and running syncs of the chosen profile. The browser connects again by itself. */
export const startEvents = (): void => {
  const source = new EventSource(eventsUrl());
  source.addEventListener("open", () => live.set({ state: "on", text: "live" }));
  source.addEventListener("error", () => live.set({ state: "off", text: "connection lost, trying again" }));
  source.addEventListener("snapshot", (event) => version.set(JSON.parse(event.data).version));
  source.addEventListener("run", (event) => runEvent.set(JSON.parse(event.data)));
};

const SETTLED_MS = 200;

const pending = shared(0);
/** How many answers the page still waits for. */
export const usePending = (): number => pending.use();

export interface Answer<T> {
  readonly value: T | null;
  readonly error: Refused | null;
}

/** A response of the server, asked for again after each publish and when `again` changes. `null`: asks nothing. */
export const useAsk = <T>(wanted: string | null, again: unknown = null): Answer<T> => {
  const seen = version.use();
  const [answer, setAnswer] = useState<Answer<T> & { readonly of: string | null }>({
    value: null,
    error: null,
    of: null,
  });
  useEffect(() => {
    if (wanted === null || seen === undefined) return;
    let isWanted = true;
    pending.set(pending.get() + 1);
    ask<T>(wanted)
      .then(
        (value) => isWanted && setAnswer({ value, error: null, of: wanted }),
        (error: unknown) => isWanted && setAnswer({ value: null, error: refusalOf(error), of: wanted }),
      )
      .finally(() => pending.set(pending.get() - 1));
    return () => {
      isWanted = false;
    };
  }, [wanted, seen, again]);
  return answer.of === wanted ? answer : { value: null, error: null };
};

/** A text once nobody has changed it for a moment. */
export const useSettled = (text: string): string => {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
};

/** A number that grows every `ms` while the page is seen. */
export const useTicks = (ms: number): number => {
  const [ticks, setTicks] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || setTicks((n) => n + 1), ms);
    return () => clearInterval(timer);
  }, []);
  return ticks;
};

export interface Shared {
  readonly abilities: Abilities;
  readonly profile: Abilities["profiles"][number];
  readonly status: Answer<Overview>;
}

export const SharedContext = createContext<Shared | null>(null);

/** What this server can do, and the figures of the mirror. */
export const useShared = (): Shared => {
  const found = useContext(SharedContext);
  if (found === null) throw new TypeError("used outside of the page");
  return found;
};
