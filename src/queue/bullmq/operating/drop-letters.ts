// Drops dead letters of any queue. Those of a sync that has not ended stay, because its report needs them.
import type { Job, Queue } from "bullmq";
import { DuckmirrorError } from "../../../core/errors.ts";
import type { Queues } from "../../redis/queues.ts";
import { isPartOfLive } from "./dead-letters.ts";

/** Most letters dropped per queue at once; as many are kept. */
const MOST = 5_000;

interface Letter {
  readonly id: string;
  readonly queue: string;
}

export interface Dropped {
  readonly dropped: readonly Letter[];
  /** Their sync has not ended. */
  readonly kept: readonly Letter[];
}

/** Which letters: by id, or all of these queues. */
export type LetterChoice =
  | { readonly by: "id"; readonly ids: readonly string[] }
  | { readonly by: "queue"; readonly queues: readonly string[] };

const lettersIn = async (queue: Queue): Promise<readonly string[]> => {
  const jobs: (Job | undefined)[] = await queue.getFailed(0, MOST - 1);
  return jobs.flatMap((job) => (job?.id === undefined ? [] : [job.id]));
};

/** The queue that has the letter. Throws RUN_UNKNOWN. */
const queueWith = async (list: readonly Queue[], id: string): Promise<Queue> => {
  for (const queue of list) if ((await queue.getJobState(id)) === "failed") return queue;
  throw new DuckmirrorError("RUN_UNKNOWN", { run: id });
};

/** Throws RUN_UNKNOWN for an id that is no letter; then nothing is dropped. */
export const dropLetters = async (queues: Queues, choice: LetterChoice): Promise<Dropped> => {
  const list = Object.values(queues);
  const chosen: { readonly id: string; readonly queue: Queue }[] = [];
  if (choice.by === "id") for (const id of choice.ids) chosen.push({ id, queue: await queueWith(list, id) });
  else
    for (const queue of list.filter(({ name }) => choice.queues.includes(name)))
      for (const id of await lettersIn(queue)) chosen.push({ id, queue });

  const dropped: Letter[] = [];
  const kept: Letter[] = [];
  for (const { id, queue } of chosen) {
    const letter = { id, queue: queue.name };
    const isPart = await isPartOfLive(queues, queue.name, id);
    if (!isPart) await queue.remove(id);
    (isPart ? kept : dropped).push(letter);
  }
  return { dropped, kept };
};
