import { parseArgs } from 'node:util'
import packageJson from '../../package.json' with { type: 'json' }
import { suggestName } from '../lib/text/nearest.ts'
import { type Command, type CommandArgs, usageError } from './command.ts'
import { formatDetail, formatGroup, formatOverview, formatUsage, getFirstWord } from './help.ts'

/** A parsed command line. */
type Invocation =
  | { readonly kind: 'help'; readonly text: string }
  | { readonly kind: 'run'; readonly command: Command; readonly args: CommandArgs }

const VERSION = ['--version', '-v', 'version']

/** True if the words of a command line ask for the version. */
export function isVersionRequest(words: readonly string[]): boolean {
  return words.length === 1 && VERSION.includes(words[0] ?? '')
}

/** Finds the command in `argv` and checks its arguments. Without arguments it is `serve`. Throws a usage error. */
export function parseCommandLine(argv: readonly string[], commands: readonly Command[]): Invocation {
  // `help org create` asks what `org create --help` does.
  const [first, ...others] = argv
  const words = first === undefined ? ['serve'] : first === 'help' ? [...others, '--help'] : argv
  if (isVersionRequest(words)) return { kind: 'help', text: `walletscope ${packageJson.version}` }
  const command = commands.find(({ name }) => name.split(' ').every((word, index) => words[index] === word))
  if (command === undefined) return explainGroup(words, commands)
  const rest = words.slice(command.name.split(' ').length)
  const { positionals, values } = parseRest(rest, command)
  if (values['help'] === true) return { kind: 'help', text: formatDetail(command) }
  if (positionals.length !== (command.positionals ?? []).length) {
    throw usageError(`Cannot run "${command.name}": expected ${formatUsage(command)}`)
  }
  const entries = Object.entries(values)
  const options = entries.flatMap(([name, value]) => (typeof value === 'string' ? [[name, unshield(value)]] : []))
  const lists = entries.flatMap(([name, value]) =>
    Array.isArray(value) ? [[name, value.map((each) => unshield(String(each)))]] : [],
  )
  const { required } = command
  if (required !== undefined && !options.some(([name, value]) => name === required && value !== '')) {
    throw usageError(`Cannot run "${command.name}": --${required} is missing; expected ${formatUsage(command)}`)
  }
  const args: CommandArgs = {
    positionals: positionals.map(unshield),
    options: Object.fromEntries(options),
    lists: Object.fromEntries(lists),
    flags: new Set(Object.keys(command.flags ?? {}).filter((name) => values[name] === true)),
    json: values['json'] === true,
  }
  return { kind: 'run', command, args }
}

const HELP = ['--help', '-h', 'help']

/** Explains all commands, or those of one first word. Throws a usage error for words that name no command. */
function explainGroup(words: readonly string[], commands: readonly Command[]): Invocation {
  const named = words.filter((word) => !word.startsWith('-') && word !== 'help')
  const [first = ''] = named
  const group = commands.filter(({ name }) => getFirstWord(name) === first)
  const isAsked = words.some((word) => HELP.includes(word))
  if (isAsked && named.length === 0) return { kind: 'help', text: formatOverview(commands) }
  if (isAsked && named.length === 1 && group.length > 0) return { kind: 'help', text: formatGroup(first, group) }
  const typed = words.slice(0, 2).join(' ')
  throw usageError(`Cannot find command "${typed}": ${suggestCommand(words, group.length > 0 ? group : commands)}`)
}

/** Suggests the nearest command, of one word or two, else lists all. */
function suggestCommand([first = '', second = '']: readonly string[], commands: readonly Command[]): string {
  const names = commands.map(({ name }) => name)
  const near = suggestName(`${first} ${second}`.trim(), names) ?? suggestName(first, names)
  return near === undefined ? `expected one of ${names.join(', ')}` : `did you mean "${near}"?`
}

/** Suggests the nearest option of a command for a misspelled one. */
function suggestOption(reason: string, { options, lists, flags }: Command): string {
  const [, word] = /^Unknown option '--([^']+)'/.exec(reason) ?? []
  const near =
    word === undefined
      ? undefined
      : suggestName(word, Object.keys({ ...options, ...lists, ...flags, json: '', help: '' }))
  return near === undefined ? '' : `, did you mean "--${near}"?`
}

function parseRest(
  rest: readonly string[],
  command: Command,
): { positionals: readonly string[]; values: Readonly<Record<string, unknown>> } {
  const { options = {}, lists = {}, flags = {} } = command
  const repeated = Object.fromEntries(
    Object.keys(lists).map((name) => [name, { type: 'string' as const, multiple: true }]),
  )
  const valued = Object.fromEntries(Object.keys(options).map((name) => [name, { type: 'string' as const }]))
  const bare = Object.fromEntries(Object.keys(flags).map((name) => [name, { type: 'boolean' as const }]))
  try {
    return parseArgs({
      args: rest.map(shield),
      allowPositionals: true,
      options: { ...valued, ...repeated, ...bare, help: { type: 'boolean', short: 'h' }, json: { type: 'boolean' } },
    })
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('.')[0] : 'bad option'
    throw usageError(
      `Cannot run "${command.name}": ${reason}${suggestOption(reason ?? '', command)}; expected ${formatUsage(command)}`,
    )
  }
}

/** Hides a negative number, which `parseArgs` would read as an option, behind a character that no argument can hold. */
function shield(word: string): string {
  return /^-\d/.test(word) ? `\0${word}` : word
}

function unshield(word: string): string {
  return word.startsWith('\0') ? word.slice(1) : word
}
