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
