// The frame around every page: navigation, search, choice of profile and theme, and the page that the address names.
import type { ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { AccountPage } from "./pages/account.tsx";
import { Accounts } from "./pages/accounts.tsx";
import { Credits } from "./pages/credits.tsx";
import { Explorer } from "./pages/explorer.tsx";
import { Overview } from "./pages/overview.tsx";
import { Reference } from "./pages/reference.tsx";
import { RunPage } from "./pages/run.tsx";
import { Runs } from "./pages/runs.tsx";
import { Settings } from "./pages/settings.tsx";
import { TablePage } from "./pages/table.tsx";
import { Tables } from "./pages/tables.tsx";
import { Card, Inside } from "./parts/parts.tsx";
import { Search } from "./search.tsx";
import { live, usePath, usePending, useShared } from "./state.ts";
import { withProfile } from "./wire.ts";

// Light or dark: the system's setting until the toggle is used; this browser stores the choice.

const KEY = "duckmirror-theme";

const systemDark = (): boolean => matchMedia("(prefers-color-scheme: dark)").matches;
const current = (): string => document.documentElement.dataset.theme ?? (systemDark() ? "dark" : "light");

export const switchTheme = (): void => {
  const next = current() === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  localStorage.setItem(KEY, next);
};

export const startTheme = (): void => {
  const kept = localStorage.getItem(KEY);
  if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
};

const PAGES: readonly (readonly [
  path: string,
  title: string,
  page: ComponentType<{ id: string }>,
  one?: ComponentType<{ id: string }>,
])[] = [
  ["/", "Overview", Overview],
  ["/tables", "Tables", Tables, TablePage],
  ["/accounts", "Accounts", Accounts, AccountPage],
  ["/runs", "Runs", Runs, RunPage],
  ["/credits", "Credits", Credits],
  ["/explorer", "Explorer", Explorer],
  ["/settings", "Settings", Settings],
];

/** Pages that the foot names. */
const MORE: typeof PAGES = [["/reference", "API reference", Reference]];

const Missing = () => (
  <Card title="There is no such page" lead="The address is wrong, or what it named is gone.">
    <Inside to="/">Go to the overview</Inside>
  </Card>
);

/** `/accounts/7` → the page of one account, with the id 7. */
const pageAt = (path: string) => {
  const [, first = "", id = "", ...more] = path.split("/");
  const found = [...PAGES, ...MORE].find(([at]) => at === `/${first}`);
  const page = id === "" ? found?.[2] : found?.[3];
  return {
    Page: more.length > 0 || page === undefined ? Missing : page,
    title: found?.[1] ?? "No such page",
    id: decodeURIComponent(id),
  };
};

const Profiles = () => {
  const { abilities, profile } = useShared();
  if (abilities.profiles.length < 2)
    return profile.name === "default" ? null : (
      <strong class="profile" title="Name of the profile, as duckmirror.yaml has it">
        {profile.name}
      </strong>
    );
  return (
    <label class="profile">
      <span>Organization</span>
      <select
        value={profile.name}
        onChange={(event) => location.assign(`/?profile=${encodeURIComponent(event.currentTarget.value)}`)}
      >
        {abilities.profiles.map(({ name }) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  );
};

const Top = ({ path }: { path: string }) => {
  const { abilities } = useShared();
  const { state, text } = live.use();
  const isHere = (to: string) => (to === "/" ? path === "/" : path === to || path.startsWith(`${to}/`));
  return (
    <header class="top">
      <a class="brand" href="/">
        <img src="/favicon.ico" width="26" height="26" alt="" />
        duckmirror
      </a>
      <nav class="links" aria-label="Pages">
        {PAGES.map(([to, title]) => (
          <a key={to} href={withProfile(to)} data-inside aria-current={isHere(to) ? "page" : undefined}>
            {title}
          </a>
        ))}
      </nav>
      <Search />
      <Profiles />
      <span class="live" role="status" data-state={state}>
        {text}
      </span>
      <button type="button" class="quiet" id="theme" aria-label="Switch between light and dark" onClick={switchTheme}>
        ◐
      </button>
      {abilities.login ? (
        <form method="post" action="/logout">
          <button type="submit" class="quiet">
            Log out
          </button>
        </form>
      ) : null}
    </header>
  );
};

export const Shell = () => {
  const path = usePath();
  const { abilities, profile, status } = useShared();
  const content = useRef<HTMLElement>(null);
  const [seen, setSeen] = useState(false);
  const isQuiet = usePending() === 0;
  const { Page, title, id } = pageAt(path);
  useEffect(() => {
    document.title = path === "/" ? "duckmirror" : `${id === "" ? title : `${title}: ${id}`} · duckmirror`;
  }, [path]);
  const isKnown = status.value !== null || status.error !== null;
  useEffect(() => {
    if (isKnown && isQuiet && !seen) {
      performance.mark("complete");
      setSeen(true);
    }
    if (isKnown) performance.mark("figures");
  }, [isKnown, isQuiet, seen]);
  return (
    <>
      <Top path={path} />
      <main
        id="content"
        tabIndex={-1}
        ref={content}
        data-ready={isKnown ? "" : undefined}
        data-complete={seen && isQuiet ? "" : undefined}
      >
        <h1 class="unseen">{path === "/" ? "Overview of the mirror" : title}</h1>
        {id === "" ? null : (
          <p class="crumb">
            ‹ <Inside to={`/${path.split("/")[1]}`}>{title}</Inside>
          </p>
        )}
        {profile.problem === null ? null : (
          <div class="notice" role="alert">
            The worker cannot sync this profile: {profile.problem.message}
            {`\n${profile.problem.hint}`}
          </div>
        )}
        <Page id={id} key={path} />
      </main>
      <footer class="foot">
        duckmirror {abilities.version} · <Inside to="/reference">API reference</Inside> · <a href="/metrics">Metrics</a>
      </footer>
    </>
  );
};
