import { describe, expect, test } from 'bun:test'
import type { Command } from '../../../src/command/command.ts'
import { openapiCommand } from '../../../src/command/openapi.ts'
import { parseCommandLine } from '../../../src/command/parse.ts'
import { serveCommand } from '../../support/serve_command.ts'

function command(name: string, parts: Partial<Command> = {}): Command {
  return { name, positionals: [], options: {}, summary: `Does ${name}`, run: async () => {}, ...parts }
}

const COMMANDS = [
  command('serve'),
  command('org create', { positionals: ['name'], options: { 'rate-limit': 'requests per second' } }),
  command('org list'),
]

describe('parseCommandLine()', () => {
  test('takes no argument for serve', () => {
    expect(parseCommandLine([], COMMANDS)).toMatchObject({ kind: 'run', command: { name: 'serve' } })
  })

  test('reads positionals, options and --json in any order', () => {
    expect(parseCommandLine(['org', 'create', '--json', '--rate-limit', '9', 'acme'], COMMANDS)).toMatchObject({
      kind: 'run',
      command: { name: 'org create' },
      args: { positionals: ['acme'], options: { 'rate-limit': '9' }, json: true },
    })
  })

  test.each([[['--help']], [['-h']], [['help']], [['org', '--help']], [['org', 'create', '--help']]])(
    'explains %p',
    (argv) => {
      expect(parseCommandLine(argv, COMMANDS)).toMatchObject({
        kind: 'help',
        text: expect.stringContaining('org create'),
      })
    },
  )

  test('reads a negative number as a value, not as an option', () => {
    expect(parseCommandLine(['org', 'create', '-5', '--rate-limit', '-1'], COMMANDS)).toMatchObject({
      args: { positionals: ['-5'], options: { 'rate-limit': '-1' } },
    })
  })

  test('--help describes --json, even if it does nothing', () => {
    const text = (argv: string[], commands = COMMANDS) => {
      const found = parseCommandLine([...argv, '--help'], commands)
      return found.kind === 'help' ? found.text : ''
    }
    expect(text(['org', 'list'])).toMatch(/--json +answers as JSON/)
    expect(text(['serve'], [serveCommand])).toMatch(/--json +changes nothing/)
    expect(text(['openapi'], [openapiCommand])).toMatch(/--json +changes nothing/)
  })

  test.each([
    [['serv'], 'did you mean "serve"?'],
    [['org', 'creat', 'x'], 'did you mean "org create"?'],
    [['ogr', 'list'], 'did you mean "org list"?'],
    [['org', 'list', '--jso'], 'did you mean "--json"?'],
    [['org', 'create', 'x', '--rate-limt', '5'], 'did you mean "--rate-limit"?'],
    [['something'], 'expected one of serve, org create, org list'],
    [['--port=8080'], 'Cannot find command "--port=8080"'],
    [['org', '--json'], 'Cannot find command "org --json"'],
  ])('names what %p was probably meant to be', (argv, said) => {
    expect(() => parseCommandLine(argv, COMMANDS)).toThrow(said)
  })

  test.each([['--version'], ['-v'], ['version']])('prints the version for %s', (word) => {
    expect(parseCommandLine([word], COMMANDS)).toMatchObject({
      kind: 'help',
      text: expect.stringMatching(/^walletscope \d+\.\d+\.\d+$/),
    })
  })

  test.each([
    [['fly']],
    [['org']],
    [['org', 'fly']],
    [['org', 'create']],
    [['org', 'create', 'a', 'b']],
    [['org', 'list', '--colour']],
    [['org', 'create', 'a', '--rate-limit']],
  ])('refuses %p', (argv) => {
    expect(() => parseCommandLine(argv, COMMANDS)).toThrow(expect.objectContaining({ exitStatus: 2 }))
  })
})
