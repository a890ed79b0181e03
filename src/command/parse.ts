import { parseArgs } from 'node:util'
import { type Command, type CommandArgs, UsageError } from './command.ts'

/** What a command line asks for. */
export type Invocation =
  | { readonly kind: 'help'; readonly text: string }
  | { readonly kind: 'run'; readonly command: Command; readonly args: CommandArgs }

/** Finds the command that `argv` names and checks its arguments. No argument at all means `serve`. Throws `UsageError`. */
export function parseCommandLine(argv: readonly string[], commands: readonly Command[]): Invocation {
  const words = argv.length === 0 ? ['serve'] : argv
  const command = commands.find(({ name }) => name.split(' ').every((word, index) => words[index] === word))
  if (command === undefined) {
    const group = commands.filter(({ name }) => name.split(' ')[0] === words[0])
    if (words.some((word) => word === '--help' || word === '-h' || word === 'help')) {
      return { kind: 'help', text: overview(group.length > 0 ? group : commands) }
    }
    const known = (group.length > 0 ? group : commands).map(({ name }) => name).join(', ')
    throw new UsageError(`Cannot find command "${words.slice(0, 2).join(' ')}": expected one of ${known}`)
  }
  const rest = words.slice(command.name.split(' ').length)
  const { positionals, values } = parseRest(rest, command)
  if (values['help'] === true) return { kind: 'help', text: detail(command) }
  if (positionals.length !== command.positionals.length) {
    throw new UsageError(`Cannot run "${command.name}": expected ${usage(command)}`)
  }
  const options = Object.fromEntries(
    Object.keys(command.options).map((name) => {
      const value = values[name]
      return [name, typeof value === 'string' ? value : undefined]
    }),
  )
  return { kind: 'run', command, args: { positionals, options, json: values['json'] === true } }
}

function parseRest(
  rest: readonly string[],
  command: Command,
): { positionals: readonly string[]; values: Readonly<Record<string, unknown>> } {
  const valued = Object.fromEntries(Object.keys(command.options).map((name) => [name, { type: 'string' as const }]))
  try {
    return parseArgs({
      args: [...rest],
      allowPositionals: true,
      options: { ...valued, help: { type: 'boolean', short: 'h' }, json: { type: 'boolean' } },
    })
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('.')[0] : 'bad option'
    throw new UsageError(`Cannot run "${command.name}": ${reason}; expected ${usage(command)}`)
  }
}

function usage(command: Command): string {
  const positionals = command.positionals.map((name) => ` <${name}>`).join('')
  const options = Object.keys(command.options).map((name) => ` [--${name} …]`)
  return `walletscope ${command.name}${positionals}${options.join('')} [--json]`
}

function overview(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length))
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`)
  return [
    'walletscope: what does this wallet hold, earn, owe and risk?',
    '',
    'Usage: walletscope <command> [--help] [--json]',
    '',
    ...lines,
    '',
    'Without a command it serves. README.md lists the environment variables.',
  ].join('\n')
}

function detail(command: Command): string {
  const options = Object.entries(command.options).map(([name, meaning]) => `  --${name} …  ${meaning}`)
  return [command.summary, '', `Usage: ${usage(command)}`, ...(options.length > 0 ? ['', ...options] : [])].join('\n')
}
