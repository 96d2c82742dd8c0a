// Chromium for the tests of the page: CHROMIUM_PATH, else chromium on the PATH, else Debian's package.
import { execFileSync } from "node:child_process";
import { type Browser, chromium } from "playwright-core";
import { programOnPath } from "../support/redis-binary.ts";

/** Path of the browser; null when this machine has none. */
export const chromiumPath = (): string | null =>
  process.env.CHROMIUM_PATH ?? programOnPath("chromium") ?? programOnPath("chromium-browser");

/** Installs Debian's package as root. Throws with what to do where that is not possible: a missing browser never skips. */
export const installChromium = (): void => {
  const wanted =
    "The tests of the status page need Chromium: install it, set CHROMIUM_PATH, or run them as root on Debian";
  if (process.getuid?.() !== 0 || programOnPath("apt-get") === null) throw new Error(`${wanted}.`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  // Another test run on this machine may be installing, too.
  const apt = (...args: readonly string[]) =>
    execFileSync("apt-get", ["-o", "DPkg::Lock::Timeout=300", "-qq", ...args], { env, stdio: "pipe" });
  apt("update");
  apt("install", "-y", "--no-install-recommends", "chromium", "fonts-dejavu-core");
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
