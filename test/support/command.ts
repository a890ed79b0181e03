import { expect } from 'bun:test'
import { PassThrough, type Readable } from 'node:stream'
import type { Command, CommandIo } from '../../src/command/command.ts'
import { parseCommandLine } from '../../src/command/parse.ts'
import { readConfig } from '../../src/config/config.ts'

/** What a command did. */
interface CommandResult {
  readonly status: number
  /** Lines of standard output and of standard error, joined. */
  readonly out: string
  readonly err: string
  /** What it threw. */
  readonly error: Error | undefined
}

interface RunOptions {
  readonly env: Readonly<Record<string, string>>
  /** What a person types at a terminal. @default standard input is no terminal, and empty */
  readonly typed?: string
}

/** Runs a command line in this process, by the commands that are given. */
export async function runInProcess(
  commands: readonly Command[],
  words: readonly string[],
  { env, typed }: RunOptions,
): Promise<CommandResult> {
  const invocation = parseCommandLine(words, commands)
  if (invocation.kind !== 'run') throw new Error(`Expected a command to run, got "${words.join(' ')}"`)
  const [out, err]: [string[], string[]] = [[], []]
  const io: CommandIo = {
    out: (text) => out.push(text),
    err: (text) => err.push(text),
    config: () => readConfig(env, () => ''),
    environment: env,
    stop: new AbortController().signal,
    stdout: () => expect.unreachable(),
    stdin: () => createStdin(typed),
  }
  const result = await Promise.resolve(invocation.command.run(invocation.args, io)).then(
    (status) => ({ status: status ?? 0, error: undefined }),
    (error: Error) => ({ status: 1, error }),
  )
  return { ...result, out: out.join('\n'), err: err.join('\n') }
}

function createStdin(typed: string | undefined): Readable & { readonly isTTY: boolean } {
  const stream = new PassThrough()
  stream.end(typed)
  return Object.assign(stream, { isTTY: typed !== undefined })
}
