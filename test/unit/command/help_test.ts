import { describe, expect, test } from 'bun:test'
import { parseCommandLine } from '../../../src/command/parse.ts'
import { loadCommands } from '../../../src/program.ts'
import { bunRuntime } from '../../support/serve_command.ts'

const COLUMNS = 100
const commands = await loadCommands(['--help'], bunRuntime)

function explain(line: string): string {
  const found = parseCommandLine(line.split(' '), commands)
  return found.kind === 'help' ? found.text : ''
}

/** Splits a line as a shell does, without what follows a redirection. */
function splitShellLine(line: string): readonly string[] {
  const [typed = ''] = line.split(' > ')
  return [...typed.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word)
}

/** Lines that a terminal would wrap; how a command is typed stands in one. */
function listLongLines(text: string): readonly string[] {
  return text.split('\n').filter((line) => line.length > COLUMNS && !line.startsWith('Usage: '))
}

describe('--help', () => {
  test('lists every command under what it is for, and how to begin', () => {
    const text = explain('--help')
    for (const { name, summary } of commands)
      expect(text).toMatch(new RegExp(`^  ${name} +${RegExp.escape(summary)}$`, 'm'))
    expect(text).not.toContain('Others:')
    expect(text).toContain('First steps:\n  walletscope  ')
    expect(listLongLines(text)).toEqual([])
    expect([explain('-h'), explain('help')]).toEqual([text, text])
  })

  test('of a first word lists its commands alone', () => {
    const text = explain('org --help')
    expect(text).toStartWith('Usage: walletscope org <command>')
    expect(text).toContain('\n  org create ')
    expect(text).not.toContain('key create')
    expect(explain('help org')).toBe(text)
  })

  test.each(commands.map((command) => [command.name, command] as const))(
    'of %s fits, and its example is right',
    (name, command) => {
      const text = explain(`${name} --help`)
      expect(explain(`help ${name}`)).toBe(text)
      expect(listLongLines(text)).toEqual([])
      const { example } = command
      const takesWords = (command.positionals ?? []).length > 0 || command.required !== undefined
      expect(example !== undefined || !takesWords || /^org (?:suspend|restore)$|^key list$/.test(name)).toBe(true)
      if (example === undefined) return
      expect(text).toEndWith(`Example:\n  walletscope ${example}`)
      expect(parseCommandLine(splitShellLine(example), commands)).toMatchObject({ kind: 'run', command: { name } })
    },
  )

  test('of a word that is no command is wrong usage, with the nearest', () => {
    expect(() => explain('serv --help')).toThrow('did you mean "serve"?')
    expect(() => explain('help org fly')).toThrow('Cannot find command "org fly"')
  })

  test('shows an option that must be given without brackets, and its absence is wrong usage', () => {
    expect(explain('backup --help')).toContain('Usage: walletscope backup --to … [--json]')
    for (const line of [['backup'], ['backup', '--to', '']])
      expect(() => parseCommandLine(line, commands)).toThrow('Cannot run "backup": --to is missing')
  })

  test('of serve lists the environment variables', () => {
    expect(explain('serve --help')).toMatch(/^ {2}DATABASE_URL \(none\)$/m)
  })
})
