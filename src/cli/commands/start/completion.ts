// duckmirror completion: prints a shell's completion script, generated from the commands.
import { Command } from "commander";
import { z } from "zod";
import { STREAM_NAMES } from "../../../catalog/streams.ts";
import { type CommandEntry, defineCommand } from "../../command.ts";
import { addShared, type CompletedCommand, completionScript, SHELLS } from "../../completion.ts";

const inputSchema = z.object({
  args: z.tuple([z.enum(SHELLS, { error: `name a shell: ${SHELLS.join(", ")}` })], {
    error: `name a shell: ${SHELLS.join(", ")}`,
  }),
});

/** Options and words of a command, from its own declaration. */
const described = async ({ name, summary, load }: CommandEntry): Promise<CompletedCommand> => {
  const command = addShared(new Command(name));
  (await load()).command.configure(command);
  const argument = command.registeredArguments[0]?.name() ?? "";
  const options = command.options.map(({ long, description, required, optional, argChoices }) => ({
    flag: long ?? "",
    summary: description,
    takesValue: required || optional,
    values: argChoices ?? [],
  }));
  return {
    name,
    summary,
    options: options.filter(({ flag }) => flag !== ""),
    words: argument === "streams" ? STREAM_NAMES : argument === "shell" ? SHELLS : [],
  };
};

export const command = defineCommand({
  configure: (cli) => cli.argument("<shell>", `one of ${SHELLS.join(", ")}`),
  examples: {
    "source <(duckmirror completion bash)": "in ~/.bashrc",
    "source <(duckmirror completion zsh)": "in ~/.zshrc",
    "duckmirror completion fish > ~/.config/fish/completions/duckmirror.fish": "once",
  },
  input: inputSchema,
  run: async ({ args: [shell] }, { commands, show }) => {
    const script = completionScript(shell, await Promise.all(commands.map(described)));
    return show({ shell, script }, () => script);
  },
});
