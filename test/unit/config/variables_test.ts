import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseCommandLine } from '../../../src/command/parse.ts'
import { readConfig } from '../../../src/config/config.ts'
import { FIRST_VARIABLES, FURTHER_VARIABLES } from '../../../src/config/variables.ts'
import { serveCommand } from '../../support/serve_command.ts'

const ROOT = join(import.meta.dir, '../../..')
const ROWS = [...FIRST_VARIABLES, ...FURTHER_VARIABLES]
/** No variable takes it, or only as another value than its default. */
const ODD = '@'

/** What is read from an environment: its configuration or what is wrong with it. */
function readWith(env: Readonly<Record<string, string>>): string {
  try {
    return JSON.stringify(
      readConfig(env, () => {
        throw new Error('Expected no file')
      }),
    )
  } catch (error) {
    return String(error)
  }
}

function toExampleName(listed: string): string {
  return listed.replace('<chain id>', '1')
}

/** Rows of the Markdown table under a heading. */
function readTableRows(file: string, heading: string): readonly string[] {
  const [, section = ''] = readFileSync(join(ROOT, file), 'utf8').split(`\n## ${heading}\n`)
  return (section.split('\n## ')[0] ?? '')
    .split('\n')
    .filter((line) => line.startsWith('| `') && line.split(' | ').length === 3)
}

function toRow({ names, without, meaning }: (typeof ROWS)[number]): string {
  return `| ${names.map((name) => `\`${name}\``).join(', ')} | ${without} | ${meaning} |`
}

// That nothing else is read is a matter of types: `VariableName`.
describe('variables', () => {
  test('are each read, and have the documented defaults', () => {
    const plain = readWith({})
    for (const { names, without } of ROWS) {
      const values = [...without.matchAll(/`([^`<]+)`(?:, |$)/g)].map(([, value = '']) => value)
      for (const [index, name] of names.entries()) {
        expect([name, readWith({ [toExampleName(name)]: ODD }) === plain]).toEqual([name, false])
        const value = values[index] ?? values[0]
        if (value !== undefined && without.startsWith('`')) {
          expect([name, readWith({ [toExampleName(name)]: value }) === plain]).toEqual([name, true])
        }
      }
    }
  })

  test('are listed by README and a guide in the same words', () => {
    expect(readTableRows('README.md', 'Configure')).toEqual(FIRST_VARIABLES.map(toRow))
    expect(readTableRows('src/dashboard/guide/operating.md', 'Further variables')).toEqual(FURTHER_VARIABLES.map(toRow))
  })

  test('are listed by serve --help without marks', () => {
    const help = parseCommandLine(['serve', '--help'], [serveCommand])
    if (help.kind !== 'help') throw new Error('Expected help')
    for (const { names } of ROWS) expect(help.text).toContain(`\n  ${names.join(', ')} (`)
    expect(help.text).toContain('see Chains: /docs/chains#the-chains-file')
    expect(help.text).not.toMatch(/`|\]\(/)
  })
})
