// Makes the ids of runs, and the schema that checks them.
import { z } from "zod";

/** An id that comes from outside, such as Redis: it becomes the name of files and keys, and a part of messages. */
export const runIdSchema = z.string().regex(/^[0-9A-Za-z][\w.-]{0,119}$/, { error: "is no id of a run" });

const two = (value: number) => String(value).padStart(2, "0");

/** Id of a run: its start in UTC and a random part, so that ids sort by time. */
export const newRunId = (now: number, random: () => number): string => {
  const date = new Date(now);
  const day = `${date.getUTCFullYear()}${two(date.getUTCMonth() + 1)}${two(date.getUTCDate())}`;
  const time = `${two(date.getUTCHours())}${two(date.getUTCMinutes())}${two(date.getUTCSeconds())}`;
  const tail = Math.floor(random() * 36 ** 6)
    .toString(36)
    .padStart(6, "0");
  return `${day}T${time}Z-${tail}`;
};
