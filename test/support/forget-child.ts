// A process of its own that forgets a contact and is killed after a step. Arguments: data directory, id, step.
import { createForgetBodies } from "../../src/sync/recovery/forget-bodies.ts";
import { forgetContacts } from "../../src/warehouse/forget/forget.ts";

const [dataDir = "", id = "", last = ""] = process.argv.slice(2);
await forgetContacts(
  { dataDir, clock: { now: () => Date.now(), sleep: () => Promise.reject(new Error("nothing sleeps here")) } },
  {
    ids: [id],
    emails: [],
    all: false,
    exportDirs: [],
    bodies: createForgetBodies,
    onStep: (step) => {
      if (step === last) process.kill(process.pid, "SIGKILL");
    },
  },
);
