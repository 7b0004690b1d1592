// The completion script for zsh.
import { type CompletionPoint, commandPaths, optionsWith, type Word } from './points.ts';

export function zshScript(places: readonly CompletionPoint[]): string {
  const valued = [...optionsWith(places, 'free'), ...optionsWith(places, 'path'), ...optionsWith(places, 'words')];
  const choices = places.flatMap(({ path, options }) =>
    options
      .filter(({ value }) => value === 'words')
      .map(({ text, words }) => `      ${pattern([`${path} ${text}`])} compadd -- ${words.map(quoted).join(' ')} ;;`),
  );
  const commands = places
    .filter(place => place.commands.length > 0)
    .map(place => `      ${pattern([place.path])} found=(${described(place.commands)}) ;;`);
  const options = places.map(place => `      ${pattern([place.path])} found=(${described(place.options)}) ;;`);
  const pathPlaces = places.filter(({ takesPath }) => takesPath).map(({ path }) => path);
  return `#compdef headgate
# zsh completion for headgate: source it after compinit, or put it into a directory of $fpath as _headgate.
_headgate() {
  local at='' expects='' over='' word
  local -i i
  local -a found
  for (( i = 2; i < CURRENT; i++ )); do
    word=\${words[i]}
    if [[ -n $expects ]]; then expects=''; continue; fi
    case "$at $word" in
      ${pattern(commandPaths(places))} at="\${at:+$at }$word" ;;
      ${pattern(valued)} expects=$word ;;
      *' --') over=1 ;;
    esac
  done
  if [[ -z $expects$over && $PREFIX == --*=* ]]; then
    expects=\${PREFIX%%=*}
    compset -P 1 '*='
  fi
  if [[ -n $expects ]]; then
    case "$at $expects" in
${choices.join('\n')}
      ${pattern(optionsWith(places, 'path'))} _files ;;
    esac
  elif [[ -z $over && \${words[CURRENT]} == -* ]]; then
    case "$at" in
${options.join('\n')}
    esac
    _describe -o 'option' found
  else
    case "$at" in
${commands.join('\n')}
      ${pattern(pathPlaces)} _files ;;
    esac
    (( \${#found} )) && _describe 'command' found
  fi
}
if [[ \${funcstack[1]} == _headgate ]]; then _headgate "$@"; else compdef _headgate headgate; fi
`;
}

function pattern(texts: readonly string[]): string {
  return `(${texts.map(quoted).join('|')})`;
}

/** For `_describe`: a colon separates word and description. */
function described(words: readonly Word[]): string {
  return words.map(({ text, description }) => quoted(`${text}:${description}`)).join(' ');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
