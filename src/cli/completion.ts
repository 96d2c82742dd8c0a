// Shell completion: scripts for bash, zsh and fish, generated from the commands and options that --help shows. Pure.
import { type Command, Option } from "commander";

// Options of every command.

export const addShared = (command: Command): Command =>
  command
    .option("--json", "print one JSON object on stdout")
    .option(
      "--config <file>",
      "configuration file (default: DUCKMIRROR_CONFIG, else duckmirror.yaml in this folder, if there is one)",
    )
    .option("--data-dir <dir>", "where warehouse, state and exports live (default: ./data)")
    .option("--profile <name>", "which organization, where the configuration has several")
    .option("-q, --quiet", "no progress and no log below errors")
    .option("-v, --verbose", "log more; show where an error came from")
    .addOption(new Option("--log-format <format>", "log lines for people or for machines").choices(["pretty", "json"]));

/** A command and the words that can follow it. */
export interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  /** Long options, `--full`; `values`: possible values, null when it takes none or any. */
  readonly options: readonly {
    readonly flag: string;
    readonly summary: string;
    readonly takesValue: boolean;
    readonly values: readonly string[];
  }[];
  /** Possible arguments, e.g. streams. */
  readonly words: readonly string[];
}

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/** Text without quotes and shell characters. */
const plain = (text: string): string => text.replaceAll(/["'`$\\]/g, "");

const caseOf = ({ name, options, words }: CompletedCommand): string => {
  const flags = options.map(({ flag }) => flag);
  const withValues = options.filter(({ takesValue }) => takesValue);
  const choices = withValues
    .filter(({ values }) => values.length > 0)
    .map(({ flag, values }) => `        ${flag}) COMPREPLY=($(compgen -W "${values.join(" ")}" -- "$cur")); return ;;`);
  const files = withValues.filter(({ values }) => values.length === 0).map(({ flag }) => flag);
  const anything =
    files.length === 0 ? [] : [`        ${files.join("|")}) COMPREPLY=($(compgen -f -- "$cur")); return ;;`];
  return [
    `    ${name})`,
    '      case "$prev" in',
    ...choices,
    ...anything,
    "      esac",
    `      COMPREPLY=($(compgen -W "${[...words, ...flags].join(" ")}" -- "$cur")) ;;`,
  ].join("\n");
};

const bash = (
  commands: readonly CompletedCommand[],
): string => `# duckmirror completion for bash: source it, e.g. from ~/.bashrc:
#   source <(duckmirror completion bash)
_duckmirror() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" command="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in
      ${commands.map(({ name }) => name).join("|")}) command="$word"; break ;;
    esac
  done
  case "$command" in
${commands.map(caseOf).join("\n")}
    *) COMPREPLY=($(compgen -W "${commands.map(({ name }) => name).join(" ")} --help --version" -- "$cur")) ;;
  esac
}
complete -F _duckmirror duckmirror
`;

const zsh = (
  commands: readonly CompletedCommand[],
): string => `# duckmirror completion for zsh: source it, e.g. from ~/.zshrc:
#   source <(duckmirror completion zsh)
autoload -U +X bashcompinit && bashcompinit
${bash(commands)}`;

const fish = (commands: readonly CompletedCommand[]): string => {
  const lines = commands.flatMap(({ name, summary, options, words }) => [
    `complete -c duckmirror -n __fish_use_subcommand -a ${name} -d '${plain(summary)}'`,
    ...options.map(({ flag, summary: what, takesValue, values }) => {
      const value = takesValue ? (values.length > 0 ? ` -x -a '${values.join(" ")}'` : " -r") : "";
      return `complete -c duckmirror -n '__fish_seen_subcommand_from ${name}' -l ${flag.slice(2)}${value} -d '${plain(what)}'`;
    }),
    ...(words.length === 0
      ? []
      : [`complete -c duckmirror -n '__fish_seen_subcommand_from ${name}' -a '${words.join(" ")}'`]),
  ]);
  return `# duckmirror completion for fish:
#   duckmirror completion fish > ~/.config/fish/completions/duckmirror.fish
complete -c duckmirror -f
${lines.join("\n")}
`;
};

/** The script of a shell. */
export const completionScript = (shell: Shell, commands: readonly CompletedCommand[]): string =>
  ({ bash, zsh, fish })[shell](commands);
