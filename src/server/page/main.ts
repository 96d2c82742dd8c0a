// The status page: requests the figures, shows them, and repeats this for every new snapshot.
import { followActive, showEvent, startActions } from "./actions.ts";
import { byId, make, ofKind } from "./dom.ts";
import { offerFeedback, startExplorer } from "./explorer.ts";
import { startFeedback } from "./feedback.ts";
import { listen, rest } from "./live.ts";
import { startTheme } from "./theme.ts";
import { redrawPlots } from "./views/charts.ts";
import { showDestinations } from "./views/destinations.ts";
import { startFleet } from "./views/fleet.ts";
import { showFollowing } from "./views/following.ts";
import { showRuns, startRuns } from "./views/run-views.ts";
import { showFindings, showPlan } from "./views/side-views.ts";
import { showFreshness, showTiles, showVerdict } from "./views/tiles.ts";
import { showCredits, showGrowth, showRate } from "./views/time-plots.ts";
import { type Abilities, ask, chooseProfile, chosenProfile, type Growth, type Overview, Refused } from "./wire.ts";

let version: string | null | undefined;
let refreshing: ReturnType<typeof setInterval> | null = null;

const notice = (error: unknown): void => {
  const place = byId("notice");
  place.hidden = false;
  place.textContent =
    error instanceof Refused ? `${error.message}\n${error.hint}` : `The page failed: ${String(error)}`;
};

const showAll = async (abilities: Abilities): Promise<void> => {
  const wanted = version;
  const overview = await ask<Overview>("/api/status");
  // A newer snapshot arrived meanwhile, and its figures are already requested.
  if (wanted !== version) return;
  byId("notice").hidden = true;
  showVerdict(overview);
  showTiles(overview);
  showFreshness(overview);
  showRuns(overview);
  showCredits(overview);
  showRate(overview);
  byId("content").dataset.ready = overview.snapshot.version;
  performance.mark("figures");
  rest();
  const profile = abilities.profiles.find(({ name }) => name === chosenProfile());
  // Ages grow even if nothing else changes.
  if (refreshing !== null) clearInterval(refreshing);
  const shownAt = Date.now();
  refreshing = setInterval(() => {
    const aged = { ...overview, now: overview.now + Date.now() - shownAt };
    showTiles(aged);
    showFreshness(aged);
    // Deliveries end after the publish.
    showDestinations(profile?.destinations === true, aged.now).catch(notice);
  }, 30_000);
  showGrowth(await ask<Growth>("/api/growth"), overview.now);
  await showFindings(overview.now);
  await showDestinations(profile?.destinations === true, overview.now);
  await showFollowing(profile?.following === true, overview.now);
  await showPlan(profile?.plan === true, abilities.content);
  performance.mark("complete");
  byId("content").dataset.complete = overview.snapshot.version;
};

const listenTo = (abilities: Abilities): void => {
  version = undefined;
  listen((found) => {
    if (found === version) return;
    version = found;
    showAll(abilities).catch(notice);
  }, showEvent);
};

/** Why the worker cannot sync the profile. Its mirror can still be read. */
const showProblem = (problem: Abilities["profiles"][number]["problem"]): void => {
  const place = byId("profile-problem");
  place.hidden = problem === null;
  place.textContent =
    problem === null ? "" : `The worker cannot sync this profile: ${problem.message}\n${problem.hint}`;
};

const startProfiles = (abilities: Abilities): void => {
  const { profiles } = abilities;
  const wanted = new URLSearchParams(location.search).get("profile");
  const first = profiles.find(({ name }) => name === wanted) ?? profiles[0];
  chooseProfile(first?.name ?? "");
  offerFeedback(first?.feedback === true);
  showProblem(first?.problem ?? null);
  if (profiles.length < 2) return;
  byId("profile-label").hidden = false;
  const select = ofKind("profile", HTMLSelectElement);
  select.append(...profiles.map(({ name }) => make("option", { value: name }, name)));
  select.value = chosenProfile();
  select.addEventListener("change", () => location.assign(`/?profile=${encodeURIComponent(select.value)}`));
};

const start = async (): Promise<void> => {
  startTheme();
  startRuns();
  startFeedback();
  const abilities = await ask<Abilities>("/api/profiles");
  startProfiles(abilities);
  startActions(abilities);
  byId("queues-link").hidden = !abilities.queues;
  byId("logout").hidden = !abilities.login;
  byId("footer").textContent = `duckmirror ${abilities.version}`;
  listenTo(abilities);
  await startFleet(abilities.fleet);
  await startExplorer();
  if (abilities.syncs) await followActive();
};

let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === width) return;
  width = innerWidth;
  redrawPlots();
});
start().catch(notice);
