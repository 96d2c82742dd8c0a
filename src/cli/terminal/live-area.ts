// Redraws a few lines at the bottom of the terminal; other text is written above them.
import type { Writable } from "node:stream";
import { createLogUpdate } from "log-update";

export interface LiveArea {
  draw(lines: readonly string[]): void;
  /** Writes text above the lines; it stays there. */
  above(text: string): void;
  /** Leaves the lines as they are and moves below them. */
  end(): void;
}

/** A live area on a terminal's stream. The cursor stays visible, so a killed program leaves the terminal usable. */
export const createLiveArea = (stream: Writable): LiveArea => {
  const update = createLogUpdate(stream, { showCursor: true });
  let shown = "";
  return {
    draw: (lines) => {
      shown = lines.join("\n");
      update(shown);
    },
    above: (text) => {
      update.clear();
      stream.write(text);
      if (shown !== "") update(shown);
    },
    end: () => {
      update.done();
      shown = "";
    },
  };
};
