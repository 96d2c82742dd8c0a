// Global setup: a browser is on this machine before the first test starts.
import { chromiumPath, installChromium } from "./chromium.ts";

export default (): void => {
  if (chromiumPath() === null) installChromium();
};
