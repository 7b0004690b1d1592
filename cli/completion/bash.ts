// The completion script for bash.
import { commandPaths, optionsWith, type Place } from './places.ts';

export function bashScript(places: readonly Place[]): string {
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
  local line="\${COMP_LINE:0:COMP_POINT}" at='' expects='' found='' cur='' kept word
  local -a words=()
  COMPREPLY=()
  # By spaces: bash's own words end at each colon.
  read -ra words <<< "$line"
  if [[ $line != *[[:space:]] ]]; then
    cur="\${words[\${#words[@]} - 1]}"
    unset "words[\${#words[@]} - 1]"
  fi
  for word in "\${words[@]:1}"; do
    if [[ -n $expects ]]; then expects=''; continue; fi
    case "$at $word" in
      ${pattern(commandPaths(places))}) at="\${at:+$at }$word" ;;
      ${pattern(valued)}) expects="$word" ;;
    esac
  done
  if [[ -n $expects ]]; then
    case "$at $expects" in
${choices.join('\n')}
      ${pattern(optionsWith(places, 'path'))}) compopt -o default 2>/dev/null ;;
    esac
  elif [[ $cur == -* ]]; then
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
