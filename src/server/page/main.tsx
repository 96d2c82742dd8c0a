// Entry of the page: asks what the server can do, then renders the page that the address names, again for every new snapshot.
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { Shell, startTheme } from "./shell.tsx";
import { SharedContext, setServerTime, startEvents, startNavigation, useAsk, useTicks, version } from "./state.ts";
import { type Abilities, ask, chosenProfile, type Overview } from "./wire.ts";

/** Deliveries, plans and ages change without a publish. */
const AGAIN_MS = 30_000;

const App = ({ abilities }: { abilities: Abilities }) => {
  const status = useAsk<Overview>("/api/status", useTicks(AGAIN_MS));
  const now = status.value?.now;
  useEffect(() => {
    if (now !== undefined) setServerTime(now);
  }, [now]);
  const { profiles } = abilities;
  const profile = profiles.find(({ name }) => name === chosenProfile()) ?? profiles[0];
  if (profile === undefined) return null;
  return (
    <SharedContext.Provider value={{ abilities, profile, status }}>
      <Shell />
    </SharedContext.Provider>
  );
};

const start = async (): Promise<void> => {
  startTheme();
  startNavigation();
  const abilities = await ask<Abilities>("/api/profiles");
  const place = document.getElementById("app");
  if (place === null) throw new TypeError("#app is missing");
  place.replaceChildren();
  const known = abilities.profiles.find(({ name }) => name === chosenProfile()) ?? abilities.profiles[0];
  // The first figures are asked for at once, not after the events have connected.
  version.set(known?.published === true ? "" : null);
  render(<App abilities={abilities} />, place);
  startEvents();
};

start().catch((error: unknown) => {
  const content = document.getElementById("content");
  if (content !== null) content.textContent = `The page failed: ${String(error)}`;
});
