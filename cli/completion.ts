// Shell completion. A shell's script passes the words of the line to `headgate completion`, which prints the candidates for the last word.
import type { Command, Option } from 'commander';
import type { AddressOptions } from './client/address.ts';

export type CompletionCandidate = { readonly text: string; readonly description: string };
export type Shell = 'bash' | 'zsh' | 'fish';

/** Printed where a path is expected, alone or among other candidates. The shell's script then lets the shell complete paths. */
const pathMark = '<path>';
const anyPath: CompletionCandidate = { text: pathMark, description: '' };

/** Arguments whose candidates only the service knows. */
const namedKinds = ['plugin', 'pipeline', 'schedule'] as const;
type NamedKind = (typeof namedKinds)[number];

/** The result of `offersFor` if only the service knows the candidates. They are names of the kind `names`, and begin with `current`. */
export type NamesQuery = {
  readonly names: NamedKind;
  readonly current: string;
  readonly address: AddressOptions;
};

/** The candidates for the last word, which is the word at the cursor. */
function offersFor(program: Command, words: readonly string[]): readonly CompletionCandidate[] | NamesQuery {
  let at = program;
  let expects: Option | undefined;
  let isPastOptions = false;
  let argumentsGiven = 0;
  const values: { [option: string]: string } = {};
  for (const word of words.slice(0, -1)) {
    if (expects !== undefined) {
      values[expects.attributeName()] = word;
      expects = undefined;
    } else if (isPastOptions) argumentsGiven++;
    else if (word === '--') isPastOptions = true;
    else {
      expects = optionsOf(at).find(option => option.long === word && takesValue(option));
      const inner = at.commands.find(command => command.name() === word);
      if (inner) at = inner;
      else if (!word.startsWith('-')) argumentsGiven++;
      else Object.assign(values, valueInWord(at, word));
    }
  }
  const current = words.at(-1) ?? '';
  const beginning = (offers: readonly CompletionCandidate[]) => offers.filter(({ text }) => text.startsWith(current));
  const [flag = '', value] = current.startsWith('--') ? current.split('=', 2) : [];
  const inWord = value === undefined ? undefined : optionsOf(at).find(option => option.long === flag);
  const option = expects ?? inWord;
  if (option !== undefined) {
    if (isPath(valueName(option))) return [anyPath];
    const prefix = expects === undefined ? `${flag}=` : '';
    return beginning(
      (option.argChoices ?? offered[valueName(option)] ?? []).map(choice => ({
        text: `${prefix}${choice}`,
        description: '',
      })),
    );
  }
  if (current.startsWith('-') && !isPastOptions)
    return beginning(optionsOf(at).map(({ long, description }) => ({ text: long ?? '', description })));
  const subcommands = beginning(
    at.commands.map(command => ({ text: command.name(), description: command.description() })),
  );
  if (at.registeredArguments.some(argument => isPath(argument.name()))) return [...subcommands, anyPath];
  const argument = at.registeredArguments[argumentsGiven]?.name();
  const names = namedKinds.find(kind => kind === argument);
  if (names !== undefined && optionsOf(at).some(({ long }) => long === '--url')) {
    const { url, config } = values;
    return { names, current, address: { ...(url !== undefined && { url }), ...(config !== undefined && { config }) } };
  }
  return subcommands;
}

/** The value in a word of the form `--option=value`, keyed by the option's name; empty for any other word. */
function valueInWord(command: Command, word: string): { [option: string]: string } {
  const end = word.indexOf('=');
  const option = optionsOf(command).find(({ long }) => end > 0 && long === word.slice(0, end));
  return option ? { [option.attributeName()]: word.slice(end + 1) } : {};
}

function optionsOf(command: Command): Option[] {
  return command.createHelp().visibleOptions(command);
}

function takesValue(option: Option): boolean {
  return option.required || option.optional;
}

/** Candidates for the values of options, by the placeholder in the option's usage (`--from <point>`). Other values may be valid, too. */
const offered: { readonly [name: string]: readonly string[] | undefined } = {
  point: ['start', 'failed'],
  window: ['2h..1h', '2d..1d', '8d..7d'],
};

function valueName({ flags }: Option): string {
  return /[<[]([^>\]]+)[>\]]/.exec(flags)?.[1] ?? '';
}

function isPath(name: string): boolean {
  return ['path', 'directory', 'file'].includes(name);
}

/** The candidates for the last word, as the lines that the shell's script reads. `namesOf` asks the service for names. */
export async function offerLines(
  program: Command,
  shell: Shell,
  words: readonly string[],
  namesOf: (wanted: NamesQuery) => Promise<readonly CompletionCandidate[]>,
): Promise<string[]> {
  const whole = shell === 'bash' ? joinedWords(words) : words;
  const found = offersFor(program, whole);
  const offers = 'names' in found ? await namesOf(found) : found;
  // bash replaces only the text after the last `:` or `=`, so the candidates leave out the text up to that character.
  const [, onLine = ''] = shell === 'bash' ? (/^(.*[:=])/.exec(whole.at(-1) ?? '') ?? []) : [];
  return offers.map(({ text, description }) => {
    if (text === pathMark) return text;
    if (shell === 'bash') return text.slice(onLine.length);
    return shell === 'zsh' ? `${text.replaceAll(':', '\\:')}:${description}` : `${text}\t${description}`;
  });
}

/** Joins the words that bash has split at colons and equals signs. */
function joinedWords(words: readonly string[]): string[] {
  const joined: string[] = [];
  for (const word of words) {
    const before = joined.at(-1);
    const belongs = before !== undefined && (/^[:=]+$/.test(word) || /[:=]$/.test(before));
    if (belongs) joined[joined.length - 1] = before + word;
    else joined.push(word);
  }
  return joined;
}

export const scripts: { readonly [S in Shell]: string } = {
  bash: `# bash completion for headgate: source it, or put it where bash-completion looks.
_headgate() {
  local word path='' after="\${COMP_LINE:COMP_POINT}" words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  # Drop the text after the cursor.
  words[COMP_CWORD-1]="\${COMP_WORDS[COMP_CWORD]%"\${after%%[[:space:]]*}"}"
  COMPREPLY=()
  while IFS= read -r word; do
    if [[ $word == '${pathMark}' ]]; then path=1; else COMPREPLY+=("$word"); fi
  done < <("$1" completion bash -- "\${words[@]}" 2>/dev/null)
  if [[ -z $path ]]; then return; fi
  # readline completes paths itself only if nothing else is offered.
  if (( \${#COMPREPLY[@]} == 0 )); then compopt -o default 2>/dev/null; return; fi
  compopt -o filenames 2>/dev/null || true
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "\${words[COMP_CWORD-1]}")
}
complete -F _headgate headgate
`,
  zsh: `#compdef headgate
# zsh completion for headgate: source it after compinit, or put it into a directory of $fpath as _headgate.
_headgate() {
  local -a found
  found=("\${(@f)$("\${words[1]}" completion zsh -- "\${(@Q)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
  if (( \${found[(Ie)${pathMark}]} )); then
    found=("\${(@)found:#'${pathMark}'}")
    if [[ -n $found ]]; then _describe 'headgate' found; fi
    if [[ $PREFIX == --*=* ]]; then compset -P 1 '*='; fi
    _files
  elif [[ -n $found ]]; then
    _describe 'headgate' found
  fi
}
if [[ \${funcstack[1]} == _headgate ]]; then _headgate "$@"; else compdef _headgate headgate; fi
`,
  fish: `# fish completion for headgate: source it, or save it as ~/.config/fish/completions/headgate.fish.
function __headgate_offers
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l found ($words[1] completion fish -- $words[2..-1] "$current" 2>/dev/null)
    if contains -- '${pathMark}' $found
        set -l flag (string match -r -- '^--[^=]*=' "$current")
        __fish_complete_path (string replace -- "$flag" '' "$current") | string replace -r -- '^' "$flag"
        set found (string match -v -- '${pathMark}' $found)
    end
    string join \\n -- $found
end
complete -c headgate -f -a '(__headgate_offers)'
`,
};
