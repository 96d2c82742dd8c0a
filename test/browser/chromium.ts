// Chromium for the tests of the page: CHROMIUM_PATH, else chromium on the PATH, else Debian's package.
import { type Browser, chromium } from "playwright-core";
import { installDebian } from "../support/debian-packages.ts";
import { programOnPath } from "../support/program-on-path.ts";

/** Path of the browser; null when this machine has none. */
export const chromiumPath = (): string | null =>
  process.env.CHROMIUM_PATH ?? programOnPath("chromium") ?? programOnPath("chromium-browser");

/** Installs Debian's package as root. Throws with what to do where that is not possible: a missing browser never skips. */
export const installChromium = (): void => {
  const wanted =
    "The tests of the status page need Chromium: install it, set CHROMIUM_PATH, or run them as root on Debian";
  installDebian(wanted, "chromium", "fonts-dejavu-core");
  if (chromiumPath() === null) throw new Error(`${wanted}; its package was installed, yet it is not on the PATH.`);
};

const FLAGS = [
  // Root may not use Chromium's own sandbox, and test machines often run as root; the pages are ours.
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-dev-shm-usage",
];

/** A browser with a profile of its own, which goes when it is closed. */
export const startBrowser = (): Promise<Browser> => {
  const executablePath = chromiumPath();
  if (executablePath === null) throw new Error("there is no Chromium on this machine");
  return chromium.launch({ executablePath, headless: true, args: FLAGS });
};
