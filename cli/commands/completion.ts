// `headgate completion …`: scripts that complete commands, options and their values in a shell.
import { type CommandDeclaration, command } from '../command.ts';
import type { CompletionPoint } from '../completion/points.ts';
import { exitStatus } from '../exit-status.ts';

type Writer = (places: readonly CompletionPoint[]) => string;

function completion(shell: string, example: string, load: () => Promise<Writer>): CommandDeclaration {
  return command({
    usage: `completion ${shell}`,
    description: `print the completion script for ${shell}`,
    examples: [example],
    async run({ program, out }) {
      const [write, { completionPoints }] = await Promise.all([load(), import('../completion/points.ts')]);
      const script = write(completionPoints(program));
      await (out.json ? out.answer({ shell, script }, () => []) : out.verbatim(script));
      return exitStatus.ok;
    },
  });
}

export const completionBash = completion(
  'bash',
  'source <(headgate completion bash)',
  async () => (await import('../completion/bash.ts')).bashScript,
);

export const completionZsh = completion(
  'zsh',
  'autoload -Uz compinit && compinit && source <(headgate completion zsh)',
  async () => (await import('../completion/zsh.ts')).zshScript,
);

export const completionFish = completion(
  'fish',
  'headgate completion fish | source',
  async () => (await import('../completion/fish.ts')).fishScript,
);
