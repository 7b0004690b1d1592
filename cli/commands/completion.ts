// The commands `headgate completion …`, which print the completion script of a shell, or the candidates that this script asks for.
import { type CommandDeclaration, command } from '../command.ts';
import type { Shell } from '../completion.ts';

const examples: { readonly [S in Shell]: string } = {
  bash: 'source <(headgate completion bash)',
  zsh: 'autoload -Uz compinit && compinit && source <(headgate completion zsh)',
  fish: 'headgate completion fish | source',
};

export const completionCommands = (Object.keys(examples) as Shell[]).map(completion);

function completion(shell: Shell): CommandDeclaration {
  return command({
    usage: `completion ${shell} [words...]`,
    description: `print the completion script for ${shell}; with the words of a command line, print the candidates for the last one (the service provides names of plugins, pipelines and schedules)`,
    examples: [examples[shell]],
    async run({ args, program, io, out }) {
      const { offerLines, scripts } = await import('../completion.ts');
      const { offeredNames } = await import('../client/names.ts');
      const offers = await offerLines(program, shell, args, wanted => offeredNames(wanted, io));
      const isAsked = args.length > 0;
      if (out.json) return out.answer({ shell, ...(isAsked ? { offers } : { script: scripts[shell] }) }, () => []);
      return out.verbatim(isAsked ? offers.join('\n') : scripts[shell]);
    },
  });
}
