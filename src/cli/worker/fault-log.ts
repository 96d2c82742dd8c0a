// Logs failures of a server's requests, one line for each; only a fault of duckmirror itself has a stack.
import { DuckmirrorError } from "../../core/errors.ts";
import type { Logger } from "../../core/log.ts";
import { levelOf } from "../../core/report/severity.ts";

export const faultLog =
  (logger: Pick<Logger, "warn" | "error">) =>
  (error: unknown): void => {
    if (error instanceof DuckmirrorError) {
      logger[levelOf(error)](`a request failed: ${error.code}: ${error.message} ${error.hint}`);
    } else logger.error({ err: error }, "a request failed");
  };
