// `headgate completion …`: the scripts that complete commands, options and their values in a shell, and what the scripts ask for.
import { type CommandDeclaration, command } from '../command.ts';
import type { Shell } from '../completion.ts';

function completion(shell: Shell, example: string): CommandDeclaration {
  return command({
    usage: `completion ${shell} [words...]`,
    description: `print the completion script for ${shell}; with the words of a command line, print what can be the last one`,
    examples: [example],
    async run({ args, program, out }) {
      const { offerLines, scripts } = await import('../completion.ts');
      const offers = offerLines(program, shell, args);
      const isAsked = args.length > 0;
      if (out.json) return out.answer({ shell, ...(isAsked ? { offers } : { script: scripts[shell] }) }, () => []);
      return out.verbatim(isAsked ? offers.join('\n') : scripts[shell]);
    },
  });
}

export const completionBash = completion('bash', 'source <(headgate completion bash)');
export const completionZsh = completion(
  'zsh',
  'autoload -Uz compinit && compinit && source <(headgate completion zsh)',
);
export const completionFish = completion('fish', 'headgate completion fish | source');
