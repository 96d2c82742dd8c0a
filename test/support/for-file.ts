// What the tests of a file share: opened at its top, ended after its last test.
import { afterAll } from "vitest";

type Opened = { close(): unknown } | { stop(): unknown };

/** Waits for what is opened, and ends it after the last test of the file; what was opened last ends first. */
export const forFile = async <T extends Opened>(opening: Promise<T>): Promise<T> => {
  const opened = await opening;
  afterAll(async () => {
    await ("close" in opened ? opened.close() : opened.stop());
  });
  return opened;
};
