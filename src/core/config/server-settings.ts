// Settings about the server of `serve` and `worker`: where it answers, and who may ask.

import { keyProblem } from "./key-text.ts";
import { parseListen } from "./listen-address.ts";
import { flaw, one, text, yesNo } from "./setting-parsers.ts";

export const serverSettings = {
  listen: one("an address like 127.0.0.1:8737", (value) => parseListen(value))
    .prefault("127.0.0.1:8737")
    .meta({
      description:
        "Address and port of `serve` and `worker`; any address other than this machine itself needs a server key.",
    }),
  server_key: one("a key", (value) => {
    const problem = keyProblem(value);
    return problem === null ? value : flaw(problem);
  })
    .optional()
    .meta({ description: "Key for page, API and metrics of the server. Better kept in a file of its own." }),
  server_key_file: text
    .optional()
    .meta({ description: "File that holds the server key.", examples: ["~/.config/duckmirror/server-key"] }),
  tls_cert_file: text
    .optional()
    .meta({ description: "Certificate (PEM) of page, API and metrics; with tls_key_file the server uses https only." }),
  tls_key_file: text.optional().meta({ description: "Private key (PEM) of tls_cert_file." }),
  require_key: yesNo.prefault(false).meta({
    description:
      "Require a key on this machine, too; if there is none, `serve` and `worker` create it in state/server-key.",
  }),
};
