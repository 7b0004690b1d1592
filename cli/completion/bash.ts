// The completion script for bash.
import { type CompletionPoint, commandPaths, optionsWith } from './points.ts';

export function bashScript(places: readonly CompletionPoint[]): string {
  const valued = [...optionsWith(places, 'free'), ...optionsWith(places, 'path'), ...optionsWith(places, 'words')];
  const choices = places.flatMap(({ path, options }) =>
    options
      .filter(({ value }) => value === 'words')
      .map(({ text, words }) => `      ${pattern([`${path} ${text}`])}) found=${quoted(words.join(' '))} ;;`),
  );
  const commands = places
    .filter(place => place.commands.length > 0)
    .map(place => `    ${pattern([place.path])}) found=${quoted(place.commands.map(({ text }) => text).join(' '))} ;;`);
  const options = places.map(
    place => `      ${pattern([place.path])}) found=${quoted(place.options.map(({ text }) => text).join(' '))} ;;`,
  );
  const pathPlaces = places.filter(({ takesPath }) => takesPath).map(({ path }) => path);
  return `# bash completion for headgate: source it, or put it where bash-completion looks.
_headgate() {
  local at='' expects='' found='' cur='' over='' kept word after="\${COMP_LINE:COMP_POINT}"
  COMPREPLY=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD}"; do
    # bash ends a word at each colon and equals sign: only the latter parts an option from its value.
    if [[ $word == :* || $cur == *: ]]; then cur+="$word"; continue; fi
    if [[ -n $expects ]]; then
      if [[ $cur != = ]]; then expects=''; fi
    else
      case "$at $cur" in
        ${pattern(commandPaths(places))}) at="\${at:+$at }$cur" ;;
        ${pattern(valued)}) expects="$cur" ;;
        *' --') over=1 ;;
      esac
    fi
    cur="$word"
  done
  if [[ $cur == = ]]; then cur=''; fi
  cur="\${cur%"\${after%%[[:space:]]*}"}"
  if [[ -n $expects ]]; then
    case "$at $expects" in
${choices.join('\n')}
      ${pattern(optionsWith(places, 'path'))}) compopt -o default 2>/dev/null ;;
    esac
  elif [[ -z $over && $cur == -* ]]; then
    case "$at" in
${options.join('\n')}
    esac
  else
    case "$at" in
  ${commands.join('\n  ')}
      ${pattern(pathPlaces)}) compopt -o default 2>/dev/null ;;
    esac
  fi
  # What stands before a colon is on the line already.
  kept="\${cur%"\${cur##*:}"}"
  while IFS= read -r word; do COMPREPLY+=("\${word#"$kept"}"); done < <(compgen -W "$found" -- "$cur")
}
complete -F _headgate headgate
`;
}

function pattern(texts: readonly string[]): string {
  return texts.map(quoted).join(' | ');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
