import { groupBy } from '../lib/group_by.ts'
import { wrapText } from '../lib/text/wrap_text.ts'
import type { Command } from './command.ts'

/** Maximum columns of a line, so that terminals do not wrap it at its first column. */
const COLUMNS = 100

/** What the first words of commands are for, in the order of the overview. */
const SECTIONS: Readonly<Record<string, readonly string[]>> = {
  Serve: ['serve', 'doctor', 'kit', 'openapi', 'licenses'],
  'Organizations, keys and credits': ['org', 'key', 'credits', 'login', 'logout'],
  'A running service': ['settings', 'trigger', 'index'],
  Database: ['migrate', 'backup', 'restore'],
  Receipts: ['verify', 'keys'],
}

/** Formats all commands by what they are for, with first steps. */
export function formatOverview(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length))
  const bySection = groupBy(commands, ({ name }) => findSection(getFirstWord(name)))
  const sections = [...Object.keys(SECTIONS), OTHERS].flatMap((section) => {
    const listed = bySection.get(section)
    return listed === undefined ? [] : [`${section}:`, ...formatSummaries(listed, width), '']
  })
  return [
    'walletscope: what does this wallet hold, earn, owe and risk?',
    '',
    'Usage: walletscope [<command>] [--json]',
    '',
    'First steps:',
    '  walletscope                               serve; the first start prints an address and a key',
    '  walletscope doctor                        see what your endpoints can do, and what to set',
    '  walletscope org create Shop --credits 1000 --key',
    '                                            give another organization credits and a key',
    '',
    ...sections,
    '--help after a command explains it; serve --help lists the environment variables.',
    '--version prints the version. Exit status: 0 success, 1 failure, 2 wrong usage.',
  ].join('\n')
}

const OTHERS = 'Others'

function findSection(word: string): string {
  return Object.keys(SECTIONS).find((section) => SECTIONS[section]?.includes(word)) ?? OTHERS
}

/** Formats the commands of one group, such as `org`. */
export function formatGroup(word: string, commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length))
  const [first] = commands
  return [
    `Usage: walletscope ${word} <command> [--json]`,
    '',
    ...formatSummaries(commands, width),
    '',
    `--help after a command explains it: walletscope ${first?.name} --help`,
  ].join('\n')
}

function formatSummaries(commands: readonly Command[], width: number): readonly string[] {
  return commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`)
}

/** Formats one command with its options and an example. */
export function formatDetail(command: Command): string {
  const { summary, options = {}, lists = {}, flags = {}, json = 'answers as JSON, for programs', more } = command
  const meanings = {
    ...toMeanings({ ...lists, ...options }, ' …'),
    ...toMeanings(flags, ''),
    '--json': json,
  }
  const width = Math.max(...Object.keys(meanings).map((name) => name.length))
  const rows = Object.entries(meanings).map(([name, meaning]) => {
    const [first = '', ...rest] = wrapText(meaning, COLUMNS - width - 4)
    return [`  ${name.padEnd(width)}  ${first}`, ...rest.map((line) => `${' '.repeat(width + 4)}${line}`)].join('\n')
  })
  const example = command.example === undefined ? [] : ['', 'Example:', `  walletscope ${command.example}`]
  return [
    ...[...wrapText(summary, COLUMNS), '', `Usage: ${formatUsage(command)}`, '', ...rows],
    ...(more === undefined ? [] : ['', more()]),
    ...example,
  ].join('\n')
}

function toMeanings(options: Readonly<Record<string, string>>, value: string): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(options).map(([name, meaning]) => [`--${name}${value}`, meaning]))
}

/** Formats the line that shows how a command is typed; what may be left out stands in brackets. */
export function formatUsage({
  name,
  positionals = [],
  required,
  options = {},
  lists = {},
  flags = {},
}: Command): string {
  const words = [
    ...positionals.map((each) => ` <${each}>`),
    ...Object.keys(options).map((each) => (each === required ? ` --${each} …` : ` [--${each} …]`)),
    ...Object.keys(lists).map((each) => ` [--${each} …]…`),
    ...Object.keys(flags).map((each) => ` [--${each}]`),
  ]
  return `walletscope ${name}${words.join('')} [--json]`
}

/** Returns the first word of a command: `org` of `org create`. */
export function getFirstWord(name: string): string {
  return name.split(' ', 1)[0] ?? ''
}
