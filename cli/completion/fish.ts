// The completion script for fish.
import { type CompletedOption, type CompletionPoint, commandPaths, optionsWith } from './points.ts';

export function fishScript(places: readonly CompletionPoint[]): string {
  const valued = [...optionsWith(places, 'free'), ...optionsWith(places, 'path'), ...optionsWith(places, 'words')];
  return `# fish completion for headgate: source it, or save it as ~/.config/fish/completions/headgate.fish.
function __headgate_at --argument-names wanted
    set -l at ''
    set -l skips 0
    for word in (commandline -opc)[2..-1]
        if test $skips = 1
            set skips 0
            continue
        end
        switch "$at $word"
            case ${commandPaths(places).map(quoted).join(' ')}
                set at (string trim -- "$at $word")
            case ${valued.map(quoted).join(' ')}
                set skips 1
        end
    end
    test "$at" = "$wanted"
end
complete -c headgate -f
${places.flatMap(linesOf).join('\n')}
`;
}

function linesOf({ path, commands, options, takesPath }: CompletionPoint): string[] {
  const start = `complete -c headgate -n ${quoted(`__headgate_at ${quoted(path)}`)}`;
  return [
    ...commands.map(({ text, description }) => `${start} -a ${text} -d ${quoted(description)}`),
    ...options.map(option => `${start} ${optionWords(option)} -d ${quoted(option.description)}`),
    ...(takesPath ? [`${start} -F`] : []),
  ];
}

function optionWords({ text, value, words }: CompletedOption): string {
  const long = `-l ${text.slice(2)}`;
  if (value === 'none') return long;
  if (value === 'path') return `${long} -r -F`;
  return value === 'words' ? `${long} -x -a ${quoted(words.map(asWritten).join(' '))}` : `${long} -x`;
}

/** fish expands the values of an option: `*` would become the files of the working directory. */
function asWritten(word: string): string {
  return word.replaceAll(/[^\w:@%+=,./-]/g, sign => `\\${sign}`);
}

/** In fish's quotes only these two need a backslash. */
function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
